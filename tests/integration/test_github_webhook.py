"""GitHub's webhook: only what is signed, only known folders, and a replay changes nothing."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from shelf import lesson, write

from askbook.api.routes.webhooks import Pushes
from askbook.config import Settings, load_settings

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]
HOOK = "/ingestion/webhook/github"
SECRET = "a shared secret"
PUSH = {
    "ref": "refs/heads/main",
    "repository": {"default_branch": "main", "full_name": "../../etc"},
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write(tmp_path / "books" / "small", {"a.md": lesson("A", "one")})


@pytest.fixture
def settings(tmp_path: Path, book: Path) -> Settings:
    return load_settings(
        data_dir=tmp_path / "data",
        books_dir=book.parent,
        judge=False,
        github_webhook_secret=SECRET,
    )


async def send(
    http: httpx.AsyncClient,
    body: Any = PUSH,
    *,
    event: str = "push",
    delivery: str = "1",
    secret: str = SECRET,
    path: str = HOOK,
    **headers: Any,
) -> httpx.Response:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    signature = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
    given = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={signature}",
        "Content-Type": "application/json",
        # GitHub is elsewhere; a signature is what lets it in.
        "Host": "books.example",
        "X-Forwarded-For": "192.0.2.1",
    }
    return await http.post(path, content=raw, headers=given | headers)


async def ingested(http: httpx.AsyncClient, job_id: int) -> dict[str, Any]:
    location = f"/ingestion/status/{job_id}"
    await http.get(location, headers={"Accept": "text/event-stream"})
    return (await http.get(location)).json()


async def first_ingest(http: httpx.AsyncClient, book: Path) -> int:
    job = (await http.post("/ingestion/trigger", json={"path": str(book)})).json()
    assert (await ingested(http, job["job_id"]))["status"] == "completed"
    return job["job_id"]


async def test_a_push_ingests_what_changed_and_a_replay_does_nothing(
    serve: Serve, settings: Settings, book: Path
) -> None:
    async with serve(settings) as http:
        before = await first_ingest(http, book)
        write(book, {"b.md": lesson("B", "two")})
        taken = await send(http)
        assert taken.status_code == 202, taken.text
        job = taken.json()["job"]
        assert (job["book_id"], job["mode"]) == ("small", "incremental")
        done = await ingested(http, job["job_id"])
        assert (done["files_processed"], done["files_skipped"]) == (1, 1)
        again = await send(http)
        assert (again.status_code, again.json()["status"]) == (200, "ignored")
        later = await send(http, delivery="2")
        done = await ingested(http, later.json()["job"]["job_id"])
        assert (done["files_processed"], done["embedded_chunks"]) == (0, 0)
        assert job["job_id"] > before


async def test_what_is_not_signed_is_refused(serve: Serve, settings: Settings, book: Path) -> None:
    async with serve(settings) as http:
        await first_ingest(http, book)
        for wrong in (
            {"secret": "another secret"},
            {"X-Hub-Signature-256": ""},
            {"X-Hub-Signature-256": "sha256="},
            {"X-Hub-Signature-256": "sha1=abc"},
            {"X-Hub-Signature-256": "é".encode()},
        ):
            for event in ("push", "ping"):
                given: Any = {"event": event, **wrong}
                refused = await send(http, **given)
                assert (refused.status_code, refused.json()["error"]) == (401, "unauthorized")
                assert SECRET not in refused.text
        altered = await send(
            http, json.dumps(PUSH).encode(), **{"X-Hub-Signature-256": "sha256=" + "0" * 64}
        )
        assert altered.status_code == 401


async def test_other_events_branches_and_bodies(
    serve: Serve, settings: Settings, book: Path
) -> None:
    async with serve(settings) as http:
        await first_ingest(http, book)
        assert (await send(http, {"zen": "…"}, event="ping")).json() == {"status": "pong"}
        for event, body in (
            ("issues", {"action": "opened"}),
            ("push", {**PUSH, "ref": "refs/heads/draft"}),
            ("push", {**PUSH, "ref": "refs/tags/main"}),
        ):
            ignored = await send(http, body, event=event)
            assert (ignored.status_code, ignored.json()["status"]) == (200, "ignored")
        for body in (b"payload=%7B%7D", b"[]", b"{}", b"[" * 100_000):
            bad = await send(http, body)
            assert (bad.status_code, bad.json()["error"]) == (422, "invalid_input")
        unknown = await send(http, path=f"{HOOK}?book_id=absent")
        assert unknown.status_code == 404
        # What failed was not taken: GitHub may send it again.
        assert (await send(http, path=f"{HOOK}?book_id=small")).status_code == 202


async def test_without_a_secret_there_is_no_webhook(serve: Serve, tmp_path: Path) -> None:
    async with serve(load_settings(data_dir=tmp_path / "data", judge=False)) as http:
        missing = await send(http)
        assert missing.status_code == 404
        assert "ASKBOOK_GITHUB_WEBHOOK_SECRET" in missing.json()["suggestion"]


async def test_a_push_during_a_job_is_ingested_after_it(
    serve: Serve, settings: Settings, book: Path
) -> None:
    async with serve(settings) as http:
        await first_ingest(http, book)
        askbook: Any = http.askbook  # pyright: ignore[reportAttributeAccessIssue]  # set by `serving`
        write(book, {f"{n}.md": lesson(f"L{n}", "x", "y") for n in range(20)})
        running = (await http.post("/ingestion/trigger", json={"book_id": "small"})).json()
        pushed = await send(http)
        assert (pushed.status_code, pushed.json()["status"]) == (200, "follows")
        assert pushed.json()["job"]["job_id"] == running["job_id"]
        assert (await ingested(http, running["job_id"]))["status"] == "completed"
        async with asyncio.timeout(20):
            while await askbook.jobs.store.get(running["job_id"] + 1) is None:
                await asyncio.sleep(0.05)
        followed = await ingested(http, running["job_id"] + 1)
        assert (followed["mode"], followed["status"]) == ("incremental", "completed")


def test_only_the_newest_deliveries_are_remembered() -> None:
    pushes = Pushes(kept=2)
    for delivery in ("a", "b", "c"):
        pushes.take(delivery)
    assert [pushes.has(d) for d in ("a", "b", "c")] == [False, True, True]
