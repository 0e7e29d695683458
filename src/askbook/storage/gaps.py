"""Declined questions, counted, for the author: no reader, no hour, no more than the newest of each book."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import Vector, content_hash
from askbook.storage.tables import books, gaps

KEPT = 2000
"""Different questions per book; the oldest go first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A question the book did not answer, and the lesson that came nearest."""

    question: str
    last_asked: date
    confidence: float
    source_file: str | None = None
    page_title: str | None = None
    count: int = 1

    @property
    def key(self) -> str:
        """The same for questions that differ only in case, spaces and punctuation."""
        return content_hash(re.sub(r"\W+", " ", self.question.casefold()).strip())


class GapStore:
    """Keeps the gaps of every book."""

    def __init__(self, engine: AsyncEngine, kept: int = KEPT) -> None:
        self._engine = engine
        self._kept = kept

    async def record(self, book_id: str, gap: Gap) -> None:
        """Keep a declined question, or count it once more; a book that is gone has no gaps."""
        row = {
            "book_id": book_id,
            "question_hash": gap.key,
            "question": gap.question,
            "last_asked": gap.last_asked,
            "count": gap.count,
            "confidence": gap.confidence,
            "source_file": gap.source_file,
            "page_title": gap.page_title,
        }
        surplus = (
            select(gaps.c.question_hash)
            .where(gaps.c.book_id == book_id)
            .order_by(gaps.c.last_asked.desc(), gaps.c.count.desc(), gaps.c.question_hash)
            .offset(self._kept)
        )
        async with self._engine.begin() as connection:
            known = await connection.execute(
                select(books.c.book_id).where(books.c.book_id == book_id)
            )
            if known.first() is None:
                return
            await connection.execute(_counting(connection.dialect.name, row))
            await connection.execute(
                delete(gaps).where(gaps.c.book_id == book_id, gaps.c.question_hash.in_(surplus))
            )

    async def gaps(self, book_id: str, since: date | None = None) -> list[Gap]:
        """The gaps of a book, or those asked on or after a day, the most asked first."""
        query = (
            select(gaps)
            .where(gaps.c.book_id == book_id)
            .order_by(gaps.c.count.desc(), gaps.c.confidence.desc(), gaps.c.question_hash)
        )
        if since is not None:
            query = query.where(gaps.c.last_asked >= since)
        async with self._engine.connect() as connection:
            rows = await connection.execute(query)
            return [Gap(**{name: getattr(row, name) for name in Gap.__slots__}) for row in rows]

    async def vectors(self, book_id: str, fingerprint: str) -> dict[str, Vector]:
        """The vectors this embedder has made of a book's gaps, by key."""
        query = select(gaps.c.question_hash, gaps.c.vector).where(
            gaps.c.book_id == book_id, gaps.c.fingerprint == fingerprint
        )
        async with self._engine.connect() as connection:
            rows = await connection.execute(query)
            return {row.question_hash: np.frombuffer(row.vector, np.float32) for row in rows}

    async def save_vectors(
        self, book_id: str, fingerprint: str, computed: Mapping[str, Vector]
    ) -> None:
        if not computed:
            return
        statement = (
            gaps.update()
            .where(gaps.c.book_id == book_id, gaps.c.question_hash == bindparam("key"))
            .values(fingerprint=fingerprint, vector=bindparam("made"))
        )
        async with self._engine.begin() as connection:
            await connection.execute(
                statement, [{"key": k, "made": v.tobytes()} for k, v in computed.items()]
            )


def _counting(dialect_name: str, row: dict[str, Any]) -> Any:
    """Insert a gap; of one that is there, raise the count and tell the newest findings."""
    dialect = sqlite if dialect_name == "sqlite" else postgresql
    statement: Any = dialect.insert(gaps).values(row)
    newest = ("last_asked", "confidence", "source_file", "page_title")
    return statement.on_conflict_do_update(
        index_elements=["book_id", "question_hash"],
        set_={
            "count": gaps.c.count + statement.excluded["count"],
            **{name: statement.excluded[name] for name in newest},
        },
    )
