"""Short work on the database: on SQLite one step to a thread and back instead of one per cursor call."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.engine import make_twin

R = TypeVar("R")

READERS = 4


class Steps:
    """Runs functions on the database, each on a connection of its own."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def read(self, function: Callable[[Connection], R], *, one_moment: bool = False) -> R:
        """What a function that only reads finds.

        `one_moment`: all its statements see the same moment; by itself, each sees its own.
        """
        twin = twin_of(self._engine)
        if twin is not None:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(twin.readers, twin.read, function, one_moment)
        async with self._engine.connect() as connection:
            if one_moment:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            return await connection.run_sync(function)

    async def write(self, function: Callable[[Connection], R]) -> R:
        """What a function gives back whose statements are one transaction."""
        twin = twin_of(self._engine)
        if twin is not None:
            loop = asyncio.get_running_loop()
            return await to_its_end(loop.run_in_executor(twin.writer, twin.write, function))
        async with self._engine.begin() as connection:
            return await connection.run_sync(function)


class Twin:
    """A synchronous engine with threads of its own: writes follow each other, and no read waits for them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.readers = ThreadPoolExecutor(READERS, "database-read")
        self.writer = ThreadPoolExecutor(1, "database-write")

    def read(self, function: Callable[[Connection], R], one_moment: bool) -> R:
        with self.engine.connect() as connection:
            if one_moment:
                connection.exec_driver_sql("BEGIN")
            return function(connection)

    def write(self, function: Callable[[Connection], R]) -> R:
        with self.engine.begin() as connection:
            return function(connection)

    def close(self) -> None:
        """Wait for what has begun, then let go of the file."""
        self.readers.shutdown()
        self.writer.shutdown()
        self.engine.dispose()


_twins: WeakKeyDictionary[Engine, Twin] = WeakKeyDictionary()


def twin_of(engine: AsyncEngine) -> Twin | None:
    """The twin of an engine on SQLite, closed together with it; PostgreSQL needs none."""
    if engine.dialect.name != "sqlite":
        return None
    twin = _twins.get(engine.sync_engine)
    if twin is None:
        twin = _twins[engine.sync_engine] = Twin(make_twin(engine))
        event.listen(engine.sync_engine, "engine_disposed", _close_twin)
    return twin


def _close_twin(engine: Engine) -> None:
    twin = _twins.pop(engine, None)
    if twin is not None:
        twin.close()


async def to_its_end(work: asyncio.Future[R]) -> R:
    """What must not be left half done: who is cancelled meanwhile, however often, waits until it is done."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return work.result()
    if not work.cancelled() and (failed := work.exception()) is not None:
        raise cancelled from failed
    raise cancelled
