"""Sessions: the turns of one follow each other, and what was said is kept when a turn has ended."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import WeakValueDictionary

from askbook.conversations.base import ConversationStore
from askbook.conversations.thread import (
    History,
    Retrieval,
    check_session_id,
    grow,
    merged,
    message_from_json,
    retrieval_to_json,
)
from askbook.errors import Conflict, NotFound
from askbook.retrieval.history import Message
from askbook.storage.conversations import ConversationThread

LOCAL = "local"
"""Who owns what is said where no keys exist."""
IDLE = timedelta(hours=1)
ATTEMPTS = 50
"""So often a turn is put behind one that another process was faster with."""


def _now() -> datetime:
    return datetime.now(UTC)


class Conversations:
    """The conversations of all owners, in one store."""

    def __init__(self, store: ConversationStore, clock: Callable[[], datetime] = _now) -> None:
        self._store = store
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(
        self,
        session_id: str,
        owner: str = LOCAL,
        metadata: Mapping[str, Any] | None = None,
        *,
        is_new: bool = False,
    ) -> AsyncGenerator["Dialogue"]:
        """The dialogue a question joins; the session's next turn waits until this one is over.

        `is_new` says that the id was made for this turn: there is nothing to read.
        """
        session_id = check_session_id(session_id)
        if is_new:
            known = merged({}, metadata or {})
            yield Dialogue(self._store, self._clock, session_id, owner, None, known)
            return
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            yield await self.dialogue(session_id, owner, metadata)

    async def dialogue(
        self, session_id: str, owner: str = LOCAL, metadata: Mapping[str, Any] | None = None
    ) -> "Dialogue":
        """A session as it stands; one that nobody has used yet is empty."""
        session_id = check_session_id(session_id)
        thread = await self._store.read(owner, session_id)
        if thread is None and await self._store.is_foreign(owner, session_id):
            raise _missing(session_id)
        merged(thread.metadata if thread else {}, metadata or {})
        return Dialogue(self._store, self._clock, session_id, owner, thread, metadata or {})

    async def history(
        self, session_id: str, owner: str = LOCAL, *, archived: bool = False
    ) -> History:
        """What was said in a session; with `archived`, also what it has put aside."""
        session_id = check_session_id(session_id)
        await self.archive_idle()
        thread = await self._store.read(owner, session_id)
        if thread is None:
            raise _missing(session_id)
        earlier = await self._store.archived(owner, session_id) if archived else []
        # A turn that ended between the two reads has put aside what the thread still shows.
        earlier = earlier[: 2 * thread.turn_count - len(thread.messages)]
        return History(
            thread=thread,
            messages=tuple(map(message_from_json, thread.messages)),
            earlier=tuple(map(message_from_json, earlier)),
        )

    async def sessions(
        self, owner: str = LOCAL, *, archived: bool = False, limit: int = 50, offset: int = 0
    ) -> list[ConversationThread]:
        """An owner's sessions, the last used first: the active ones, or the archived."""
        await self.archive_idle()
        return await self._store.threads(owner, archived=archived, limit=limit, offset=offset)

    async def archive_idle(self) -> int:
        """Archive sessions in which nothing was said for an hour; their next message brings them back."""
        now = self._clock()
        return await self._store.archive_idle(now - IDLE, now)

    async def active(self) -> int:
        """How many sessions of all owners are in use."""
        await self.archive_idle()
        return await self._store.count_active()

    async def delete(self, session_id: str, owner: str = LOCAL) -> None:
        """Remove a session for good; a turn that is under way in it leaves nothing."""
        session_id = check_session_id(session_id)
        if not await self._store.delete(owner, session_id):
            raise _missing(session_id)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A session during one turn."""

    _store: ConversationStore
    _clock: Callable[[], datetime]
    session_id: str
    owner: str
    thread: ConversationThread | None
    metadata: Mapping[str, Any]

    @property
    def history(self) -> tuple[Message, ...]:
        return tuple(map(message_from_json, self.thread.messages)) if self.thread else ()

    def book(self, book_id: str | None) -> str | None:
        """The book a question is put to: a conversation stays with the one it began with."""
        if self.thread is None:
            return book_id
        if book_id not in (None, self.thread.book_id):
            raise _other_book(self.thread.book_id, book_id)
        return self.thread.book_id

    async def append(
        self,
        asked: Message,
        answer: str,
        *,
        book_id: str,
        confidence: float,
        retrievals: tuple[Retrieval, ...] = (),
        evidence: Mapping[str, Any] | None = None,
    ) -> bool:
        """Keep a question and its answer, both or none; false when the session was deleted meanwhile."""
        answered = Message(
            role="assistant",
            content=answer,
            timestamp=self._clock(),
            confidence=confidence,
            evidence=evidence,
            tool_calls=tuple(map(retrieval_to_json, retrievals)),
        )
        thread = self.thread or ConversationThread(
            thread_id=self.session_id,
            owner=self.owner,
            book_id=book_id,
            created_at=asked.timestamp,
            updated_at=asked.timestamp,
        )
        for _ in range(ATTEMPTS):
            grown, moved = grow(thread, asked, answered, self.metadata)
            if await self._store.write(grown, moved):
                return True
            # Another process was faster: its exchange stays, ours follows.
            newer = await self._store.read(self.owner, self.session_id)
            if newer is None:
                if await self._store.is_foreign(self.owner, self.session_id):
                    raise _missing(self.session_id)
                return False
            if self.thread is not None and newer.created_at != self.thread.created_at:
                return False
            if newer.book_id != book_id:
                raise _other_book(newer.book_id, book_id)
            thread = newer
        raise Conflict(
            f"The conversation {self.session_id} is written to by too many at once.", "Ask again."
        )


def _other_book(known: str, given: str | None) -> Conflict:
    return Conflict(
        f"This conversation is about the book {known!r}, not {given!r}.",
        "Begin a new conversation for another book.",
    )


def _missing(session_id: str) -> NotFound:
    return NotFound(
        f"There is no conversation {session_id}.", "Leave session_id out to begin a new one."
    )
