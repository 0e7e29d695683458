"""The tables. Migrations create them; a test keeps the two equal."""

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

metadata = MetaData()

Json = JSON().with_variant(JSONB(), "postgresql")
Moment = DateTime(timezone=True)

books = Table(
    "books",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("title", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("manifest", Json, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("settings_hash", String(64), nullable=False),
    Column("last_full_ingest", Moment),
    Column("last_incremental_update", Moment),
)

lessons = Table(
    "lessons",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("source_file", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("file_hash", String(64), nullable=False),
    Column("inputs_hash", String(64), nullable=False),
    Column("module", Text, nullable=False),
    Column("chapter", Integer, nullable=False),
    Column("lesson", Integer, nullable=False),
    Column("parent_doc_id", String(36), nullable=False),
    Column("page_title", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("headings", Json, nullable=False),
    Column("includes", Json, nullable=False),
    Column("declared", Json, nullable=False),
    Column("place", Json, nullable=False),
    Column("warnings", Json, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("ingested_at", Moment, nullable=False),
    Index("idx_lessons_parent", "book_id", "parent_doc_id"),
)

chunks = Table(
    "chunks",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("chunk_id", String(36), primary_key=True),
    Column("source_file", Text, nullable=False),
    Column("chunk_index", Integer, nullable=False),
    Column("text_hash", String(64), nullable=False),
    Column("payload", Json, nullable=False),
    Column("sections", Json, nullable=False, server_default="[]"),
    Index("idx_chunks_lesson", "book_id", "source_file", "chunk_index"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("fingerprint", Text, primary_key=True),
    Column("text_hash", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

dirty_points = Table(
    "dirty_points",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("chunk_id", String(36), primary_key=True),
)

ingestion_jobs = Table(
    "ingestion_jobs",
    metadata,
    Column("job_id", Integer, primary_key=True, autoincrement=True),
    Column("book_id", String(200), nullable=False),
    Column("folder", Text, nullable=False),
    Column("mode", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("owner", Text, nullable=False),
    Column("counts", Json, nullable=False),
    Column("warnings", Json, nullable=False),
    Column("failures", Json, nullable=False),
    Column("queued_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("completed_at", Moment),
    Column("error_message", Text),
    Index("idx_jobs_book", "book_id", "status"),
    Index(
        "uq_jobs_unfinished",
        "book_id",
        unique=True,
        sqlite_where=text("status IN ('queued', 'running')"),
        postgresql_where=text("status IN ('queued', 'running')"),
    ),
)

calibrations = Table(
    "calibrations",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("fingerprint", Text, primary_key=True),
    Column("foreign_cosine", Float, nullable=False),
    Column("own_cosine", Float, nullable=False),
    Column("spread", Float, nullable=False),
    Column("samples", Integer, nullable=False),
    Column("auroc", Float, nullable=False),
    Column("ece", Float, nullable=False),
    Column("made_at", Moment, nullable=False),
)

gaps = Table(
    "gaps",
    metadata,
    Column("book_id", String(200), primary_key=True),
    Column("question_hash", String(64), primary_key=True),
    Column("question", Text, nullable=False),
    Column("last_asked", Date, nullable=False),
    Column("count", Integer, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("source_file", Text),
    Column("page_title", Text),
    Column("fingerprint", Text),
    Column("vector", LargeBinary),
)

conversation_threads = Table(
    "conversation_threads",
    metadata,
    Column("thread_id", Uuid(as_uuid=False), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("book_id", String(200), nullable=False),
    Column("messages", Json, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("topic_summary", Text),
    Column("metadata", Json, nullable=False, server_default=text("'{}'")),
    Column("created_at", Moment, nullable=False, server_default=func.now()),
    Column("updated_at", Moment, nullable=False, server_default=func.now()),
    Column("archived_at", Moment),
    Column("version", Integer, nullable=False),
    CheckConstraint("length(topic_summary) <= 200", name="ck_threads_topic_summary"),
    Index("idx_threads_owner", "owner", "updated_at"),
)
Index("idx_threads_updated", conversation_threads.c.updated_at.desc())
Index("idx_threads_created", conversation_threads.c.created_at.desc())

archived_messages = Table(
    "archived_messages",
    metadata,
    Column(
        "thread_id",
        Uuid(as_uuid=False),
        ForeignKey("conversation_threads.thread_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("message", Json, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", String(16), primary_key=True),
    Column("key_hash", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("scopes", Json, nullable=False),
    # SQL's NULL, not JSON's: all books.
    Column("books", JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")),
    Column("tier", Integer),
    Column("rate", Integer, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("origins", Json, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
)

feedback = Table(
    "feedback",
    metadata,
    Column(
        "thread_id",
        Uuid(as_uuid=False),
        ForeignKey("conversation_threads.thread_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("book_id", String(200), nullable=False),
    Column("rating", String(10), nullable=False),
    Column("comment", Text),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("given_at", Moment, nullable=False),
    Index("idx_feedback_book", "book_id", "rating", "given_at"),
)

unfinished_moves = Table(
    "unfinished_moves",
    metadata,
    # A data directory that is being moved here, and whose rows may be here in part.
    Column("move_id", String(36), primary_key=True),
    Column("book_ids", Json, nullable=False),
)
