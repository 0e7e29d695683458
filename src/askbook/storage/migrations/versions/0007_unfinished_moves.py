"""Data directories that are being moved to this database."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "unfinished_moves",
        sa.Column("move_id", sa.String(length=36), nullable=False),
        sa.Column("book_ids", _JSON, nullable=False),
        sa.PrimaryKeyConstraint("move_id"),
    )


def downgrade() -> None:
    op.drop_table("unfinished_moves")
