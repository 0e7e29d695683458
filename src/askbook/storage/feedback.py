"""Readers' votes on answers: one per exchange of a conversation, gone with it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.conversations import storable
from askbook.storage.rows import upsert, utc
from askbook.storage.tables import feedback

Rating: TypeAlias = Literal["up", "down"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What a reader thinks of one answer, with the exchange it is about."""

    thread_id: str
    turn: int
    book_id: str
    rating: Rating
    comment: str | None
    question: str
    answer: str
    given_at: datetime


class FeedbackStore:
    """Keeps the votes of all conversations."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def save(self, vote: Vote) -> bool:
        """Keep a vote in the place of an earlier one; false when the conversation is gone meanwhile."""
        row = {name: getattr(vote, name) for name in Vote.__slots__}
        row |= {name: storable(row[name]) for name in ("comment", "question", "answer")}
        try:
            async with self._engine.begin() as connection:
                await connection.run_sync(upsert, feedback, [row])
        except IntegrityError:
            return False
        return True

    async def votes(self, book_id: str, rating: Rating, limit: int) -> list[Vote]:
        """The votes on answers of a book, the newest first."""
        query = (
            select(feedback)
            .where(feedback.c.book_id == book_id, feedback.c.rating == rating)
            .order_by(feedback.c.given_at.desc(), feedback.c.thread_id, feedback.c.turn)
            .limit(limit)
        )
        async with self._engine.connect() as connection:
            return [_vote(row) for row in await connection.execute(query)]

    async def totals(self, book_id: str) -> dict[Rating, int]:
        """How many answers of a book were found good, and how many not."""
        query = (
            select(feedback.c.rating, func.count())
            .where(feedback.c.book_id == book_id)
            .group_by(feedback.c.rating)
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        counted = {row[0]: row[1] for row in rows}
        return {"up": counted.get("up", 0), "down": counted.get("down", 0)}


def _vote(row: Any) -> Vote:
    values = {name: row._mapping[name] for name in Vote.__slots__}
    return Vote(**values | {"given_at": utc(values["given_at"])})
