"""Chunks for which the index may differ from the database: noted before it does, cleared when it no longer can."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, select

from askbook.storage.rows import slices, upsert
from askbook.storage.steps import Steps
from askbook.storage.tables import dirty_points


class DirtyPoints:
    """What a crash may have left to be put right in the index."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    async def mark(self, book_id: str, chunk_ids: Iterable[str]) -> None:
        rows = [{"book_id": book_id, "chunk_id": chunk_id} for chunk_id in chunk_ids]
        await self._steps.write(lambda connection: upsert(connection, dirty_points, rows))

    async def clear(self, book_id: str, chunk_ids: Sequence[str]) -> None:
        this = dirty_points.c.book_id == book_id

        def write(connection: Connection) -> None:
            for ids in slices(chunk_ids):
                connection.execute(
                    delete(dirty_points).where(this, dirty_points.c.chunk_id.in_(ids))
                )

        await self._steps.write(write)

    async def of(self, book_id: str) -> list[str]:
        query = select(dirty_points.c.chunk_id).where(dirty_points.c.book_id == book_id)
        return await self._steps.read(
            lambda connection: [row.chunk_id for row in connection.execute(query)]
        )
