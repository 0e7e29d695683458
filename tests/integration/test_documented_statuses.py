"""Every status that the OpenAPI document names for a route is one that the route gives."""

import asyncio
import hashlib
import hmac
import json
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from askbook.config import load_settings
from data_directories import copy_data
from two_books import QUESTIONS, Server, running

PAGE = "https://docs.example.com"
Produced: TypeAlias = dict[tuple[str, str], set[int]]
Ask: TypeAlias = Callable[..., Awaitable[httpx.Response]]
SECRET = "what GitHub and we know"
JSON = {"Content-Type": "application/json"}


async def test_every_documented_status_is_produced(two_books: Path, tmp_path: Path) -> None:
    data = copy_data(two_books, tmp_path / "data")
    produced: Produced = defaultdict(set)
    async with running(load_settings(data_dir=data, github_webhook_secret=SECRET)) as server:
        documented = _documented(server.app.openapi())
        await _produce_refusals(server, documented, produced)
        await _produce_answers(server, produced)
        await _produce_conflict(two_books, tmp_path, produced)
    slow = load_settings(data_dir=data, request_timeout=0.00001, github_webhook_secret=SECRET)
    async with running(slow) as server, server.client() as http:
        await _produce_pushes(_asking(http, produced))
        for method, path in documented:
            if 401 in documented[method, path]:
                produced[method, path].add((await http.request(method, _filled(path))).status_code)
    missing = {
        route: statuses - produced[route]
        for route, statuses in documented.items()
        if not statuses <= produced[route]
    }
    assert missing == {}
    undocumented = {
        route: found - documented[route]
        for route, found in produced.items()
        if not found <= documented[route]
    }
    assert undocumented == {}


