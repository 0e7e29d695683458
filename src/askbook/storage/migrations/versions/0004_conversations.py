"""Conversations and what they have put aside."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "conversation_threads",
        sa.Column("thread_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("messages", _JSON, nullable=False),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("topic_summary", sa.Text(), nullable=True),
        sa.Column("metadata", _JSON, server_default=sa.text("'{}'"), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("length(topic_summary) <= 200", name="ck_threads_topic_summary"),
        sa.PrimaryKeyConstraint("thread_id"),
    )
    for name, columns in (
        ("idx_threads_owner", ["owner", "updated_at"]),
        ("idx_threads_updated", [sa.text("updated_at DESC")]),
        ("idx_threads_created", [sa.text("created_at DESC")]),
    ):
        op.create_index(name, "conversation_threads", columns)
    op.create_table(
        "archived_messages",
        sa.Column("thread_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("message", _JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["conversation_threads.thread_id"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("thread_id", "position"),
    )


def downgrade() -> None:
    op.drop_table("archived_messages")
    op.drop_table("conversation_threads")
