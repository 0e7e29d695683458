"""`POST /ingestion/webhook/github`: a push to a book's repository has the book read again.

The body names nothing that is used as a path: the folder is the one the book was ingested from, and bringing it up
to date is the job of whoever keeps it there.
"""

import asyncio
import hashlib
import hmac
import json
from collections import OrderedDict
from pathlib import Path
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from askbook.api.dependencies import Running
from askbook.api.errors import refusals
from askbook.bootstrap import Askbook
from askbook.config import IngestionSettings
from askbook.errors import AskbookError, InvalidInput, NotFound, Unauthorized
from askbook.ingestion.jobs import IngestionJob

router = APIRouter(prefix="/ingestion/webhook", tags=["ingestion"])
_ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"description": "An ingest was started."},
    **refusals(401, 404, 413, 422, 503, is_open=True),
}
log = structlog.get_logger(__name__)

DELIVERIES = 1000
"""Deliveries remembered; an older one would only ingest what is unchanged."""
_NAME = 200


class _Repository(BaseModel):
    model_config = ConfigDict(extra="ignore")

    default_branch: str = ""


class _Push(BaseModel):
    """What of a push matters here."""

    model_config = ConfigDict(extra="ignore")

    ref: str
    repository: _Repository = _Repository()

    @property
    def is_published(self) -> bool:
        """Whether it moved the branch that readers see."""
        branch = self.repository.default_branch
        return not branch or self.ref == f"refs/heads/{branch}"


class Pushes:
    """What was pushed lately: a delivery is taken once, and none is lost behind a running job."""

    def __init__(self, kept: int = DELIVERIES) -> None:
        self._kept = kept
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._following: dict[str, asyncio.Task[None]] = {}

    def has(self, delivery: str) -> bool:
        return delivery in self._taken

    def take(self, delivery: str) -> None:
        self._taken[delivery] = None
        while len(self._taken) > self._kept:
            self._taken.popitem(last=False)

    def follow(self, askbook: Askbook, job: IngestionJob) -> None:
        """Ingest once more when a job is over that may have read the folder before the push."""
        if job.book_id not in self._following:
            task = asyncio.create_task(self._after(askbook, job))
            self._following[job.book_id] = task

    async def close(self) -> None:
        for task in self._following.values():
            task.cancel()
        await asyncio.gather(*self._following.values(), return_exceptions=True)

    async def _after(self, askbook: Askbook, job: IngestionJob) -> None:
        try:
            async for _ in askbook.jobs.watch(job.job_id):
                pass
            self._following.pop(job.book_id, None)
            again, _ = await askbook.durable_jobs.trigger(
                Path(job.folder), job.book_id, "incremental"
            )
            log.info("webhook_push_followed", book_id=again.book_id, job_id=again.job_id)
        except AskbookError as error:
            log.error("webhook_push_lost", book_id=job.book_id, code=error.code)
        finally:
            self._following.pop(job.book_id, None)


@router.post("/github", responses=_ANSWERS)
async def github(
    request: Request,
    response: Response,
    askbook: Running,
    book_id: str | None = None,
    x_github_event: Annotated[str, Header(max_length=_NAME)] = "",
    x_github_delivery: Annotated[str, Header(max_length=_NAME)] = "",
    x_hub_signature_256: Annotated[str, Header(max_length=_NAME)] = "",
) -> dict[str, Any]:
    """202 with the job of an incremental ingest, 200 with the one it follows or with why there is none."""
    body = await request.body()
    check_signature(askbook.settings.ingestion, body, x_hub_signature_256)
    if x_github_event == "ping":
        return {"status": "pong"}
    if x_github_event != "push":
        return {"status": "ignored", "reason": "Only a push changes a book."}
    if not _push(body).is_published:
        return {"status": "ignored", "reason": "The push is not to the default branch."}
    pushes: Pushes = request.app.state.pushes
    if pushes.has(x_github_delivery):
        return {"status": "ignored", "reason": "This delivery was taken before."}
    shelved = await askbook.book(book_id)
    job, accepted = await askbook.durable_jobs.trigger(
        Path(shelved.folder), shelved.book.book_id, "incremental"
    )
    if not accepted:
        pushes.follow(askbook, job)
    if x_github_delivery:
        pushes.take(x_github_delivery)
    log.info("webhook_push", book_id=job.book_id, job_id=job.job_id, accepted=accepted)
    response.status_code = 202 if accepted else 200
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return {"status": "accepted" if accepted else "follows", "job": job.to_json()}


def check_signature(settings: IngestionSettings, body: bytes, given: str) -> None:
    """Refuse what was not signed with our secret; the comparison takes the same time for every guess."""
    secret = settings.github_webhook_secret
    if secret is None:
        raise NotFound(
            "The webhook is not set up.",
            "Set ASKBOOK_GITHUB_WEBHOOK_SECRET to the secret you gave GitHub.",
        )
    right = hmac.new(secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(f"sha256={right}".encode(), given.encode("utf-8", "replace")):
        raise Unauthorized(
            "X-Hub-Signature-256 is missing or does not fit the body.",
            "Give GitHub the same secret as ASKBOOK_GITHUB_WEBHOOK_SECRET.",
        )


def _push(body: bytes) -> _Push:
    try:
        return _Push.model_validate(json.loads(body))
    except (ValidationError, ValueError, RecursionError) as error:
        raise InvalidInput(
            "The body is not a push as GitHub sends it.",
            "Choose the content type application/json in the webhook's settings.",
        ) from error