def _documented(document: dict[str, Any]) -> dict[tuple[str, str], set[int]]:
    return {
        (method.upper(), path): {
            int(status) for status in operation["responses"] if status != "default"
        }
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def _filled(path: str) -> str:
    """A path with ids that are well formed."""
    for name, value in (
        ("{session_id}", str(uuid.uuid4())),
        ("{job_id}", "999"),
        ("{book_id}", "gardens"),
    ):
        path = path.replace(name, value)
    return path.replace("{", "").replace("}", "")


async def _produce_refusals(
    server: Server, documented: dict[tuple[str, str], set[int]], produced: Produced
) -> None:
    """What the gate and the envelope refuse, they refuse on every route."""
    widget = await server.key("widget", public=True, origins=[PAGE], rate=1_000_000)
    admin = await server.key("admin", admin=True, rate=1_000_000)
    for (method, path), statuses in documented.items():
        if 401 not in statuses:
            continue
        url, found = _filled(path), produced[method, path]
        spent = await server.key("spent", admin=True, rate=1)
        async with server.client() as nobody, server.client(widget) as pageless:
            found.add((await nobody.request(method, url)).status_code)
            found.add((await pageless.request(method, url)).status_code)
        async with server.client(widget, Origin=PAGE, X_Askbook_Reader="short") as reader:
            found.add((await reader.request(method, url)).status_code)
        async with server.client(spent) as hasty:
            await hasty.get("/nowhere")
            found.add((await hasty.request(method, url)).status_code)
        if 413 in statuses:
            async with server.client(admin) as http:
                for content in (b"{", b" " * 1_000_001):
                    response = await http.request(method, url, content=content, headers=JSON)
                    found.add(response.status_code)


async def _produce_answers(server: Server, produced: Produced) -> None:
    """What each route answers when it is asked rightly, and for what is not there."""
    admin = await server.key("owner", admin=True, rate=1_000_000)
    async with server.client(admin) as http:
        ask = _asking(http, produced)
        await _produce_chat(ask)
        await _produce_reading(ask)
        await _produce_jobs(ask)
        await _produce_completions(ask)
        await _produce_pushes(ask)
        for path in ("/books", "/info", "/health", "/sessions", "/metrics", "/ingestion/jobs"):
            await ask("GET", path)
        for path in ("/gaps", "/feedback", "/suggestions"):
            for book in ("gardens", "absent"):
                await ask("GET", path, params={"book_id": book})
    await _produce_readiness(server, produced)


def _asking(http: httpx.AsyncClient, produced: Produced) -> Ask:
    """Asks, and notes what was answered."""

    async def ask(method: str, path: str, url: str | None = None, **more: Any) -> httpx.Response:
        response = await http.request(method, url or path, **more)
        produced[method, path].add(response.status_code)
        return response

    return ask


async def _produce_chat(ask: Ask) -> None:
    body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
    session = (await ask("POST", "/chat/run", json=body)).json()["session_id"]
    other = {"message": "And?", "book_id": "engines", "session_id": session}
    for route in ("/chat/run", "/chat/stream"):
        await ask("POST", route, json=body)
        await ask("POST", route, json=body | {"book_id": "absent"})
        await ask("POST", route, json=other)
    for voted in (session, str(uuid.uuid4())):
        await ask("POST", "/feedback", json={"session_id": voted, "rating": "up"})
    history, ended = "/session/{session_id}/history", "/session/{session_id}"
    await ask("GET", history, f"/session/{session}/history")
    for _ in range(2):
        await ask("DELETE", ended, f"/session/{session}")
    await ask("GET", history, f"/session/{session}/history")


async def _produce_reading(ask: Ask) -> None:
    where = {"book_id": "gardens"}
    wanted = {"text": QUESTIONS["gardens"]} | where
    found = (await ask("POST", "/search", json=wanted)).json()["results"][0]
    await ask("POST", "/search", json=wanted | {"book_id": "absent"})
    for path, url in (
        ("/context/{chunk_id}", f"/context/{found['chunk_id']}"),
        ("/context/{chunk_id}", "/context/absent"),
        ("/lesson/{parent_doc_id}", f"/lesson/{found['parent_doc_id']}"),
        ("/lesson/{parent_doc_id}", "/lesson/absent"),
        ("/passage/{chunk_id}", f"/passage/{found['chunk_id']}"),
        ("/passage/{chunk_id}", "/passage/absent"),
        ("/read/{book_id}/{source_file}", f"/read/gardens/{found['source_file']}"),
        ("/read/{book_id}/{source_file}", "/read/gardens/absent"),
    ):
        await ask("GET", path, url, params=where)


async def _produce_completions(ask: Ask) -> None:
    await ask("GET", "/v1/models")
    said = [{"role": "user", "content": QUESTIONS["gardens"]}]
    for model in ("askbook/gardens", "askbook/absent"):
        await ask("GET", "/v1/models/{model}", f"/v1/models/{model}")
        await ask("POST", "/v1/chat/completions", json={"model": model, "messages": said})


async def _produce_pushes(ask: Ask) -> None:
    pushed = json.dumps({"ref": "refs/heads/main"}).encode()
    for event, body, book in (
        ("ping", b"{}", "gardens"),
        ("push", pushed, "gardens"),
        ("push", pushed, "absent"),
        ("push", b"no push", "gardens"),
    ):
        digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-GitHub-Event": event, "X-Hub-Signature-256": f"sha256={digest}", **JSON}
        path, where = "/ingestion/webhook/github", {"book_id": book}
        await ask("POST", path, content=body, headers=headers, params=where)


async def _produce_jobs(ask: Ask) -> None:
    status, cancel = "/ingestion/status/{job_id}", "/ingestion/cancel/{job_id}"
    wanted = {"book_id": "gardens"}
    # Two at once: the second is told of the first.
    await asyncio.gather(*(ask("POST", "/ingestion/trigger", json=wanted) for _ in range(2)))
    job = (await ask("POST", "/ingestion/trigger", json=wanted | {"mode": "full"})).json()["job_id"]
    await ask("POST", cancel, f"/ingestion/cancel/{job}")
    await ask("GET", status, f"/ingestion/status/{job}", headers={"Accept": "text/event-stream"})
    await ask("POST", cancel, f"/ingestion/cancel/{job}")
    for path, method in ((status, "GET"), (cancel, "POST")):
        await ask(method, path, path.replace("{job_id}", "999"))
    await ask("POST", "/ingestion/trigger", json={"book_id": "absent"})
    for book in ("gardens", "absent"):
        await ask("GET", "/ingestion/changes", params={"book_id": book})


async def _produce_readiness(server: Server, produced: Produced) -> None:
    from askbook.errors import ServiceUnavailable

    async with server.client() as http:
        produced["GET", "/ready"].add((await http.get("/ready")).status_code)
        working = server.askbook.index.count

        async def away() -> int:
            raise ServiceUnavailable("The index is away.")

        server.askbook.index.count = away
        produced["GET", "/ready"].add((await http.get("/ready")).status_code)
        server.askbook.index.count = working


async def _produce_conflict(two_books: Path, tmp_path: Path, produced: Produced) -> None:
    """A process runs jobs for one data directory; a second one in it is refused."""
    other = load_settings(data_dir=copy_data(two_books, tmp_path / "other"))
    async with running(other) as second, second.client() as http:
        answer = await http.post("/ingestion/trigger", json={"book_id": "gardens"})
        produced["POST", "/ingestion/trigger"].add(answer.status_code)
