"""Ingestion jobs: one per book at a time, recorded in the database, resumed when their process died."""

import uuid
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import IngestionMode, JobStatus
from askbook.errors import IllegalTransition, InvalidInput
from askbook.ingestion.events import (
    ChunksEmbedded,
    FileFailed,
    IngestionEvent,
    LessonsSwitched,
    Planned,
    Warned,
)
from askbook.ingestion.pipeline import Pipeline
from askbook.ingestion.readers import open_reader
from askbook.storage.rows import utc
from askbook.storage.tables import ingestion_jobs

_TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    "queued": frozenset({"running", "failed"}),
    "running": frozenset({"completed", "failed"}),
    "completed": frozenset(),
    "failed": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a job is; each number only grows."""

    files_discovered: int = 0
    files_processed: int = 0
    files_skipped: int = 0
    files_failed: int = 0
    files_deleted: int = 0
    chunks_created: int = 0
    chunks_deleted: int = 0
    embedded_chunks: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 0:
                raise InvalidInput(f"{name} is {value}, but must be 0 or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionJob:
    """One import run of one book."""

    job_id: int
    book_id: str
    folder: str
    mode: IngestionMode
    status: JobStatus = "queued"
    counts: Counts = Counts()
    queued_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error_message: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def duration_seconds(self) -> int | None:
        if self.started_at is None or self.completed_at is None:
            return None
        return round((self.completed_at - self.started_at).total_seconds())

    def to(self, status: JobStatus, error_message: str | None = None) -> "IngestionJob":
        """The job one step on; only the documented steps are allowed."""
        if status not in _TRANSITIONS[self.status]:
            raise IllegalTransition(f"Job {self.job_id} cannot go from {self.status} to {status}.")
        now = datetime.now(UTC)
        return replace(
            self,
            status=status,
            started_at=self.started_at or (now if status == "running" else None),
            completed_at=now if status in ("completed", "failed") else None,
            error_message=error_message,
        )

    def after(self, event: IngestionEvent) -> "IngestionJob":
        """The job with an event counted."""
        counts = self.counts
        match event:
            case Planned():
                # A resumed job plans anew: what it did before its process died is unchanged now.
                done = counts.files_processed
                skipped = max(0, event.unchanged - done)
                processed = min(done, event.unchanged)
                counts = replace(
                    counts,
                    files_discovered=event.discovered,
                    files_processed=processed,
                    files_skipped=skipped,
                    files_failed=0,
                )
                return replace(self, counts=counts, failures=(), warnings=())
            case Warned(message=message):
                return replace(self, warnings=(*self.warnings, message))
            case FileFailed(source_file=source_file, reason=reason):
                counts = replace(counts, files_failed=counts.files_failed + 1)
                return replace(
                    self, counts=counts, failures=(*self.failures, (source_file, reason))
                )
            case ChunksEmbedded(texts=texts):
                counts = replace(counts, embedded_chunks=counts.embedded_chunks + texts)
            case LessonsSwitched():
                counts = replace(
                    counts,
                    files_processed=counts.files_processed + len(event.source_files),
                    files_deleted=counts.files_deleted + len(event.removed_files),
                    chunks_created=counts.chunks_created + event.chunks_created,
                    chunks_deleted=counts.chunks_deleted + event.chunks_deleted,
                )
            case _:
                return self
        return replace(self, counts=counts)

    def to_json(self) -> dict[str, Any]:
        return {
            "job_id": self.job_id,
            "book_id": self.book_id,
            "mode": self.mode,
            "status": self.status,
            **asdict(self.counts),
            "queued_at": self.queued_at.isoformat(),
            "started_at": None if self.started_at is None else self.started_at.isoformat(),
            "completed_at": None if self.completed_at is None else self.completed_at.isoformat(),
            "duration_seconds": self.duration_seconds,
            "error_message": self.error_message,
            "warnings": list(self.warnings),
            "failures": [{"source_file": f, "reason": r} for f, r in self.failures],
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """A job after one more event."""

    job: IngestionJob
    event: IngestionEvent | None


class IngestionJobs:
    """Starts, resumes and records jobs of one process."""

    def __init__(self, engine: AsyncEngine, pipeline: Pipeline) -> None:
        self._engine = engine
        self._pipeline = pipeline
        self._owner = uuid.uuid4().hex

    async def run(
        self, folder: Path, book_id: str | None, mode: IngestionMode
    ) -> AsyncIterator[Progress]:
        """Ingest a folder as a job; an unfinished job of the same book is taken up again."""
        book = open_reader(folder, book_id).book
        job = await self._unfinished(book.book_id)
        if job is None or job.mode != mode or job.folder != str(folder.resolve()):
            job = await self._create(book.book_id, folder, mode)
        if job.status == "queued":
            job = job.to("running")
        await self._save(job)
        yield Progress(job, None)
        try:
            async for event in self._pipeline.run(folder, book_id, mode):
                job = job.after(event)
                if isinstance(event, LessonsSwitched | Planned):
                    await self._save(job)
                yield Progress(job, event)
        except Exception as error:
            job = job.to("failed", str(error))
            await self._save(job)
            raise
        job = job.to("completed")
        await self._save(job)
        yield Progress(job, None)

    async def get(self, job_id: int) -> IngestionJob | None:
        async with self._engine.connect() as connection:
            row = (
                await connection.execute(
                    select(ingestion_jobs).where(ingestion_jobs.c.job_id == job_id)
                )
            ).first()
            return None if row is None else _job(row)

    async def _unfinished(self, book_id: str) -> IngestionJob | None:
        query = (
            select(ingestion_jobs)
            .where(
                ingestion_jobs.c.book_id == book_id,
                ingestion_jobs.c.status.in_(("queued", "running")),
            )
            .order_by(ingestion_jobs.c.job_id.desc())
        )
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).first()
            return None if row is None else _job(row)

    async def _create(self, book_id: str, folder: Path, mode: IngestionMode) -> IngestionJob:
        """A new job; one that was abandoned for it ends as failed."""
        abandoned = await self._unfinished(book_id)
        if abandoned is not None:
            await self._save(abandoned.to("failed", "Replaced by a new job."))
        job = IngestionJob(job_id=0, book_id=book_id, folder=str(folder.resolve()), mode=mode)
        async with self._engine.begin() as connection:
            result = await connection.execute(
                insert(ingestion_jobs)
                .values(**_row(job), owner=self._owner)
                .returning(ingestion_jobs.c.job_id)
            )
            return replace(job, job_id=int(result.scalar_one()))

    async def _save(self, job: IngestionJob) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(
                update(ingestion_jobs)
                .where(ingestion_jobs.c.job_id == job.job_id)
                .values(**_row(job), owner=self._owner)
            )


def _row(job: IngestionJob) -> dict[str, Any]:
    return {
        "book_id": job.book_id,
        "folder": job.folder,
        "mode": job.mode,
        "status": job.status,
        "counts": asdict(job.counts),
        "warnings": list(job.warnings),
        "failures": [list(failure) for failure in job.failures],
        "queued_at": job.queued_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "error_message": job.error_message,
    }


def _job(row: Any) -> IngestionJob:
    return IngestionJob(
        job_id=row.job_id,
        book_id=row.book_id,
        folder=row.folder,
        mode=row.mode,
        status=row.status,
        counts=Counts(**row.counts),
        queued_at=utc(row.queued_at) or datetime.now(UTC),
        started_at=utc(row.started_at),
        completed_at=utc(row.completed_at),
        error_message=row.error_message,
        warnings=tuple(row.warnings),
        failures=tuple((f, r) for f, r in row.failures),
    )
