"""What one server process bears: 200 chats at once, its own cost beside a bare endpoint, memory over 10,000 requests.

python benchmarks/load.py [--quick] [--json]

The model is a scripted server in a process of its own, the readers are in this one; CPU and memory are the served
process's alone. Retrieval is made cheap (hashed words, no judge), because it is not what is measured.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import httpx

QUESTION = "How much does the robot {} carry over rough ground?"
ROBOTS = [f"Zor{a}{b}ix" for a in "aeiou" for b in "bdfgklmn"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is asked: chats at once, requests whose CPU is counted, requests for the memory."""

    at_once: int = 200
    costed: int = 600
    remembered: int = 10_000


QUICK = Sizes(costed=150, remembered=500)
SMALL = Sizes(at_once=40, costed=30, remembered=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", nargs="?", choices=["model", "book"], help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="fewer requests; ends in a minute")
    parser.add_argument("--small", action="store_true", help="the fewest, to see that it works")
    parser.add_argument("--json", action="store_true", help="the figures as one JSON document")
    options = parser.parse_args()
    if options.role == "model":
        _serve_model()
    elif options.role == "book":
        _serve_book()
    else:
        figures = measure(SMALL if options.small else QUICK if options.quick else Sizes())
        print(json.dumps(figures, indent=2) if options.json else _told(figures))
        sys.exit(0 if not figures["chats_at_once"]["errors"] else 1)


def measure(sizes: Sizes) -> dict[str, Any]:
    work = Path(tempfile.mkdtemp(prefix="askbook-load-"))
    try:
        with _process("model") as model:
            env = {
                "ASKBOOK_DATA_DIR": str(work / "data"),
                "OPENAI_BASE_URL": f"{model}/v1",
                "ASKBOOK_JUDGE": "false",
                "ASKBOOK_CONFIDENCE_POLICY": "threshold",
                "ASKBOOK_SIMILARITY_THRESHOLD": "0",
                **{f"ASKBOOK_CONFIDENCE_{level}": "0" for level in ("LOW", "MEDIUM", "HIGH")},
                "ASKBOOK_LOAD_BOOK": str(_write_book(work / "book")),
            }
            with _process("book", **env) as book:
                return asyncio.run(_measured(book, sizes))
    finally:
        shutil.rmtree(work, ignore_errors=True)


async def _measured(book: str, sizes: Sizes) -> dict[str, Any]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=sizes.at_once)
    async with httpx.AsyncClient(
        base_url=book, timeout=300, limits=limits, trust_env=False
    ) as http:
        await _chats(http, 20, 5)
        together = await _at_once(http, sizes.at_once)
        cost = await _overhead(http, sizes.costed)
        memory = await _memory(http, sizes.remembered)
    return {"chats_at_once": together, "cpu_per_request": cost, "memory": memory}


# --- What is measured ---


async def _at_once(http: httpx.AsyncClient, chats: int) -> dict[str, Any]:
    started = time.perf_counter()
    ended = await asyncio.gather(*(_chat(http, n) for n in range(chats)))
    return {
        "chats": chats,
        "errors": sum(not right for right, _ in ended),
        "seconds": round(time.perf_counter() - started, 2),
        "slowest_first_sentence": round(max(first for _, first in ended), 2),
    }


async def _overhead(http: httpx.AsyncClient, requests: int) -> dict[str, Any]:
    """CPU per request: with its turn, with one that is only repeated, and of a bare endpoint."""
    rounds: list[dict[str, float]] = []
    each = requests // 3
    for _ in range(3):
        costs: dict[str, float] = {}
        for name, repeated in (("whole", False), ("around", True)):
            await http.post("/load/turns", json={"repeated": repeated})
            before = await _cpu(http)
            for _ in range(each):
                await _chat(http, 0)
            costs[name] = (await _cpu(http) - before) / each
        await http.post("/load/turns", json={"repeated": False})
        before = await _cpu(http)
        await _bare(http, each)
        costs["bare"] = (await _cpu(http) - before) / each
        rounds.append(costs)
    # The quietest round of each: whatever else the machine does only adds.
    best = {name: min(costs[name] for costs in rounds) for name in rounds[0]}
    return {
        "requests": requests,
        "whole_ms": round(best["whole"], 2),
        "around_the_turn_ms": round(best["around"], 2),
        "bare_endpoint_ms": round(best["bare"], 2),
        "beyond_bare_ms": round(best["around"] - best["bare"], 2),
    }


