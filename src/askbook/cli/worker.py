"""`askbook worker`: runs queued ingestion jobs, beside others on one PostgreSQL."""

import asyncio
import signal
from typing import TYPE_CHECKING

import typer

from askbook.cli.output import DataDir, note, run, settings_for

if TYPE_CHECKING:
    from askbook.config import Settings


def register(app: typer.Typer) -> None:
    app.command("worker")(worker)


def worker(data_dir: DataDir = None) -> int:
    """Run ingestion jobs until Ctrl-C; what is unfinished then is resumed by the next worker."""
    run(_work(settings_for(data_dir)))
    return 0


async def _work(settings: "Settings") -> None:
    from askbook.bootstrap import Askbook

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Askbook(settings) as askbook:
        await askbook.durable_jobs.start()
        note(f"Worker {askbook.jobs.presence.worker_id} is ready.")
        await stop.wait()
