"""An ingest that kills its own process at a chosen step, for a child process to run."""

import asyncio
import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shelf import open_shelf
from sqlalchemy import Engine, event

from askbook.book import IngestionMode
from askbook.bootstrap import Askbook
from askbook.config import load_settings
from askbook.index import edge, edge_layout
from askbook.index.edge import EdgeIndex
from askbook.ingestion import preparing
from askbook.storage.rows import ShelvedBook
from askbook.storage.steps import twin_of
from doubles import NullEmbedder


class Steps:
    """Counts what is done to disk or to a server; at step `last` the process dies as by a power cut."""

    def __init__(self, last: int | None) -> None:
        self._last = last
        self.taken = 0

    def take(self, *_: Any, **__: Any) -> None:
        self.taken += 1
        if self.taken == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def stepped(*args: Any, **kwargs: Any) -> Any:
            self.take()
            result = function(*args, **kwargs)
            self.take()
            return result

        return stepped


class SteppedEmbedder(NullEmbedder):
    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    async def embed_passages(self, texts: Any) -> Any:
        self._steps.take()
        await asyncio.sleep(0.005)
        self._steps.take()
        return await super().embed_passages(texts)


def ingest(
    folder: Path, data_dir: Path, mode: IngestionMode, last_step: int | None, told: Path
) -> None:
    """Ingest and die at `last_step`; without one, finish and tell how many steps it took."""
    preparing.BATCH_CHUNKS = 16  # more switches to be killed in
    edge_layout.SEGMENT_POINTS, edge.FLUSH_AFTER = 16, 8  # and segments written out on the way
    steps = Steps(last_step)
    asyncio.run(_ingest(folder, data_dir, mode, steps))
    told.write_text(str(steps.taken))


def begin(data_dir: Path, last_step: int | None, told: Path) -> None:
    """Make the databases of a new data directory and die at `last_step`; without one, tell how many steps it took."""
    steps = Steps(last_step)
    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, name, steps.take)
    asyncio.run(start_jobs(data_dir))
    told.write_text(str(steps.taken))


async def start_jobs(data_dir: Path) -> list[ShelvedBook]:
    """The books of a data directory in which jobs can be run."""
    settings = load_settings(data_dir=data_dir, judge=False)
    async with Askbook(settings, embedder=NullEmbedder()) as askbook:
        await askbook.durable_jobs.start()
        return await askbook.library.books()


async def _ingest(folder: Path, data_dir: Path, mode: IngestionMode, steps: Steps) -> None:
    async with open_shelf(data_dir, SteppedEmbedder(steps)) as shelf:
        twin = twin_of(shelf.engine)
        assert twin is not None
        engines: list[Any] = [shelf.engine.sync_engine, twin.engine]
        for engine in engines:
            event.listen(engine, "before_cursor_execute", steps.take)
            event.listen(engine, "after_cursor_execute", steps.take)
            event.listen(engine, "commit", steps.take)
        for name in ("_update", "_settle", "_recreate", "_create"):
            setattr(EdgeIndex, name, steps.around(getattr(EdgeIndex, name)))
        await shelf.ingest(folder, mode=mode)
