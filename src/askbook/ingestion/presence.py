"""Which workers are alive: a job whose worker is gone is free to be resumed by another.

On SQLite one process holds the data directory, so every other owner is gone. On PostgreSQL a worker holds
a session lock in its own name: the server lets go of it the moment the process is dead, however it died.
"""

import asyncio
import hashlib

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from askbook.errors import Conflict, ServiceUnavailable

LOCK_SPACE = 7215531
_PATIENCE = 20
_PAUSE = 0.5


class Presence:
    """One worker's sign of life, and its view of the others."""

    def __init__(self, engine: AsyncEngine, worker_id: str) -> None:
        self.worker_id = worker_id
        self._engine = engine
        self._shared = engine.dialect.name == "postgresql"
        self._connection: AsyncConnection | None = None
        self._announcing = asyncio.Lock()

    @property
    def is_shared(self) -> bool:
        """Whether other workers may use the same database."""
        return self._shared

    async def announce(self) -> None:
        """Say that this worker lives; said again, it makes sure that others still see it."""
        if not self._shared:
            return
        async with self._announcing:
            if self._connection is not None:
                try:
                    await self._connection.execute(text("SELECT 1"))
                    return
                except (DBAPIError, ServiceUnavailable):
                    await self._connection.invalidate()
                    await self._connection.close()
                    self._connection = None
            self._connection = await self._locked()

    async def withdraw(self) -> None:
        """Say that this worker is gone."""
        if self._connection is None:
            return
        connection, self._connection = self._connection, None
        # Closing the session frees the lock, and cannot forget to.
        await connection.invalidate()
        await connection.close()

    async def is_alive(self, owner: str) -> bool:
        """Whether another worker of this name is running now, be it our own name that it took before us."""
        is_me = owner == self.worker_id and self._connection is not None
        if not self._shared or owner == "" or is_me:
            return False
        query = text(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND classid::bigint = :space AND objid::bigint = :key AND database ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        async with self._engine.connect() as connection:
            found = await connection.execute(query, {"space": LOCK_SPACE, "key": _key(owner)})
            return found.first() is not None

    async def _locked(self) -> AsyncConnection:
        connection = await self._engine.connect()
        connection = await connection.execution_options(isolation_level="AUTOCOMMIT")
        # A host that vanished without a word must not count as alive for hours.
        for name, seconds in (("idle", 10), ("interval", 5), ("count", 3)):
            await connection.execute(text(f"SET tcp_keepalives_{name} = {seconds}"))
        lock = text(f"SELECT pg_try_advisory_lock({LOCK_SPACE}, {_key(self.worker_id)})")
        for _ in range(_PATIENCE):
            if (await connection.execute(lock)).scalar_one():
                return connection
            # The session of a predecessor that was killed may end a moment after it.
            await asyncio.sleep(_PAUSE)
        await connection.close()
        raise Conflict(
            f"A worker named {self.worker_id!r} is running already.",
            "Stop it, or give every worker its own ASKBOOK_WORKER_ID.",
        )


def _key(worker_id: str) -> int:
    return int.from_bytes(hashlib.sha256(worker_id.encode()).digest()[:4], "big") & 0x7FFFFFFF
