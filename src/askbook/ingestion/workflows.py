"""Durable jobs for servers and workers: a job once accepted is finished, whatever dies in between.

Each job is one DBOS workflow. DBOS keeps the queue (SQLite in the data directory, or PostgreSQL), hands a
job to one worker at a time and one job of a book at a time, and hands it out again when its worker comes
back. What the workflow does is safe to repeat: it makes the index equal to the folder, and the job's own
row says whether anything is left to do. A worker that does not come back is replaced by any other.
"""

import asyncio
import concurrent.futures
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from askbook.book import IngestionMode
from askbook.errors import Conflict, ServiceUnavailable
from askbook.ingestion.jobs import IngestionJob, Progress
from askbook.ingestion.running import IngestionJobs
from askbook.storage.engine import QUEUE_CONNECTIONS, open_queue

if TYPE_CHECKING:
    from dbos import Queue
    from sqlalchemy import Engine

QUEUE = "ingestion"
JOBS_AT_ONCE = 2
"""Books a worker ingests side by side, so that a small edit does not wait for a large book."""
VERSION = "1"
"""Of the workflow below; only workers of the same version share jobs."""
RESTARTS = 50
"""After so many deaths under one job, the job is taken for the cause."""
POLL = 0.5
TEND = 5.0

log = structlog.get_logger(__name__)

_one_per_process = threading.Lock()
"""DBOS keeps its state in the process, not in an object."""


