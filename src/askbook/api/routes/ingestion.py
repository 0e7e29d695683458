"""`/ingestion/…`: start an ingest, follow it, cancel it, and see what it would change. For administrators."""

import re
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from askbook.access import Grant
from askbook.api.dependencies import Caller, Requires, Running
from askbook.api.errors import refusals
from askbook.api.sse import event_stream, sse_event, wants_events
from askbook.book import IngestionMode
from askbook.bootstrap import Askbook
from askbook.errors import Forbidden, InvalidInput, NotFound
from askbook.ingestion.events import IngestionEvent
from askbook.ingestion.jobs import IngestionJob, Progress
from askbook.ingestion.running import no_job

router = APIRouter(
    prefix="/ingestion",
    tags=["ingestion"],
    dependencies=[Requires("admin")],
    responses=refusals(),
)

JobId = Annotated[int, InPath(ge=1, le=2**31 - 1)]


class TriggerRequest(BaseModel):
    """Which folder to ingest, as which book; a known book needs no path."""

    model_config = ConfigDict(extra="forbid", strict=True)

    path: str | None = Field(None, min_length=1, max_length=4096)
    book_id: str | None = Field(None, min_length=1, max_length=200)
    mode: IngestionMode = "incremental"


class FileFailure(BaseModel):
    source_file: str
    reason: str


class Changes(BaseModel):
    """What an ingest would do now."""

    book_id: str
    discovered: int
    new: list[str]
    modified: list[str]
    moved: list[dict[str, str]] = Field(examples=[[{"from": "old.md", "to": "new.md"}]])
    deleted: list[str]
    unchanged: int
    failed: list[FileFailure]
    warnings: list[str]


@router.post(
    "/trigger",
    status_code=202,
    responses=refusals(400, 404, 409, 413)
    | {200: {"description": "The job that the book has already."}},
)
async def trigger(
    body: TriggerRequest, askbook: Running, caller: Caller, response: Response
) -> dict[str, Any]:
    """Start an ingest: 202 with its job; 200 with the job that the book has already."""
    folder, book_id = await _folder(askbook, caller, body)
    job, accepted = await askbook.durable_jobs.trigger(folder, book_id, body.mode)
    if not accepted:
        response.status_code = 200
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return job.to_json()


@router.get("/jobs")
async def jobs(
    askbook: Running, caller: Caller, limit: Annotated[int, Query(ge=1, le=200)] = 20
) -> list[dict[str, Any]]:
    """The newest jobs of all books, the last first."""
    newest = await askbook.jobs.store.newest(limit, caller.books)
    return [job.to_json() for job in newest]


@router.get("/status/{job_id}", response_model=dict[str, Any], responses=refusals(404))
async def status(job_id: JobId, request: Request, askbook: Running, caller: Caller) -> Any:
    """How far a job is; with `Accept: text/event-stream`, every event until it is over."""
    job = await _job(askbook, caller, job_id)
    if wants_events(request):
        return event_stream(_events(askbook.jobs.watch(job_id)))
    return job.to_json()


@router.post("/cancel/{job_id}", responses=refusals(404, 409))
async def cancel(job_id: JobId, askbook: Running, caller: Caller) -> dict[str, Any]:
    """End a job. What it has switched stays; the rest is served as it was."""
    await _job(askbook, caller, job_id)
    return (await askbook.durable_jobs.cancel(job_id)).to_json()


@router.get("/changes", responses=refusals(404))
async def changes(askbook: Running, caller: Caller, book_id: str | None = None) -> Changes:
    """What differs between a book's folder and what is served of it; nothing is changed."""
    shelved = await askbook.book(book_id, caller.books)
    plan = await askbook.plan(Path(shelved.folder), shelved.book.book_id)
    return Changes(
        book_id=shelved.book.book_id,
        discovered=len(plan.discovered),
        new=plan.new,
        modified=plan.modified,
        moved=[{"from": old, "to": new} for old, new in plan.moved],
        deleted=plan.deleted,
        unchanged=len(plan.unchanged),
        failed=[FileFailure(source_file=f, reason=r) for f, r in plan.failed.items()],
        warnings=plan.warnings,
    )


async def _job(askbook: Askbook, caller: Grant, job_id: int) -> IngestionJob:
    """A job on a book that exists for the caller."""
    job = await askbook.jobs.current(job_id)
    if not caller.admits(job.book_id):
        raise no_job(job_id)
    return job


async def _folder(askbook: Askbook, caller: Grant, body: TriggerRequest) -> tuple[Path, str | None]:
    """The folder to ingest: one that is a book already, or one where new books may lie.

    Who is bound to some books reads their folders only: any other may be somebody else's.
    """
    shelved = [s for s in await askbook.library.books() if caller.admits(s.book.book_id)]
    if body.book_id is not None and not caller.admits(body.book_id):
        raise NotFound(f"There is no book {body.book_id!r}.", "GET /books lists them.")
    if body.path is None:
        if body.book_id is None and len(shelved) != 1:
            raise InvalidInput("Name the book with book_id, or its folder with path.")
        known = await askbook.book(body.book_id, caller.books)
        return Path(known.folder), known.book.book_id
    folder = Path(body.path).resolve()
    recorded = {Path(s.folder).resolve(): s.book.book_id for s in shelved}
    allowed = askbook.settings.ingestion.books_dir if caller.books is None else None
    if folder not in recorded and not (
        allowed is not None and folder.is_relative_to(allowed.resolve())
    ):
        raise Forbidden(
            "This folder is neither a known book's nor below ASKBOOK_BOOKS_DIR.",
            "Ingest it once with `askbook ingest PATH`, or set ASKBOOK_BOOKS_DIR.",
        )
    if not folder.exists():
        raise NotFound(f"There is no file or folder {body.path!r}.")
    return folder, body.book_id or recorded.get(folder)


async def _events(steps: AsyncIterator[Progress]) -> AsyncIterator[bytes]:
    first = True
    async for progress in steps:
        job = progress.job.to_json()
        if not first and not progress.job.is_over:
            # These may be long; they stand in the first and the last event.
            del job["warnings"], job["failures"]
        first = False
        yield sse_event(_name(progress.event), {"job": job, "event": _event_json(progress.event)})


def _name(event: IngestionEvent | None) -> str:
    """`LessonsSwitched` → `lessons_switched`; `job` when only the job itself changed."""
    if event is None:
        return "job"
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _event_json(event: IngestionEvent | None) -> dict[str, Any] | None:
    return None if event is None else {"type": _name(event), **asdict(event)}
