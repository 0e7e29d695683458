"""The table of ingestion jobs: one unfinished job per book, and each written only by the worker that owns it."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import IngestionMode
from askbook.ingestion.jobs import Counts, IngestionJob
from askbook.storage.rows import utc
from askbook.storage.tables import ingestion_jobs

NOBODY = ""
"""The owner of a job that no worker has taken yet."""

_UNFINISHED = ingestion_jobs.c.status.in_(("queued", "running"))


class JobStore:
    """Jobs as rows; writes are refused once another worker owns the job or it has ended."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def get(self, job_id: int) -> IngestionJob | None:
        held = await self.held(job_id)
        return None if held is None else held[0]

    async def owner(self, job_id: int) -> str:
        held = await self.held(job_id)
        return NOBODY if held is None else held[1]

    async def held(self, job_id: int) -> tuple[IngestionJob, str] | None:
        """A job and its owner, as of one moment."""
        found = await self._find(ingestion_jobs.c.job_id == job_id)
        return found[0] if found else None

    async def unfinished(self, book_id: str | None = None) -> list[tuple[IngestionJob, str]]:
        """Jobs that still have something to do, oldest first, each with its owner."""
        book = [] if book_id is None else [ingestion_jobs.c.book_id == book_id]
        return await self._find(_UNFINISHED, *book)

    async def newest(self, limit: int, books: Collection[str] | None = None) -> list[IngestionJob]:
        """The last jobs, of these books or of all, also those that are over, the newest first."""
        query = select(ingestion_jobs).order_by(ingestion_jobs.c.job_id.desc()).limit(limit)
        if books is not None:
            query = query.where(ingestion_jobs.c.book_id.in_(books))
        async with self._engine.connect() as connection:
            return [_job(row) for row in await connection.execute(query)]

    async def create(
        self, book_id: str, folder: Path, mode: IngestionMode
    ) -> tuple[IngestionJob, bool]:
        """A new queued job, or the unfinished one that the book has already; and whether it is new."""
        job = IngestionJob(job_id=0, book_id=book_id, folder=str(folder.resolve()), mode=mode)
        while True:
            if there := await self.unfinished(book_id):
                return there[-1][0], False
            try:
                async with self._engine.begin() as connection:
                    result = await connection.execute(
                        insert(ingestion_jobs)
                        .values(**_row(job), owner=NOBODY)
                        .returning(ingestion_jobs.c.job_id)
                    )
                    return replace(job, job_id=int(result.scalar_one())), True
            except IntegrityError:
                # Another worker was first, by a moment: its job is the one.
                continue

    async def claim(self, job: IngestionJob, owner: str, *, held_by: str) -> bool:
        """Make an unfinished job ours, unless somebody else took it or ended it meanwhile."""
        return await self._update(job.job_id, held_by, {"owner": owner})

    async def save(self, job: IngestionJob, owner: str) -> bool:
        """Record how far our job is; False: it is ours no longer."""
        return await self._update(job.job_id, owner, _row(job))

    async def end(self, job: IngestionJob, *, held_by: str | None = None) -> bool:
        """Record the end of a job, whoever owns it or only of this owner; False: that was not to be had."""
        return await self._update(job.job_id, held_by, _row(job))

    async def _update(self, job_id: int, owner: str | None, values: dict[str, Any]) -> bool:
        statement = update(ingestion_jobs).where(ingestion_jobs.c.job_id == job_id, _UNFINISHED)
        if owner is not None:
            statement = statement.where(ingestion_jobs.c.owner == owner)
        async with self._engine.begin() as connection:
            result = await connection.execute(statement.values(**values))
            return result.rowcount == 1

    async def _find(self, *conditions: Any) -> list[tuple[IngestionJob, str]]:
        query = select(ingestion_jobs).where(*conditions).order_by(ingestion_jobs.c.job_id)
        async with self._engine.connect() as connection:
            return [(_job(row), row.owner) for row in await connection.execute(query)]


def _row(job: IngestionJob) -> dict[str, Any]:
    failures: Sequence[list[str]] = [list(failure) for failure in job.failures]
    return {
        "book_id": job.book_id,
        "folder": job.folder,
        "mode": job.mode,
        "status": job.status,
        "counts": asdict(job.counts),
        "warnings": list(dict.fromkeys(job.warnings)),
        "failures": failures,
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
