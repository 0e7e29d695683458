"""Ingesting over HTTP: who may, what may be ingested, and what is told of it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from shelf import lesson, write

from askbook.api.sse import event_stream
from askbook.config import Settings, load_settings

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A folder of books, with one small book in it."""
    write(tmp_path / "books" / "small", {"a.md": lesson("A", "one"), "b.md": lesson("B", "two")})
    return tmp_path / "books"


@pytest.fixture
def settings(tmp_path: Path, books: Path) -> Settings:
    return load_settings(data_dir=tmp_path / "data", books_dir=books, judge=False)


async def test_a_book_is_ingested_watched_and_compared(
    serve: Serve, settings: Settings, books: Path
) -> None:
    async with serve(settings) as http:
        accepted = await http.post("/ingestion/trigger", json={"path": str(books / "small")})
        assert accepted.status_code == 202
        job = accepted.json()
        assert (job["book_id"], job["status"], job["started_at"]) == ("small", "queued", None)
        location = accepted.headers["location"]
        assert location == f"/ingestion/status/{job['job_id']}"

        stream = await http.get(location, headers={"Accept": "text/event-stream"})
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = parse(stream.text)
        names = [name for name, _ in events]
        assert names[0] == "job"
        assert names[-2:] == ["finished", "job"]
        assert {"planned", "chunks_prepared", "chunks_embedded", "lessons_switched"} <= set(names)
        for name, body in events:
            assert set(body) == {"job", "event"}
            assert (body["event"] is None) == (name == "job")
        assert dict(events)["planned"]["event"]["new"] == ["a.md", "b.md"]
        assert events[-1][1]["job"]["status"] == "completed"

        status = (await http.get(location)).json()
        assert status == events[-1][1]["job"]
        assert status["files_processed"] == status["files_discovered"] == 2
        over = await http.get(location, headers={"Accept": "text/event-stream"})
        assert [(n, b["job"]["status"]) for n, b in parse(over.text)] == [("job", "completed")]

        write(books / "small", {"a.md": lesson("A", "other"), "c.md": lesson("C", "three")})
        (books / "small" / "b.md").rename(books / "small" / "d.md")
        changes = (await http.get("/ingestion/changes", params={"book_id": "small"})).json()
        assert changes["modified"] == ["a.md"]
        assert changes["new"] == ["c.md"]
        assert changes["moved"] == [{"from": "b.md", "to": "d.md"}]
        assert (changes["deleted"], changes["unchanged"]) == ([], 0)
        assert (await http.get("/ingestion/changes")).json() == changes
        assert (await http.get("/ingestion/changes?book_id=none")).status_code == 404

        again = await http.post("/ingestion/trigger", json={"book_id": "small"})
        assert again.status_code == 202
        assert again.json()["job_id"] != job["job_id"]
        second = await http.post("/ingestion/trigger", json={"book_id": "small", "mode": "full"})
        assert second.status_code == 200
        assert second.json()["job_id"] == again.json()["job_id"]
        cancelled = await http.post(f"/ingestion/cancel/{again.json()['job_id']}")
        assert cancelled.status_code in (200, 409)  # it may have been quicker
        done = (await http.get(f"/ingestion/status/{again.json()['job_id']}")).json()
        assert done["status"] in ("failed", "completed")
        assert done["completed_at"] is not None


async def test_only_known_folders_are_ingested(
    serve: Serve, settings: Settings, books: Path, tmp_path: Path
) -> None:
    outside = write(tmp_path / "outside", {"a.md": lesson("A", "one")})
    (books / "link").symlink_to(outside)
    async with serve(settings) as http:
        for path in (str(outside), str(books / "link"), f"{books}/../outside", "/etc", "outside"):
            refused = await http.post("/ingestion/trigger", json={"path": path})
            assert (refused.status_code, refused.json()["error"]) == (403, "forbidden"), path
        missing = await http.post("/ingestion/trigger", json={"path": str(books / "none")})
        assert missing.status_code == 404
        assert (await http.post("/ingestion/trigger", json={})).status_code == 422
        wrong = await http.post("/ingestion/trigger", json={"book_id": "none"})
        assert wrong.status_code == 404
        bad = await http.post(
            "/ingestion/trigger", json={"path": str(books / "small"), "mode": "quick"}
        )
        assert bad.status_code == 422
        assert (await http.get("/ingestion/status/1")).status_code == 404
        assert (await http.post("/ingestion/cancel/1")).status_code == 404


