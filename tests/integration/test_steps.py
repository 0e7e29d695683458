"""Reads and writes of the database in one step each, on SQLite and as far as they go on any database."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.engine import open_engine, twin_of
from askbook.storage.steps import Steps

INSERT = text("INSERT INTO dirty_points (book_id, chunk_id) VALUES ('book', :id)")
COUNT = text("SELECT count(*) FROM dirty_points")


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = await open_engine(tmp_path)
    yield engine
    await engine.dispose()


def count(connection: Connection) -> int:
    return connection.execute(COUNT).scalar_one()


async def test_a_write_is_one_transaction(engine: AsyncEngine) -> None:
    def half(connection: Connection) -> None:
        connection.execute(INSERT, {"id": "one"})
        raise ValueError("stopped in the middle")

    steps = Steps(engine)
    with pytest.raises(ValueError, match="in the middle"):
        await steps.write(half)
    assert await steps.read(count) == 0
    await steps.write(lambda connection: connection.execute(INSERT, {"id": "one"}).rowcount)
    assert await steps.read(count) == 1


@pytest.mark.parametrize("times", [1, 2])
async def test_who_is_cancelled_while_writing_leaves_it_done(
    engine: AsyncEngine, times: int
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        connection.execute(INSERT, {"id": "slow"})
        begun.set()
        assert go_on.wait(30)

    steps = Steps(engine)
    writing = asyncio.create_task(steps.write(slow))
    assert await asyncio.to_thread(begun.wait, 30)
    for _ in range(times):
        writing.cancel()
        await asyncio.sleep(0.05)
        assert not writing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await steps.read(count) == 1


async def test_all_users_of_an_engine_share_its_twin_until_it_is_closed(tmp_path: Path) -> None:
    engine = await open_engine(tmp_path)
    twin = twin_of(engine)
    assert twin is not None
    assert twin_of(engine) is twin
    await Steps(engine).read(count)
    await engine.dispose()
    assert twin.pool.status().startswith("Pool size: 5  Connections in pool: 0")
