"""What a place that keeps conversations must do; the database is one, memory another."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from askbook.storage.conversations import ConversationThread


class ConversationStore(Protocol):
    """Keeps threads. To everybody but its owner a thread does not exist."""

    async def read(self, owner: str, thread_id: str) -> ConversationThread | None:
        """An owner's thread, with its newest messages."""
        ...

    async def is_foreign(self, owner: str, thread_id: str) -> bool:
        """Whether the id is taken by somebody else."""
        ...

    async def write(
        self, thread: ConversationThread, moved: Sequence[Mapping[str, Any]] = ()
    ) -> bool:
        """Store the next version of a thread together with the messages it puts aside.

        False, and nothing changed, when the version before it is not the stored one.
        """
        ...

    async def archived(self, owner: str, thread_id: str) -> list[Mapping[str, Any]]:
        """The messages a thread has put aside, oldest first."""
        ...

    async def threads(
        self, owner: str, *, archived: bool, limit: int, offset: int = 0
    ) -> list[ConversationThread]:
        """An owner's active or archived threads, the last used first."""
        ...

    async def count_active(self) -> int:
        """How many threads of all owners are not archived."""
        ...

    async def archive_idle(self, since: datetime, now: datetime) -> int:
        """Archive what was last used before `since`; returns how many threads."""
        ...

    async def delete(self, owner: str, thread_id: str) -> bool:
        """Remove a thread for good, with all its messages; false if there is none."""
        ...
