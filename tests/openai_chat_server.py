"""A server that speaks OpenAI's `POST /v1/chat/completions`, streaming and tool calls included, and every way to fail."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from http_server import HttpServer


@dataclass
class Say:
    """One answer: `text` in pieces of `size` characters, or a search, with the faults the test wants."""

    text: str = ""
    search: str | None = None
    size: int = 12
    pace: float = 0.0
    delay: float = 0.0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    raw: bytes | None = None
    usage: bool = True


class ChatServer:
    """A running server: `script` answers in order, `respond` from the request when the script is empty."""

    def __init__(self, *script: Say) -> None:
        self.script = list(script)
        self.respond: Callable[[dict[str, Any]], Say] | None = None
        self.seen: list[dict[str, Any]] = []
        self.credentials: list[str | None] = []
        self.left = 0
        """Streams whose reader went away before their end."""
        self.at_once = 0
        self.most_at_once = 0
        app = FastAPI(openapi_url=None)
        app.post("/v1/chat/completions")(self._serve)
        self.http = HttpServer(app)

    @property
    def url(self) -> str:
        return f"{self.http.url}/v1"

    def __enter__(self) -> "ChatServer":
        self.http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.stop()

    async def _serve(self, request: Request) -> Response:
        body = await request.json()
        self.seen.append(body)
        self.credentials.append(request.headers.get("authorization"))
        if self.script:
            say = self.script.pop(0)
        elif self.respond is not None:
            say = self.respond(body)
        else:
            say = Say(status=500)
        await asyncio.sleep(say.delay)
        if say.raw is not None:
            return Response(say.raw, say.status, say.headers, media_type="application/json")
        if say.status != 200:
            error = {"error": {"message": "on demand", "type": "error", "code": None}}
            return JSONResponse(error, say.status, say.headers)
        if body.get("stream"):
            return StreamingResponse(self._chunks(say), media_type="text/event-stream")
        return JSONResponse(_completion(say))

    async def _chunks(self, say: Say) -> AsyncIterator[bytes]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        finished = False
        try:
            for sent, delta in enumerate(_deltas(say)):
                if say.cut_after is not None and sent >= say.cut_after:
                    finished = True
                    raise ConnectionAbortedError
                yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
                await asyncio.sleep(say.pace)
            reason = "tool_calls" if say.search else "stop"
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
            if say.usage:
                yield _event({"choices": [], "usage": _USAGE})
            yield b"data: [DONE]\n\n"
            finished = True
        finally:
            self.at_once -= 1
            self.left += not finished


_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def _deltas(say: Say) -> list[dict[str, Any]]:
    if say.search is not None:
        return [{"role": "assistant", "tool_calls": [{"index": 0, **_call(say.search)}]}]
    pieces = [say.text[i : i + say.size] for i in range(0, len(say.text), say.size)]
    return [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]


def _call(query: str) -> dict[str, Any]:
    arguments = json.dumps({"query": query})
    function = {"name": "retrieve_documentation", "arguments": arguments}
    return {"id": "call_1", "type": "function", "function": function}


def _event(body: dict[str, Any]) -> bytes:
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "local", **body}
    return f"data: {json.dumps(whole)}\n\n".encode()


def _completion(say: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": say.text}
    if say.search is not None:
        message = {"role": "assistant", "content": None, "tool_calls": [_call(say.search)]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "local",
        "choices": [choice],
        "usage": _USAGE,
    }
