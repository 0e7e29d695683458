"""Vectors already computed, by embedder and text: what was embedded once is not embedded again."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, and_, delete, select
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import Vector
from askbook.storage.rows import slices, upsert
from askbook.storage.steps import Steps
from askbook.storage.tables import chunks, vectors


class VectorCache:
    """Vectors that outlive the chunks they were made for."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._steps = Steps(engine)

    async def find(self, fingerprint: str, hashes: Sequence[str]) -> dict[str, Vector]:
        query = select(vectors.c.text_hash, vectors.c.vector)

        def read(connection: Connection) -> dict[str, Vector]:
            return {
                row.text_hash: np.frombuffer(row.vector, dtype=np.float32)
                for part in slices(hashes)
                for row in connection.execute(
                    query.where(vectors.c.fingerprint == fingerprint, vectors.c.text_hash.in_(part))
                )
            }

        return await self._steps.read(read)

    async def save(self, fingerprint: str, computed: dict[str, Vector]) -> None:
        rows = [
            {
                "fingerprint": fingerprint,
                "text_hash": text_hash,
                "vector": vector.tobytes(),
            }
            for text_hash, vector in computed.items()
        ]
        await self._steps.write(lambda connection: upsert(connection, vectors, rows))

    async def drop(self, fingerprint: str, hashes: Sequence[str]) -> None:
        """Drop vectors that are in doubt."""
        async with self._engine.begin() as connection:
            for part in slices(hashes):
                await connection.execute(
                    delete(vectors).where(
                        vectors.c.fingerprint == fingerprint, vectors.c.text_hash.in_(part)
                    )
                )

    async def forget(self, fingerprint: str, book_id: str) -> None:
        """Drop cached vectors that only this book uses, so that a recreate embeds afresh."""
        mine = select(chunks.c.text_hash).where(chunks.c.book_id == book_id)
        others = select(chunks.c.text_hash).where(chunks.c.book_id != book_id)
        condition = and_(
            vectors.c.fingerprint == fingerprint,
            vectors.c.text_hash.in_(mine),
            vectors.c.text_hash.not_in(others),
        )
        async with self._engine.begin() as connection:
            await connection.execute(delete(vectors).where(condition))
