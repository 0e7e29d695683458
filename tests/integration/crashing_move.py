"""A move that kills its own process at a chosen step, for a child process to run."""

import asyncio
from pathlib import Path
from typing import Any

from crashing_ingest import Steps
from sqlalchemy import event

from askbook.bootstrap.moving import open_move
from askbook.config import load_settings
from askbook.index.server import ServerIndex
from askbook.storage import moving


def move(data_dir: Path, database_url: str, qdrant_url: str, last: int | None, told: Path) -> None:
    """Move and die at step `last`; without one, finish and tell how many steps it took."""
    moving.PAGE = 2  # more pages to be killed between
    steps = Steps(last)
    asyncio.run(_move(data_dir, database_url, qdrant_url, steps))
    told.write_text(str(steps.taken))


async def _move(data_dir: Path, database_url: str, qdrant_url: str, steps: Steps) -> None:
    settings = load_settings(data_dir=data_dir, database_url=database_url, qdrant_url=qdrant_url)
    write = ServerIndex.upsert

    async def stepped(index: ServerIndex, points: Any) -> None:
        steps.take()
        await write(index, points)
        steps.take()

    setattr(ServerIndex, "upsert", stepped)  # noqa: B010  # types forbid the plain way
    async with open_move(settings) as underway:
        plan = await underway.plan()
        engine: Any = underway._target.sync_engine
        event.listen(engine, "after_cursor_execute", steps.take)
        event.listen(engine, "commit", steps.take)
        async for _ in underway.run(plan):
            steps.take()
