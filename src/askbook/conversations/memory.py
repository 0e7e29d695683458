"""Conversations that end with the process."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from askbook.storage.conversations import ConversationThread, storable


class MemoryConversations:
    """Conversations in memory. Nothing waits in it, so every step is whole."""

    def __init__(self) -> None:
        self._threads: dict[str, ConversationThread] = {}
        self._archived: dict[str, list[Mapping[str, Any]]] = {}

    async def read(self, owner: str, thread_id: str) -> ConversationThread | None:
        found = self._threads.get(thread_id)
        return found if found is not None and found.owner == owner else None

    async def is_foreign(self, owner: str, thread_id: str) -> bool:
        return thread_id in self._threads and self._threads[thread_id].owner != owner

    async def write(
        self, thread: ConversationThread, moved: Sequence[Mapping[str, Any]] = ()
    ) -> bool:
        known = self._threads.get(thread.thread_id)
        if known is None:
            is_next = thread.version == 1
        else:
            before = (thread.owner, thread.version - 1, thread.created_at)
            is_next = before == (known.owner, known.version, known.created_at)
        if not is_next:
            return False
        self._threads[thread.thread_id] = replace(
            thread,
            messages=tuple(storable(message) for message in thread.messages),
            metadata=storable(thread.metadata),
        )
        self._archived.setdefault(thread.thread_id, []).extend(map(storable, moved))
        return True

    async def archived(self, owner: str, thread_id: str) -> list[Mapping[str, Any]]:
        mine = await self.read(owner, thread_id) is not None
        return list(self._archived[thread_id]) if mine else []

    async def threads(
        self, owner: str, *, archived: bool, limit: int, offset: int = 0
    ) -> list[ConversationThread]:
        mine = [
            thread
            for thread in self._threads.values()
            if thread.owner == owner and (thread.archived_at is not None) == archived
        ]
        mine.sort(key=lambda thread: (thread.updated_at, thread.thread_id), reverse=True)
        return mine[offset : offset + limit]

    async def count_active(self) -> int:
        return sum(thread.archived_at is None for thread in self._threads.values())

    async def archive_idle(self, since: datetime, now: datetime) -> int:
        idle = [t for t in self._threads.values() if t.archived_at is None and t.updated_at < since]
        for thread in idle:
            self._threads[thread.thread_id] = replace(thread, archived_at=now)
        return len(idle)

    async def delete(self, owner: str, thread_id: str) -> bool:
        if await self.read(owner, thread_id) is None:
            return False
        del self._threads[thread_id], self._archived[thread_id]
        return True
