"""Readers' votes on answers."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "feedback",
        sa.Column("thread_id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("turn", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("rating", sa.String(length=10), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["thread_id"], ["conversation_threads.thread_id"], ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("thread_id", "turn"),
    )
    op.create_index("idx_feedback_book", "feedback", ["book_id", "rating", "given_at"])


def downgrade() -> None:
    op.drop_table("feedback")
