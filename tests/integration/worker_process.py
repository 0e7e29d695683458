"""A worker in a process of its own, to be killed: a slow null embedder, everything else real.

Usage: worker_process.py DATA_DIR DELAY [FOLDER]; with a folder, its ingest is triggered and the job's id
printed. The database comes from ASKBOOK_DATABASE_URL, the worker's name from ASKBOOK_WORKER_ID.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from askbook.book import Vector
from askbook.bootstrap import Askbook
from askbook.config import load_settings
from doubles import NullEmbedder


class SlowEmbedder(NullEmbedder):
    """Takes its time for every batch, as a real one does."""

    def __init__(self, delay: float) -> None:
        super().__init__()
        self.delay = delay
        self._one_by_one = asyncio.Lock()

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        async with self._one_by_one:
            await asyncio.sleep(self.delay)
        return await super().embed_passages(texts)


async def main(data_dir: str, delay: str, folder: str | None = None) -> None:
    settings = load_settings(data_dir=data_dir, judge=False)
    async with Askbook(settings, embedder=SlowEmbedder(float(delay))) as askbook:
        if folder is None:
            await askbook.durable_jobs.start()
            print("ready", flush=True)
        else:
            job, _ = await askbook.durable_jobs.trigger(Path(folder), "book", "incremental")
            print(job.job_id, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
