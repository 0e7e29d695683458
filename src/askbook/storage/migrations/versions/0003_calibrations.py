"""What was measured on a book for an embedder."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "calibrations",
        sa.Column("book_id", sa.String(length=200), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("foreign_cosine", sa.Float(), nullable=False),
        sa.Column("own_cosine", sa.Float(), nullable=False),
        sa.Column("spread", sa.Float(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("auroc", sa.Float(), nullable=False),
        sa.Column("ece", sa.Float(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("book_id", "fingerprint"),
    )


def downgrade() -> None:
    op.drop_table("calibrations")
