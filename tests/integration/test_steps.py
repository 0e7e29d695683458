"""Reads and writes of the database in one step each, on SQLite and as far as they go on any database."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.engine import DATABASE_FILE, open_engine
from askbook.storage.library import Library
from askbook.storage.steps import Steps, twin_of
from askbook.storage.vectors import VectorCache

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
    assert twin.engine.pool.status().startswith("Pool size: 5  Connections in pool: 0")


async def test_closing_waits_for_a_read_that_nobody_waits_for(tmp_path: Path) -> None:
    begun, read = threading.Event(), list[int]()

    def slow(connection: Connection) -> None:
        begun.set()
        time.sleep(0.3)
        read.append(count(connection))

    engine = await open_engine(tmp_path)
    reading = asyncio.create_task(Steps(engine).read(slow))
    assert await asyncio.to_thread(begun.wait, 30)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await engine.dispose()
    assert read == [0]
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_FILE]


async def test_reads_do_not_wait_for_writes(engine: AsyncEngine, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / DATABASE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    steps, library = Steps(engine), Library(engine)
    writes = [asyncio.create_task(library.dirty.mark("book", [f"{n}"])) for n in range(20)]
    await asyncio.sleep(0.1)
    assert await asyncio.wait_for(steps.read(count), 5) == 0
    other.execute("ROLLBACK")
    other.close()
    await asyncio.gather(*writes)
    assert await steps.read(count) == 20


async def test_the_database_stays_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    engine = await open_engine(Path("data"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    await Library(engine).dirty.mark("book", ["one"])
    assert await Library(engine).dirty.of("book") == ["one"]
    await engine.dispose()
    assert list((tmp_path / "elsewhere" / "data").iterdir()) == []


async def test_two_that_save_the_same_vectors_do_not_wait_for_each_other(
    tmp_path: Path, database_url: str
) -> None:
    """Editions of one book share most of their texts, and jobs of two books run side by side."""
    vectors = {f"{n:064x}": np.full(4, n, dtype=np.float32) for n in range(400)}
    backwards = dict(reversed(vectors.items()))
    engine = await open_engine(tmp_path, database_url)
    cache = VectorCache(engine)
    for _ in range(5):
        await asyncio.gather(cache.save("null", vectors), cache.save("null", backwards))
    assert len(await cache.find("null", list(vectors))) == len(vectors)
    await engine.dispose()
