"""The headings inside a chunk, so that a quotation is cited under its own."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"

_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("chunks", sa.Column("sections", _JSON, nullable=False, server_default="[]"))


def downgrade() -> None:
    op.drop_column("chunks", "sections")
