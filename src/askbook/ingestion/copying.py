"""Writes the points of a moved book to the index it moves to.

They are made as an ingest makes them: from the rows of the database and the cached vectors. So the new
index is given what the old one was given, and nothing that a crash may have left in the old one.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import Vector
from askbook.errors import ValidationFailed
from askbook.index import ChunkIndex, IndexPoint
from askbook.storage.library import Library
from askbook.storage.moving import PAGE, chunk_pages
from askbook.storage.rows import ChunkRow
from askbook.storage.vectors import VectorCache


class PointCopy:
    """The points of books whose rows and vectors are in `engine`'s database already, on their way to `index`.

    `former` is the index they had: it is asked for vectors that the cache lacks. Nothing is embedded.
    """

    def __init__(
        self, engine: AsyncEngine, fingerprint: str, former: ChunkIndex, index: ChunkIndex
    ) -> None:
        self._engine = engine
        self._library = Library(engine)
        self._cache = VectorCache(engine)
        self._fingerprint = fingerprint
        self._former = former
        self._index = index

    async def copy(self, book_id: str, *, resumed: bool) -> AsyncIterator[int]:
        """Write a book's points, telling how many at a time; a resumed copy leaves those that are there."""
        async for rows in chunk_pages(self._engine, book_id):
            lacking = await self._lacking(rows) if resumed else rows
            vectors = await self._vectors(lacking)
            await self._index.upsert(
                [
                    IndexPoint(chunk_id, vectors[row.text_hash], row.embedded_text, row.payload)
                    for chunk_id, row in lacking.items()
                ]
            )
            yield len(rows)
        if resumed:
            await self._drop_surplus(book_id)

    async def remove(self, book_id: str) -> None:
        """Remove the points of a book whose rows are about to go."""
        async for rows in chunk_pages(self._engine, book_id):
            await self._index.delete(list(rows))

    async def verify(self, book_id: str) -> int:
        """How many points a book has there: exactly those of its chunks, else ValidationFailed."""
        chunks = lacking = 0
        async for rows in chunk_pages(self._engine, book_id):
            chunks += len(rows)
            lacking += len(await self._lacking(rows))
        points = await self._index.count(book_id)
        if lacking or points != chunks:
            raise ValidationFailed(
                f"Book {book_id!r} has {chunks} chunks; {lacking} of them are missing or differ in "
                f"the new index, which has {points} points.",
                "Run the same command again: it goes on where it is.",
            )
        return points

    async def _lacking(self, rows: Mapping[str, ChunkRow]) -> dict[str, ChunkRow]:
        """Chunks without a point, or with one of another payload; the text in it decides on the vectors."""
        there = await self._index.retrieve(list(rows))
        return {
            chunk_id: row
            for chunk_id, row in rows.items()
            if chunk_id not in there or there[chunk_id].payload != row.payload
        }

    async def _vectors(self, rows: Mapping[str, ChunkRow]) -> dict[str, Vector]:
        found = await self._cache.find(self._fingerprint, [row.text_hash for row in rows.values()])
        uncached = [i for i, row in rows.items() if row.text_hash not in found]
        stored = await self._former.vectors(uncached)
        if lost := [chunk_id for chunk_id in uncached if chunk_id not in stored]:
            raise ValidationFailed(
                f"The vectors of {len(lost)} chunks are neither cached nor indexed, such as "
                f"{lost[0]} of {rows[lost[0]].source_file}.",
                "Mend the data directory with `askbook audit --repair`, then migrate again.",
            )
        recovered = {rows[i].text_hash: vector for i, vector in stored.items()}
        if recovered:
            await self._cache.save(self._fingerprint, recovered)
        return found | recovered

    async def _drop_surplus(self, book_id: str) -> None:
        """Remove points of an interrupted run whose chunks the book has no longer."""
        points: list[str] = []
        async for point in self._index.scroll(book_id):
            points.append(point.chunk_id)
            if len(points) == PAGE:
                await self._drop_unknown(book_id, points)
                points = []
        await self._drop_unknown(book_id, points)

    async def _drop_unknown(self, book_id: str, points: Sequence[str]) -> None:
        known = await self._library.rows(book_id, chunk_ids=points)
        await self._index.delete([chunk_id for chunk_id in points if chunk_id not in known])