async def _memory(http: httpx.AsyncClient, requests: int) -> dict[str, Any]:
    """Resident memory after a tenth of the requests and after all; flat means that none is kept."""
    samples: list[float] = []
    for _ in range(10):
        await _chats(http, requests // 10, 20)
        samples.append((await http.get("/load/usage")).json()["memory_mb"])
    return {
        "requests": requests,
        "after_a_tenth_mb": round(samples[0], 1),
        "at_half_mb": round(samples[4], 1),
        "at_the_end_mb": round(samples[-1], 1),
        "second_half_growth_percent": round((samples[-1] / samples[4] - 1) * 100, 2),
    }


async def _chats(http: httpx.AsyncClient, count: int, at_once: int) -> None:
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with gate:
            right, _ = await _chat(http, number)
            if not right:
                raise RuntimeError(f"chat {number} did not end as it should")

    await asyncio.gather(*(one(n) for n in range(count)))


async def _chat(http: httpx.AsyncClient, number: int) -> tuple[bool, float]:
    """Whether a chat was answered with its own robot, checked and to its end; and its first sentence's time."""
    robot, first, right, done = ROBOTS[number % len(ROBOTS)], 0.0, False, ""
    started = time.perf_counter()
    body = {"message": QUESTION.format(robot)}
    async with http.stream("POST", "/chat/stream", json=body) as response:
        event = ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "sentence":
                first = first or time.perf_counter() - started
                right = f"robot {robot} carries" in json.loads(value)["text"]
            elif name == "data" and event == "done":
                done = json.loads(value)["model"]
    return right and done not in ("", "extractive"), first


async def _bare(http: httpx.AsyncClient, count: int) -> None:
    for _ in range(count):
        async with http.stream(
            "POST", "/bare", json={"message": QUESTION.format(ROBOTS[0])}
        ) as response:
            async for _ in response.aiter_lines():
                pass


async def _cpu(http: httpx.AsyncClient) -> float:
    return (await http.get("/load/usage")).json()["cpu_ms"]


# --- The processes ---


@contextmanager
def _process(role: str, **env: str) -> Generator[str]:
    """Another process of this script; gives its address."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("ASKBOOK_", "OPENAI_"))}
    with subprocess.Popen(
        [sys.executable, __file__, role],
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("ASKBOOK_LOAD_DEBUG") else subprocess.DEVNULL,
        text=True,
        env={**clean, **env},
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                raise RuntimeError(f"the {role} process did not start")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def _serve_model() -> None:
    """A model that repeats the passage it is given, and cites it."""
    from openai_chat_server import ChatServer, Say

    def echo(body: dict[str, Any]) -> Say:
        asked = str([m["content"] for m in body["messages"] if m["role"] == "user"][-1])
        robot = re.findall(r"robot (Zor\w+)", asked)[-1]
        output = next(m for m in body["messages"] if m["role"] == "tool")["content"]
        for n, result in enumerate(json.loads(output)["results"], 1):
            if found := re.search(rf"The robot {robot} carries .*", result["chunk_text"]):
                return Say(f"{found.group()} [{n}]")
        return Say(status=404)

    server = ChatServer()
    server.respond = echo
    with server:
        print(server.url.removesuffix("/v1"), flush=True)
        while True:
            server.seen.clear()
            time.sleep(1)


def _serve_book() -> None:
    """The server that is measured, with a bare endpoint beside it and two routes that tell its usage."""
    import socket
    from functools import partial

    import uvicorn

    from askbook.api import app as application
    from askbook.bootstrap import Askbook
    from askbook.bootstrap.logs import configure_logs
    from askbook.config import load_settings
    from doubles import WordEmbedder

    configure_logs("warning")
    settings = load_settings()
    application.Askbook = partial(Askbook, embedder=WordEmbedder())  # pyright: ignore[reportAttributeAccessIssue]  # retrieval is not measured
    asyncio.run(_ingest(settings, Path(os.environ["ASKBOOK_LOAD_BOOK"])))
    app = application.create_app(settings)
    bare = _bare_app(app)

    async def either(scope: Any, receive: Any, send: Any) -> None:
        ours = scope["type"] != "http" or not scope["path"].startswith(("/bare", "/load/"))
        await (app if ours else bare)(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(either, lifespan="on", log_config=None, access_log=False)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run([listening])


async def _ingest(settings: Any, folder: Path) -> None:
    from askbook.bootstrap import Askbook
    from doubles import WordEmbedder

    async with Askbook(settings, embedder=WordEmbedder()) as askbook:
        async for _ in askbook.ingest(folder):
            pass


def _bare_app(app: Any) -> Any:
    """What any service with FastAPI and server-sent events pays, and the measuring routes."""
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse
    from pydantic import BaseModel

    bare = FastAPI(openapi_url=None)

    class Body(BaseModel):
        message: str

    class Turns(BaseModel):
        repeated: bool

    event = b'event: sentence\ndata: {"text": "' + b"x" * 150 + b'"}\n\n'

    async def endpoint(body: Body) -> StreamingResponse:  # noqa: ARG001  # read, as any service does
        async def events() -> AsyncIterator[bytes]:
            for _ in range(6):
                yield event

        return StreamingResponse(events(), media_type="text/event-stream")

    async def usage() -> dict[str, float]:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {
            "cpu_ms": time.process_time() * 1000,
            "memory_mb": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        }

    async def turns(body: Turns) -> None:
        """From now on, let every turn be the events of one that was: what is left is what stands around it."""
        askbook = app.state.askbook
        askbook.__dict__.pop("stream", None)
        if not body.repeated:
            return
        told = [event async for event in askbook.stream(QUESTION.format(ROBOTS[0]))]

        async def repeat(*_: Any, **__: Any) -> Any:
            for event in told:
                yield event

        askbook.stream = repeat

    bare.post("/bare")(endpoint)
    bare.get("/load/usage")(usage)
    bare.post("/load/turns")(turns)
    return bare


def _write_book(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for n, robot in enumerate(ROBOTS, 1):
        text = f"The robot {robot} carries {n + 3} kg over rough ground.\n\n"
        text += f"{robot} walks well on stairs, on sand and on ice. " * 8
        (folder / f"{n:02}-robot.md").write_text(f"# {robot}\n\n{text}\n", encoding="utf-8")
    return folder


def _told(figures: dict[str, Any]) -> str:
    chats, cost, memory = (figures[n] for n in ("chats_at_once", "cpu_per_request", "memory"))
    return (
        f"{chats['chats']} chats at once: {chats['errors']} errors, {chats['seconds']} s, "
        f"slowest first sentence {chats['slowest_first_sentence']} s\n"
        f"CPU per request, {cost['requests']} requests: {cost['whole_ms']} ms, of which around the "
        f"turn (HTTP, events, conversation) {cost['around_the_turn_ms']} ms; a bare endpoint "
        f"{cost['bare_endpoint_ms']} ms; beyond it {cost['beyond_bare_ms']} ms\n"
        f"memory over {memory['requests']} requests: {memory['after_a_tenth_mb']} MB after a tenth, "
        f"{memory['at_half_mb']} at half, {memory['at_the_end_mb']} at the end "
        f"({memory['second_half_growth_percent']:+} % in the second half)"
    )


if __name__ == "__main__":
    main()
