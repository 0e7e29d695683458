"""Short reads, for which a reader waits: on SQLite one step to a thread and back instead of one per cursor call."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.engine import twin_of

R = TypeVar("R")


class Reads:
    """Runs functions that only read, each on a connection of its own.

    `one_moment`: all statements of the function see the same moment; by itself, each sees its own.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._twin: Engine | None = None

    async def run(self, function: Callable[[Connection], R], *, one_moment: bool = False) -> R:
        if self._engine.dialect.name == "sqlite":
            if self._twin is None:
                self._twin = twin_of(self._engine)
            return await asyncio.to_thread(_read, self._twin, function, one_moment)
        async with self._engine.connect() as connection:
            if one_moment:
                await connection.execution_options(isolation_level="REPEATABLE READ")
            return await connection.run_sync(function)


def _read(engine: Engine, function: Callable[[Connection], R], one_moment: bool) -> R:
    with engine.connect() as connection:
        if one_moment:
            connection.exec_driver_sql("BEGIN")
        return function(connection)
