"""What is remembered is read once a second, and never survives a write of this process."""

import asyncio

import pytest

from askbook.storage import remembering
from askbook.storage.remembering import Remembered


class Counted:
    def __init__(self) -> None:
        self.reads = 0

    async def read(self, key: str) -> str:
        self.reads += 1
        return f"{key}{self.reads}"


async def test_reads_once_while_fresh() -> None:
    remembered = Remembered(Counted().read)

    assert [await remembered.get("a"), await remembered.get("a")] == ["a1", "a1"]


async def test_reads_again_when_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "FRESH_FOR", 0.0)
    remembered = Remembered(Counted().read)

    assert [await remembered.get("a"), await remembered.get("a")] == ["a1", "a2"]


async def test_tells_keys_apart() -> None:
    remembered = Remembered(Counted().read)

    assert [await remembered.get("a"), await remembered.get("b")] == ["a1", "b2"]


async def test_forgets_at_once() -> None:
    remembered = Remembered(Counted().read)
    await remembered.get("a")

    remembered.forget()

    assert await remembered.get("a") == "a2"


async def test_keeps_nothing_that_was_read_while_somebody_wrote() -> None:
    reading, written = asyncio.Event(), asyncio.Event()
    values = ["old", "new"]

    async def read(_key: str) -> str:
        value = values.pop(0)
        reading.set()
        await written.wait()
        return value

    remembered = Remembered(read)
    first = asyncio.create_task(remembered.get("a"))
    await reading.wait()
    remembered.forget()
    written.set()

    assert await first == "old"
    assert await remembered.get("a") == "new"
