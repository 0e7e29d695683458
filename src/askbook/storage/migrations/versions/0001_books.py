"""Books, lessons, chunks, vectors and ingestion jobs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "books",
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("manifest", _JSON, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("settings_hash", sa.String(length=64), nullable=False),
        sa.Column("last_full_ingest", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_incremental_update", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("book_id"),
    )
    op.create_table(
        "chunks",
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("chunk_id", sa.String(length=36), nullable=False),
        sa.Column("source_file", sa.Text(), nullable=False),
        sa.Column("chunk_index", sa.Integer(), nullable=False),
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("payload", _JSON, nullable=False),
        sa.PrimaryKeyConstraint("book_id", "chunk_id"),
    )
    op.create_index(
        "idx_chunks_lesson",
        "chunks",
        ["book_id", "source_file", "chunk_index"],
        unique=False,
    )
    op.create_table(
        "dirty_points",
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("chunk_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("book_id", "chunk_id"),
    )
    op.create_table(
        "ingestion_jobs",
        sa.Column("job_id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("folder", sa.Text(), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("counts", _JSON, nullable=False),
        sa.Column("warnings", _JSON, nullable=False),
        sa.Column("failures", _JSON, nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("job_id"),
    )
    op.create_index("idx_jobs_book", "ingestion_jobs", ["book_id", "status"], unique=False)
    op.create_index(
        "uq_jobs_unfinished",
        "ingestion_jobs",
        ["book_id"],
        unique=True,
        sqlite_where=sa.text("status IN ('queued', 'running')"),
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_table(
        "lessons",
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("source_file", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("file_hash", sa.String(length=64), nullable=False),
        sa.Column("inputs_hash", sa.String(length=64), nullable=False),
        sa.Column("module", sa.Text(), nullable=False),
        sa.Column("chapter", sa.Integer(), nullable=False),
        sa.Column("lesson", sa.Integer(), nullable=False),
        sa.Column("parent_doc_id", sa.String(length=36), nullable=False),
        sa.Column("page_title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("headings", _JSON, nullable=False),
        sa.Column("includes", _JSON, nullable=False),
        sa.Column("declared", _JSON, nullable=False),
        sa.Column("place", _JSON, nullable=False),
        sa.Column("warnings", _JSON, nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ingested_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("book_id", "source_file"),
    )
    op.create_index("idx_lessons_parent", "lessons", ["book_id", "parent_doc_id"], unique=False)
    op.create_table(
        "vectors",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", "text_hash"),
    )


def downgrade() -> None:
    for table in ("vectors", "lessons", "ingestion_jobs", "dirty_points", "chunks", "books"):
        op.drop_table(table)