async def test_a_known_books_folder_needs_no_books_dir(serve: Serve, data_dir: Path) -> None:
    async with serve(load_settings(data_dir=data_dir, judge=False)) as http:
        [book] = await http.askbook.library.books()  # pyright: ignore[reportAttributeAccessIssue]  # set by `serving`
        accepted = await http.post("/ingestion/trigger", json={"path": book.folder})
        assert accepted.status_code == 202
        await http.get(accepted.headers["location"], headers={"Accept": "text/event-stream"})
        job = (await http.get(accepted.headers["location"])).json()
        assert job["status"] == "completed"
        assert job["files_skipped"] == job["files_discovered"] > 0


async def test_a_single_file_below_the_books_dir_is_a_book(
    serve: Serve, settings: Settings, books: Path
) -> None:
    page = books / "page.html"
    page.write_text("<h1>Page</h1><p>A gearbox multiplies torque.</p>", encoding="utf-8")
    async with serve(settings) as http:
        missing = await http.post("/ingestion/trigger", json={"path": str(books / "no.html")})
        assert missing.status_code == 404
        accepted = await http.post("/ingestion/trigger", json={"path": str(page)})
        assert accepted.status_code == 202
        await http.get(accepted.headers["location"], headers={"Accept": "text/event-stream"})
        job = (await http.get(accepted.headers["location"])).json()
        assert (job["status"], job["book_id"]) == ("completed", "page")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "books.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"X-Real-IP": "127.0.0.1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_strangers_are_refused(
    serve: Serve, settings: Settings, headers: dict[str, str]
) -> None:
    async with serve(settings) as http:
        for method, path in (
            ("POST", "/ingestion/trigger"),
            ("GET", "/ingestion/status/1"),
            ("GET", "/ingestion/changes"),
            ("POST", "/ingestion/cancel/1"),
        ):
            refused = await http.request(method, path, headers=headers, json={"book_id": "x"})
            assert refused.status_code == 401


@pytest.mark.parametrize(
    ("client", "host", "allowed"),
    [
        ("127.0.0.1", "localhost:8321", True),
        ("::1", "[::1]:8321", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("192.0.2.7", "localhost", False),
        ("10.0.0.1", "127.0.0.1", False),
    ],
)
async def test_only_this_machine_may_administer(
    serve: Serve, settings: Settings, client: str, host: str, allowed: bool
) -> None:
    async with serve(settings) as http:
        app = http._transport.app  # pyright: ignore[reportAttributeAccessIssue]
        transport = httpx.ASGITransport(app, client=(client, 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as other:
            answer = await other.get("/ingestion/status/1", headers={"Host": host})
    assert answer.status_code == (404 if allowed else 401)


async def test_a_silent_stream_is_kept_alive() -> None:
    closed = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        try:
            await asyncio.sleep(0.25)
            yield b"data: 1\n\n"
            await asyncio.sleep(60)
        finally:
            closed.set()

    stream: Any = event_stream(events(), keep_alive=0.1).body_iterator
    sent = [await anext(stream) for _ in range(3)]
    assert sent == [b": ping\n\n", b": ping\n\n", b"data: 1\n\n"]
    assert await anext(stream) == b": ping\n\n"
    await stream.aclose()
    assert closed.is_set()


def parse(stream: str) -> list[tuple[str, dict[str, Any]]]:
    events: list[tuple[str, dict[str, Any]]] = []
    for block in stream.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] not in ":")
        if fields:
            events.append((fields["event"], json.loads(fields["data"])))
    return events