class DurableJobs:
    """Accepts jobs, and sees to it that each is run to its end."""

    def __init__(self, jobs: IngestionJobs, system_database_url: str) -> None:
        self._jobs = jobs
        self._url = system_database_url
        self._worker_id = jobs.presence.worker_id
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._tending: asyncio.Task[None] | None = None
        self._queue: Queue | None = None
        self._queue_engine: Engine | None = None
        self._workflow: Callable[[int], None] | None = None

    async def start(self) -> None:
        """Take part: run what is queued, resume what is unfinished."""
        async with self._starting:
            if self._tending is not None:
                return
            if not _one_per_process.acquire(blocking=False):
                raise Conflict("Another askbook in this process runs jobs already.")
            try:
                await self._jobs.presence.announce()
                self._loop = asyncio.get_running_loop()
                await asyncio.to_thread(self._launched)
                await self._tend()
            except BaseException:
                await self._shut_down()
                raise
            self._tending = asyncio.create_task(self._keep_tending())

    async def start_if_needed(self) -> None:
        """Start when jobs may be waiting: at once if workers share them, else if one was left unfinished."""
        try:
            if self._jobs.presence.is_shared or await self._jobs.store.unfinished():
                await self.start()
        except Exception as error:
            # A server answers questions all the same; the next trigger tells its caller.
            log.error("jobs_not_started", reason=str(error))

    async def stop(self) -> None:
        """Stop taking part; what runs here is left unfinished and resumed by whoever starts next."""
        async with self._starting:
            if self._tending is None:
                return
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)
            self._tending = None
            await self._shut_down()

    async def trigger(
        self, folder: Path, book_id: str | None, mode: IngestionMode
    ) -> tuple[IngestionJob, bool]:
        """Accept a job; one that the book has already is returned instead, resumed if nobody runs it."""
        await self.start()
        job, accepted = await self._jobs.reserve(folder, book_id, mode)
        if accepted:
            await self._ensure_queued(job)
        return job, accepted

    async def cancel(self, job_id: int) -> IngestionJob:
        """End a job, queued or running, here or elsewhere."""
        job = await self._jobs.cancel(job_id)
        if self._tending is not None:
            await asyncio.to_thread(_cancel_workflows, job_id)
        return job

    def watch(self, job_id: int) -> AsyncIterator[Progress]:
        return self._jobs.watch(job_id)

    def _launched(self) -> None:
        try:
            self._launch()
        except Exception as error:
            raise ServiceUnavailable(
                f"Durable jobs cannot start: {error}.",
                "Check ASKBOOK_DATABASE_URL and the data directory with `askbook doctor`.",
            ) from error

    def _launch(self) -> None:
        # At first use: it takes half a second, which only servers and workers have.
        from dbos import DBOS

        is_embedded = self._url.startswith("sqlite")
        self._queue_engine = open_queue(self._url) if is_embedded else None
        DBOS(
            config={
                "name": "askbook",
                "system_database_url": self._url,
                "system_database_engine": self._queue_engine,
                "executor_id": self._worker_id,
                "application_version": VERSION,
                "log_level": "ERROR",
                "enable_otlp": False,
                "sys_db_pool_size": QUEUE_CONNECTIONS,
            }
        )

        @DBOS.workflow(name="ingest", max_recovery_attempts=RESTARTS)
        def ingest(job_id: int) -> None:
            self._perform(job_id)

        self._workflow = ingest
        DBOS.launch()
        self._queue = DBOS.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=JOBS_AT_ONCE,
            polling_interval_sec=POLL,
        )

    def _perform(self, job_id: int) -> None:
        """The workflow, on a thread of DBOS: the work itself belongs to the event loop."""
        assert self._loop is not None
        work = asyncio.run_coroutine_threadsafe(self._work(job_id), self._loop)
        try:
            work.result()
        except concurrent.futures.CancelledError as error:
            raise _Stopped from error

    async def _work(self, job_id: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            job = await self._jobs.take_up(job_id)
            if job is None:
                return
            await self._execute(job)
        except Exception as error:
            # The job's row holds the reason; the workflow itself has done its part.
            log.warning("ingestion_failed", job_id=job_id, reason=str(error))
        finally:
            self._tasks.discard(task)

    async def _execute(self, taken: IngestionJob) -> None:
        job = taken
        try:
            log.info("ingestion_started", job_id=job.job_id, book_id=job.book_id, mode=job.mode)
            async for progress in self._jobs.execute(taken):
                job = progress.job
            log.info("ingestion_ended", job_id=job.job_id, book_id=job.book_id, status=job.status)
        finally:
            self._jobs.let_go(taken)

    async def _keep_tending(self) -> None:
        while True:
            await asyncio.sleep(TEND)
            try:
                await self._tend()
            except Exception as error:
                log.warning("jobs_not_tended", reason=str(error))

    async def _tend(self) -> None:
        """Hand out again what nobody runs, and stop what was ended elsewhere."""
        if self._jobs.presence.is_shared:
            await self._jobs.presence.announce()
            await self._jobs.notice_ends()
        for job, owner in await self._jobs.store.unfinished():
            if job.job_id not in self._jobs.running and not await self._is_alive(owner):
                await self._ensure_queued(job)

    async def _is_alive(self, owner: str) -> bool:
        return await self._jobs.presence.is_alive(owner)

    async def _ensure_queued(self, job: IngestionJob) -> None:
        """Put a job into the queue unless it is there, or with a worker that is alive."""
        for workflow_id in _workflow_ids(job.job_id):
            status, worker = await asyncio.to_thread(_status, workflow_id)
            if status is None:
                await asyncio.to_thread(self._enqueue, job, workflow_id)
                return
            if status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
                reason = f"Its process died {RESTARTS} times under this job."
                await self._jobs.store.end(job.to("failed", reason))
                return
            if status == "PENDING" and worker != self._worker_id:
                if worker is None or not await self._is_alive(worker):
                    await asyncio.to_thread(_hand_out_again, workflow_id)
                return
            if status in ("PENDING", "ENQUEUED", "DELAYED"):
                return

    def _enqueue(self, job: IngestionJob, workflow_id: str) -> None:
        from dbos import SetEnqueueOptions, SetWorkflowID

        assert self._queue is not None
        assert self._workflow is not None
        with SetWorkflowID(workflow_id), SetEnqueueOptions(queue_partition_key=job.book_id):
            self._queue.enqueue(self._workflow, job.job_id)

    async def _shut_down(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(_destroy)
        if self._queue_engine is not None:
            self._queue_engine.dispose()
        await self._jobs.presence.withdraw()
        _one_per_process.release()


class _Stopped(BaseException):
    """The process is leaving. Not an `Exception`, which DBOS would record as the workflow's end."""


def _workflow_ids(job_id: int) -> Iterator[str]:
    """A job's workflow, and its successors in case one ended while the job had not."""
    return (f"ingestion-{job_id}-{attempt}" for attempt in itertools.count(1))


def _status(workflow_id: str) -> tuple[Any, str | None]:
    from dbos import DBOS

    found = DBOS.get_workflow_status(workflow_id)
    return (None, None) if found is None else (found.status, found.executor_id)


def _hand_out_again(workflow_id: str) -> None:
    from dbos import DBOS

    DBOS.resume_workflow(workflow_id, queue_name=QUEUE)


def _cancel_workflows(job_id: int) -> None:
    from dbos import DBOS

    for workflow_id in _workflow_ids(job_id):
        status, _ = _status(workflow_id)
        if status is None:
            return
        if status in ("PENDING", "ENQUEUED", "DELAYED"):
            DBOS.cancel_workflow(workflow_id)


def _destroy() -> None:
    from dbos import DBOS

    with suppress(Exception):
        DBOS.destroy(destroy_registry=True)
