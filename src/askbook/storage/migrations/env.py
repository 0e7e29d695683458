"""Alembic's entry point: runs the revisions on the connection that `storage.engine` hands over."""

from alembic import context

from askbook.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
