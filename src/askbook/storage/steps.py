"""Short work on the database: on SQLite one step to a thread and back instead of one per cursor call."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.engine import twin_of

R = TypeVar("R")


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
            return await asyncio.to_thread(_read, twin, function, one_moment)
        async with self._engine.connect() as connection:
            if one_moment:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            return await connection.run_sync(function)

    async def write(self, function: Callable[[Connection], R]) -> R:
        """What a function gives back whose statements are one transaction."""
        twin = twin_of(self._engine)
        if twin is not None:
            return await to_its_end(asyncio.to_thread(_write, twin, function))
        async with self._engine.begin() as connection:
            return await connection.run_sync(function)


async def to_its_end(work: Coroutine[Any, Any, R]) -> R:
    """What must not be left half done: who is cancelled meanwhile, however often, waits until it is done."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled() and (failed := task.exception()) is not None:
        raise cancelled from failed
    raise cancelled


def _read(engine: Engine, function: Callable[[Connection], R], one_moment: bool) -> R:
    with engine.connect() as connection:
        if one_moment:
            connection.exec_driver_sql("BEGIN")
        return function(connection)


def _write(engine: Engine, function: Callable[[Connection], R]) -> R:
    with engine.begin() as connection:
        return function(connection)
