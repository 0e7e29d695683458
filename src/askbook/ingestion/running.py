"""Runs ingestion jobs in this process and records how far they are; whoever watches is told every event."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import structlog

from askbook.book import IngestionMode
from askbook.errors import AskbookError, Conflict, IllegalTransition, NotFound
from askbook.ingestion.events import IngestionEvent, LessonsSwitched, Planned
from askbook.ingestion.job_store import NOBODY, JobStore
from askbook.ingestion.jobs import IngestionJob, Progress
from askbook.ingestion.presence import Presence
from askbook.ingestion.readers import open_reader

CANCELLED = "Cancelled."
INTERRUPTED = "Interrupted."
REPLACED = "Replaced by a new job."
POLL = 0.5
"""Seconds between two looks at a job that another worker runs."""
PAUSE = 0.02
"""Seconds until a job that somebody is just taking up, or ending, is asked for again."""
BACKLOG = 1000
"""Events kept for a watcher that is slow; then it misses the oldest, and no count, for those add up."""

log = structlog.get_logger(__name__)


class IngestPipeline(Protocol):
    """What makes the index equal to a folder, safe to run again after any interruption."""

    def run(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> AsyncIterator[IngestionEvent]: ...


class IngestionJobs:
    """The jobs of one process: started here, resumed here, watched from here."""

    def __init__(
        self,
        store: JobStore,
        presence: Presence,
        pipeline: IngestPipeline,
        ended: Callable[[IngestionJob], None] | None = None,
    ) -> None:
        self.store = store
        self._ended = ended
        self.presence = presence
        self._pipeline = pipeline
        self._running: dict[int, _Running] = {}
        self._taking: set[int] = set()
        self._watchers: dict[int, set[asyncio.Queue[Progress]]] = {}

    @property
    def running(self) -> frozenset[int]:
        """The jobs that run in this process."""
        return frozenset(self._running)

    async def run(
        self, folder: Path, book_id: str | None, mode: IngestionMode
    ) -> AsyncIterator[Progress]:
        """Ingest a folder as a job, here and now; a job of the same book that runs already is followed."""
        await self.presence.announce()
        taken, mine = await self._take(folder, book_id, mode)
        if not mine:
            async for progress in self.watch(taken.job_id):
                yield progress
            return
        job = taken
        try:
            async with aclosing(self.execute(job)) as steps:
                async for progress in steps:
                    job = progress.job
                    yield progress
        except (asyncio.CancelledError, GeneratorExit):
            if not job.is_over:
                await self._save(job.to("failed", INTERRUPTED))
            raise
        finally:
            self.let_go(taken)

    async def reserve(
        self,
        folder: Path,
        book_id: str | None,
        mode: IngestionMode,
        *,
        replace_queued: bool = False,
    ) -> tuple[IngestionJob, bool]:
        """The book's one job, and whether this request made or revived it.

        A job that runs, or waits for its turn, answers every request. One whose process is gone is revived
        by the same request and replaced by another; `replace_queued` treats a waiting one alike.
        """
        book = (await asyncio.to_thread(open_reader, folder, book_id)).book
        while True:
            job, is_new = await self.store.create(book.book_id, folder, mode)
            if is_new:
                return job, True
            owner = await self.store.owner(job.job_id)
            underway = await self._is_underway(job.job_id, owner)
            if underway or (job.status == "queued" and not replace_queued):
                return job, False
            if job.mode == mode and job.folder == str(folder.resolve()):
                return job, True
            await self.store.end(job.to("failed", REPLACED), held_by=owner)

    async def take_up(self, job_id: int) -> IngestionJob | None:
        """An unfinished job that nobody runs, now ours; None when there is nothing to do.

        Whoever takes it executes it, or lets it go.
        """
        if job_id in self._running or job_id in self._taking:
            return None
        self._taking.add(job_id)
        try:
            held = await self.store.held(job_id)
            if held is None:
                return None
            job, owner = held
            if job.is_over or await self._is_elsewhere(owner):
                return None
            if not await self.store.claim(job, self.presence.worker_id, held_by=owner):
                return None
            self._running[job_id] = _Running(job)
            return job
        finally:
            self._taking.discard(job_id)

    def let_go(self, job: IngestionJob) -> None:
        """Leave a job that was taken up to others, unless its execution has begun."""
        running = self._running.get(job.job_id)
        if running is not None and running.taken is job and not running.begun:
            del self._running[job.job_id]

    async def execute(self, job: IngestionJob) -> AsyncGenerator[Progress]:
        """Run a job that was taken up to its end. Stopped from outside, it stays unfinished, to be resumed."""
        running = self._running[job.job_id]
        running.begun = True
        running.at_rest.clear()
        try:
            events = self._pipeline.run(Path(job.folder), job.book_id, job.mode)
            if job.status == "queued":
                job = job.to("running")
            if not await self._save(job):
                return
            yield self._tell(Progress(job, None))
            running.at_rest.clear()
            try:
                async with aclosing(_until(running.halt, events)) as steps:
                    async for event in steps:
                        job = job.after(event)
                        counted = isinstance(event, LessonsSwitched | Planned)
                        if counted and not await self._save(job):
                            break
                        yield self._tell(Progress(job, event))
                        running.at_rest.clear()
            except Exception as error:
                job = job.to("failed", _reason(error))
                await self._save(job)
                self._tell(Progress(job, None))
                raise
            job = job.to("failed", CANCELLED) if running.halt.is_set() else job.to("completed")
            if not await self._save(job):
                job = await self.store.get(job.job_id) or job
            yield self._tell(Progress(job, None))
        finally:
            del self._running[job.job_id]
            running.at_rest.set()

    async def current(self, job_id: int) -> IngestionJob:
        """A job as it is now."""
        running = self._running.get(job_id)
        job = running.job if running is not None else await self.store.get(job_id)
        if job is None:
            raise no_job(job_id)
        return job

    async def watch(self, job_id: int) -> AsyncIterator[Progress]:
        """A job as it is and every event from now on, until it is over, wherever it runs."""
        queue: asyncio.Queue[Progress] = asyncio.Queue(BACKLOG)
        self._watchers.setdefault(job_id, set()).add(queue)
        try:
            job = await self.current(job_id)
            yield Progress(job, None)
            while not job.is_over:
                try:
                    progress = await asyncio.wait_for(queue.get(), POLL)
                except TimeoutError:
                    progress = Progress(await self.current(job_id), None)
                    if progress.job == job:
                        continue
                job = progress.job
                yield progress
        finally:
            self._watchers[job_id].discard(queue)
            if not self._watchers[job_id]:
                del self._watchers[job_id]

    async def cancel(self, job_id: int) -> IngestionJob:
        """End a job; what it switched stays, and what it did not come to keeps serving as it was."""
        ended = (await self.current(job_id)).to("failed", CANCELLED)
        running = self._running.get(job_id)
        if running is not None:
            running.halt.set()
            # Not until its end: whoever is told of its steps may be the one who waits here.
            while not running.at_rest.is_set():
                await running.at_rest.wait()
            if not running.job.is_over:
                running.job = ended = running.job.to("failed", CANCELLED)
        await self.store.end(ended)
        return await self.store.get(job_id) or ended

    async def end_of_book(self, book_id: str) -> None:
        """End what is still to be done for a book, so that it can be deleted."""
        for job, owner in await self.store.unfinished(book_id):
            mine = job.job_id in self._running and owner == self.presence.worker_id
            if not mine and await self._is_elsewhere(owner):
                raise Conflict(
                    f"Book {book_id!r} is being ingested by the worker {owner!r} (job {job.job_id}).",
                    f"Wait for its end, or cancel it (POST /ingestion/cancel/{job.job_id}); "
                    "then delete the book again.",
                    {"job_id": job.job_id},
                )
            # It may come to its end by itself meanwhile.
            with suppress(IllegalTransition):
                await self.cancel(job.job_id)

    async def notice_ends(self) -> None:
        """Stop what was cancelled, or taken over, through another process."""
        for job_id, running in list(self._running.items()):
            job = await self.store.get(job_id)
            owner = await self.store.owner(job_id)
            if job is None or job.is_over or owner != self.presence.worker_id:
                running.halt.set()

    async def _take(
        self, folder: Path, book_id: str | None, mode: IngestionMode
    ) -> tuple[IngestionJob, bool]:
        while True:
            job, _ = await self.reserve(folder, book_id, mode, replace_queued=True)
            taken = await self.take_up(job.job_id)
            if taken is not None:
                return taken, True
            owner = await self.store.owner(job.job_id)
            if job.job_id in self._running or await self._is_elsewhere(owner):
                return job, False
            await asyncio.sleep(PAUSE)

    def _tell(self, progress: Progress) -> Progress:
        running = self._running[progress.job.job_id]
        running.job = progress.job
        running.at_rest.set()
        for queue in self._watchers.get(progress.job.job_id, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(progress)
        if progress.job.is_over and self._ended is not None:
            self._ended(progress.job)
        return progress

    async def _is_underway(self, job_id: int, owner: str) -> bool:
        here = job_id in self._running or job_id in self._taking
        return here or await self._is_elsewhere(owner)

    async def _is_elsewhere(self, owner: str) -> bool:
        return owner != NOBODY and await self.presence.is_alive(owner)

    async def _save(self, job: IngestionJob) -> bool:
        return await self.store.save(job, self.presence.worker_id)


@dataclass(slots=True)
class _Running:
    """A job under way: where it stands, how to halt it, and whether it stands still."""

    taken: IngestionJob
    job: IngestionJob = field(init=False)
    begun: bool = False
    halt: asyncio.Event = field(default_factory=asyncio.Event)
    at_rest: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no step is under way: before the first, while one is told of, after the last."""

    def __post_init__(self) -> None:
        self.job = self.taken
        self.at_rest.set()


async def _until(
    halt: asyncio.Event, events: AsyncIterator[IngestionEvent]
) -> AsyncGenerator[IngestionEvent]:
    """The events, up to the moment somebody asks to halt."""
    halted = asyncio.create_task(halt.wait())
    step: asyncio.Task[IngestionEvent | None] | None = None
    try:
        while not halt.is_set():
            step = asyncio.create_task(_next(events))
            await asyncio.wait({step, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not step.done():
                return
            event = step.result()
            if event is None:
                return
            yield event
    finally:
        tasks: list[asyncio.Task[Any]] = [halted] if step is None else [halted, step]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def _next(events: AsyncIterator[IngestionEvent]) -> IngestionEvent | None:
    return await anext(events, None)


def _reason(error: Exception) -> str:
    if isinstance(error, AskbookError):
        return str(error)
    log.error("ingestion_failed", exc_info=error)
    return f"{type(error).__name__}: {error}"


def no_job(job_id: int) -> NotFound:
    """What is said of a job that is not there, or not there for who asks."""
    return NotFound(f"There is no job {job_id}.")
