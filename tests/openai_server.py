"""A server that speaks OpenAI's `POST /v1/embeddings`, refusals and faults included."""

import asyncio
import base64
import time
from dataclasses import dataclass, field
from typing import Any, Self

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from http_server import HttpServer
from wire_vectors import vector_of

KEY = "sk-test-0123456789"
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "local-model": 16}
MAX_TEXTS = 2048
MAX_TOKENS = 8191


@dataclass
class Reply:
    """What the next `times` requests get instead of an answer, or `delay` seconds before it."""

    status: int = 200
    body: bytes | None = None
    code: str = ""
    message: str = "on demand"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    times: int = 1


class OpenAIServer:
    """A running server; `replies` are used up from the front, `seen` holds the bodies that came in."""

    path = "/v1/embeddings"

    def __init__(self) -> None:
        self.key = KEY
        self.replies: list[Reply] = []
        self.seen: list[dict[str, Any]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.pace = 0.0
        self.shuffled = False
        self.knows_base64 = True
        self.strict_tokens = False
        app = FastAPI(openapi_url=None)
        app.post(self.path)(self._serve)
        self.http = HttpServer(app)

    @property
    def url(self) -> str:
        return f"{self.http.url}/v1"

    def __enter__(self) -> Self:
        self.http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.stop()

    def settle(self) -> None:
        """Wait until no request of an earlier test is under way, which could use up a reply of the next."""
        give_up = time.monotonic() + 10
        while self.at_once and time.monotonic() < give_up:
            time.sleep(0.01)
        self.seen.clear()
        self.replies.clear()

    async def _serve(self, request: Request) -> Response:
        body = await request.json()
        self.seen.append(body)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.pace)
            if self.replies:
                reply = self.replies[0]
                reply.times -= 1
                if reply.times <= 0:
                    self.replies.pop(0)
                await asyncio.sleep(reply.delay)
                if reply.body is not None:
                    return Response(reply.body, reply.status, reply.headers)
                if reply.status != 200:
                    return self.refusal(reply.status, reply.message, reply.code, reply.headers)
            if request.headers.get("authorization") != f"Bearer {self.key}":
                shown = request.headers.get("authorization", "")
                return self.refusal(401, f"Incorrect API key provided: {shown}", "invalid_api_key")
            return self.answer(body)
        finally:
            self.at_once -= 1

    def refusal(
        self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None
    ) -> Response:
        error = {"message": message, "type": "error", "param": None, "code": code or None}
        return JSONResponse({"error": error}, status, headers)

    def answer(self, body: dict[str, Any]) -> Response:
        unknown = set(body) - {"model", "input", "encoding_format", "dimensions", "user"}
        texts = body.get("input")
        if unknown or not isinstance(texts, list) or not texts or len(texts) > MAX_TEXTS:
            return self.refusal(400, f"Invalid input {sorted(unknown)}", "invalid_request_error")
        if any(text == "" for text in texts):
            return self.refusal(400, "input cannot be an empty string")
        if body["model"] not in DIMENSIONS:
            return self.refusal(
                404, f"The model `{body['model']}` does not exist", "model_not_found"
            )
        if self.strict_tokens and any(len(text.encode()) > MAX_TOKENS for text in texts):
            return self.refusal(
                400, f"This model's maximum context length is {MAX_TOKENS} tokens, however more"
            )
        dimension = body.get("dimensions") or DIMENSIONS[body["model"]]
        encoded = body.get("encoding_format") == "base64" and self.knows_base64
        data = [
            {
                "object": "embedding",
                "index": n,
                "embedding": base64.b64encode(vector.tobytes()).decode()
                if encoded
                else vector.tolist(),
            }
            for n, vector in enumerate(vector_of(text, dimension) for text in texts)
        ]
        if self.shuffled:
            data = data[::-1]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return JSONResponse(
            {"object": "list", "data": data, "model": body["model"], "usage": usage}
        )
