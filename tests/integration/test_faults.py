"""What a server does while something it needs is gone, as docs/deployment.md says, and that it recovers by itself."""

import asyncio
import json
import logging
import shutil
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from shelf import lesson, write

from askbook.agent.run import UNREACHABLE
from askbook.api.app import create_app
from askbook.config import Settings, load_settings
from data_directories import copy_data
from http_server import HttpServer
from openai_chat_server import ChatServer, Say
from qdrant_server import QdrantServer

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]
QUESTION = "Which stop categories may an emergency stop have?"
SENTENCE = "An emergency stop may have category 0 or 1 [1]."


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


async def chat(http: httpx.AsyncClient, session: str, path: str = "/chat/run") -> httpx.Response:
    return await http.post(path, json={"message": QUESTION, "session_id": session})


async def turns(http: httpx.AsyncClient, session: str) -> int:
    history = await http.get(f"/session/{session}/history")
    return history.json()["turn_count"] if history.status_code == 200 else 0


async def test_model_down_the_book_is_quoted_and_the_model_comes_back(
    data_dir: Path, model: ChatServer, serve: Serve
) -> None:
    model.respond = lambda _: Say(SENTENCE)
    session = str(uuid.uuid4())
    async with serve(load_settings(data_dir=data_dir, openai_base_url=model.url)) as http:
        before = (await chat(http, session)).json()
        assert before["model"] != "extractive"
        model.http.stop()
        answer = await chat(http, session)
        assert answer.status_code == 200
        assert (answer.json()["model"], answer.json()["info"]) == ("extractive", [UNREACHABLE])
        assert answer.json()["citations"]
        asked = {"model": "askbook", "messages": [{"role": "user", "content": QUESTION}]}
        foreign = (await http.post("/v1/chat/completions", json=asked)).json()
        assert foreign["askbook"]["info"] == [UNREACHABLE]
        assert (await http.get("/ready")).status_code == 200
        model.http.start()
        assert (await chat(http, session)).json()["model"] != "extractive"
        assert await turns(http, session) == 3


async def test_index_down_is_503_and_loses_nothing_that_was_answered(
    tmp_path: Path, serve: Serve
) -> None:
    book = write(tmp_path / "book", {"a.md": lesson("Emergency stop categories", "stop")})
    session = str(uuid.uuid4())
    with QdrantServer(tmp_path / "qdrant") as qdrant:
        settings = load_settings(
            data_dir=tmp_path / "data",
            qdrant_url=qdrant.url,
            judge=False,
            books_dir=book.parent,
            policy="threshold",
            similarity_threshold=0,
            low=0,
            medium=0,
            high=0,
        )
        async with serve(settings) as http:
            job = (await http.post("/ingestion/trigger", json={"path": str(book)})).json()
            location = f"/ingestion/status/{job['job_id']}"
            await http.get(location, headers={"Accept": "text/event-stream"})
            assert (await chat(http, session)).status_code == 200
            qdrant.http.stop()
            away = await chat(http, session)
            assert (away.status_code, away.json()["error"]) == (503, "service_unavailable")
            stream = await chat(http, session, "/chat/stream")
            assert stream.status_code == 200
            assert "event: error" in stream.text
            assert "event: done" not in stream.text
            ready = await http.get("/ready")
            assert ready.status_code == 503
            assert [c["part"] for c in ready.json()["checks"] if not c["ok"]] == ["index"]
            assert await turns(http, session) == 1
            qdrant.http.start()
            # After three failures in a row the index is left alone for five seconds.
            async with asyncio.timeout(20):
                while (await chat(http, session)).status_code != 200:
                    await asyncio.sleep(0.5)
            assert await turns(http, session) == 2


@asynccontextmanager
async def serving(settings: Settings) -> AsyncGenerator[httpx.AsyncClient]:
    """A real server: only there a client can go away."""
    server = HttpServer(create_app(settings), lifespan=True)
    await asyncio.to_thread(server.start)
    try:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            yield http
    finally:
        await asyncio.to_thread(server.stop)


async def test_clients_that_go_away_leave_nothing_behind(
    data_dir: Path, model: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    model.respond = lambda _: Say(f"{SENTENCE} " + "More and more. " * 400, pace=0.02)
    session = str(uuid.uuid4())
    settings = load_settings(data_dir=data_dir, openai_base_url=model.url, judge=False)
    async with serving(settings) as http:

        async def leave_after(event: str, **more: str) -> None:
            body = {"message": QUESTION, **more}
            async with http.stream("POST", "/chat/stream", json=body) as response:
                async for line in response.aiter_lines():
                    if line == f"event: {event}":
                        return

        async def leave_after_seconds(seconds: float) -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await http.post("/chat/stream", json={"message": QUESTION})

        await asyncio.gather(*(leave_after_seconds(n / 100) for n in range(1, 60)))
        # More than the database has connections, at every moment of a turn; some in one session.
        wanted = ["state", "sources", "sentence"] * 7
        await asyncio.gather(*(leave_after(event) for event in wanted))
        for event in ("state", "sentence"):
            await leave_after(event, session_id=session)
        async with asyncio.timeout(20):
            while model.at_once or await _under_way(http) > 1:
                await asyncio.sleep(0.05)
        assert await turns(http, session) == 0
        assert (await http.get("/sessions")).json() == []
        model.respond = lambda _: Say(SENTENCE)
        answer = await chat(http, session)
        assert (answer.status_code, answer.json()["model"]) == (200, "gpt-4o-mini")
        assert await turns(http, session) == 1
    # To leave is a reader's right, not an error.
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def _under_way(http: httpx.AsyncClient) -> float:
    text = (await http.get("/metrics")).text
    [line] = [li for li in text.splitlines() if li.startswith("askbook_http_requests_in_progress ")]
    return float(line.rsplit(" ", 1)[1])


async def test_disk_full_is_told_and_what_was_acknowledged_stays(
    ingested: Path, small_disk: Path, serve: Serve
) -> None:
    data, filler, session = small_disk / "data", small_disk / "filler", str(uuid.uuid4())
    copy_data(ingested, data)
    async with serve(load_settings(data_dir=data)) as http:
        assert (await chat(http, session)).status_code == 200
        filler.write_bytes(b"x" * shutil.disk_usage(small_disk).free)
        # The write-ahead log may have some room left; what fits is kept, the rest is refused.
        tried, full = 1, await chat(http, session)
        while full.status_code == 200 and tried < 40:
            tried, full = tried + 1, await chat(http, session)
        assert (full.status_code, full.json()["error"]) == (503, "storage_full")
        assert "Free some space" in full.json()["suggestion"]
        kept = await turns(http, session)
        assert kept >= 1
        stream = await chat(http, session, "/chat/stream")
        events = [
            li.removeprefix("event: ") for li in stream.text.splitlines() if li[:6] == "event:"
        ]
        assert (events[-1], "done" in events) == ("error", False)
        assert json.loads(stream.text.rsplit("data: ", 1)[1])["error"] == "storage_full"
        # What needs no room still serves.
        found = await http.post("/search", json={"text": "emergency stop"})
        assert found.status_code == 200
        assert (await http.get("/health")).status_code == 200
        assert await turns(http, session) == kept
        filler.unlink()
        assert (await chat(http, session)).status_code == 200
        assert await turns(http, session) == kept + 1
