"""Conversations as rows: each belongs to one owner, and a write succeeds only on the version it was made from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.rows import utc
from askbook.storage.tables import archived_messages, conversation_threads

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What PostgreSQL takes in no text: NUL, and halves of characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationThread:
    """A dialogue as it is stored: its newest messages, as JSON, and what is known of the whole."""

    thread_id: str
    owner: str
    book_id: str
    created_at: datetime
    updated_at: datetime
    messages: tuple[Mapping[str, Any], ...] = ()
    turn_count: int = 0
    topic_summary: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    archived_at: datetime | None = None
    version: int = 0
    """How often it was written; 0 is a thread that is not stored yet."""


class DatabaseConversations:
    """Conversations on SQLite or PostgreSQL."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, owner: str, thread_id: str) -> ConversationThread | None:
        """An owner's thread; another's does not exist."""
        query = select(conversation_threads).where(*_of(owner, thread_id))
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).first()
            return None if row is None else _thread(row)

    async def is_foreign(self, owner: str, thread_id: str) -> bool:
        """Whether the id is taken by somebody else."""
        query = select(conversation_threads.c.owner).where(
            conversation_threads.c.thread_id == thread_id, conversation_threads.c.owner != owner
        )
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).first() is not None

    async def write(
        self, thread: ConversationThread, moved: Sequence[Mapping[str, Any]] = ()
    ) -> bool:
        """Store the next version of a thread and the messages it puts aside; false if another was first."""
        row = _row(thread)
        async with self._engine.begin() as connection:
            if thread.version == 1:
                statement: Any = _insertion(connection.dialect.name)
            else:
                statement = update(conversation_threads).where(
                    *_of(thread.owner, thread.thread_id),
                    conversation_threads.c.version == thread.version - 1,
                    # A thread that was deleted and begun again is another one.
                    conversation_threads.c.created_at == thread.created_at,
                )
            if (await connection.execute(statement, row)).rowcount != 1:
                return False
            if moved:
                first = 2 * thread.turn_count - len(thread.messages) - len(moved)
                await connection.execute(
                    insert(archived_messages),
                    [
                        {"thread_id": thread.thread_id, "position": n, "message": storable(message)}
                        for n, message in enumerate(moved, first)
                    ],
                )
        return True

    async def archived(self, owner: str, thread_id: str) -> list[Mapping[str, Any]]:
        """The messages a thread has put aside, oldest first."""
        query = (
            select(archived_messages.c.message)
            .join(conversation_threads)
            .where(*_of(owner, thread_id))
            .order_by(archived_messages.c.position)
        )
        async with self._engine.connect() as connection:
            return list((await connection.execute(query)).scalars())

    async def threads(
        self, owner: str, *, archived: bool, limit: int, offset: int = 0
    ) -> list[ConversationThread]:
        """An owner's active or archived threads, the last used first."""
        column = conversation_threads.c.archived_at
        query = (
            select(conversation_threads)
            .where(
                conversation_threads.c.owner == owner,
                column.is_not(None) if archived else column.is_(None),
            )
            .order_by(
                conversation_threads.c.updated_at.desc(), conversation_threads.c.thread_id.desc()
            )
            .limit(limit)
            .offset(offset)
        )
        async with self._engine.connect() as connection:
            return [_thread(row) for row in await connection.execute(query)]

    async def count_active(self) -> int:
        """How many threads of all owners are not archived."""
        query = select(func.count()).where(conversation_threads.c.archived_at.is_(None))
        async with self._engine.connect() as connection:
            return (await connection.execute(query)).scalar_one()

    async def archive_idle(self, since: datetime, now: datetime) -> int:
        """Archive what was last used before `since`; returns how many threads."""
        statement = (
            update(conversation_threads)
            .where(
                conversation_threads.c.archived_at.is_(None),
                conversation_threads.c.updated_at < since,
            )
            .values(archived_at=now)
        )
        async with self._engine.begin() as connection:
            return (await connection.execute(statement)).rowcount

    async def delete(self, owner: str, thread_id: str) -> bool:
        """Remove a thread for good, with all its messages; false if there is none."""
        statement = delete(conversation_threads).where(*_of(owner, thread_id))
        async with self._engine.begin() as connection:
            return (await connection.execute(statement)).rowcount == 1


@cache
def _insertion(dialect_name: str) -> Any:
    """Built once: making it costs as much as running it."""
    dialect = sqlite if dialect_name == "sqlite" else postgresql
    statement = dialect.insert(conversation_threads)
    return statement.on_conflict_do_nothing(index_elements=["thread_id"])


def storable(value: Any) -> Any:
    """A JSON value without the characters a database refuses; a replacement mark stands for each."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {storable(key): storable(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]  # JSON
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]  # pyright: ignore[reportUnknownVariableType]  # JSON
    return value


def _of(owner: str, thread_id: str) -> tuple[Any, Any]:
    return conversation_threads.c.owner == owner, conversation_threads.c.thread_id == thread_id


def _row(thread: ConversationThread) -> dict[str, Any]:
    row = {name: getattr(thread, name) for name in thread.__slots__}
    return row | {name: storable(row[name]) for name in ("messages", "topic_summary", "metadata")}


def _thread(row: Any) -> ConversationThread:
    values = {name: row._mapping[name] for name in ConversationThread.__slots__}
    values["messages"] = tuple(values["messages"])
    for name in ("created_at", "updated_at", "archived_at"):
        values[name] = utc(values[name])
    return ConversationThread(**values)
