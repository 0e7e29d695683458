"""Request ids, security headers and a body limit on every answer, also on those to bugs."""

import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askbook.api.completions import shaped
from askbook.api.errors import unexpected
from askbook.api.identity import path_of
from askbook.api.schemas import iso_now

MAX_BODY = 1_000_000
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
        "form-action 'self'; require-trusted-types-for 'script'; trusted-types askbook"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
_DOCS = ("/docs", "/redoc")


class Envelope:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), path_of(scope)
        given = headers.get("x-request-id", "")
        request_id = (
            given if given.isascii() and 0 < len(given) <= 64 and given.isprintable() else ""
        )
        request_id = request_id or uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.bind_contextvars(request_id=request_id)

        started = False
        body = _Body(receive)

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if body.is_too_large and not started:
                # Whatever the application makes of it: nobody reads on.
                raise _BodyTooLarge
            started = True
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer["X-Request-ID"] = request_id
                for name, value in scope["state"].get("told", {}).items():
                    answer.setdefault(name, value)
                for name, value in _SECURITY.items():
                    if name != "Content-Security-Policy" or scope["path"] not in _DOCS:
                        answer.setdefault(name, value)
            await send(message)

        try:
            if (length := headers.get("content-length", "")).isdigit() and int(length) > MAX_BODY:
                await shaped(path, _too_large(request_id))(scope, receive, send_with_headers)
                return
            await self._app(scope, body.receive, send_with_headers)
        except Exception as error:
            if started:
                raise
            if body.is_too_large:
                body.is_too_large = False
                await shaped(path, _too_large(request_id))(scope, receive, send_with_headers)
                return
            await shaped(path, unexpected(Request(scope), error))(scope, receive, send_with_headers)
        finally:
            structlog.contextvars.unbind_contextvars("request_id")


class _BodyTooLarge(Exception):
    """A chunked body went over the limit."""


class _Body:
    """A request's body, counted as it is read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0
        self.is_too_large = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._read += len(message.get("body", b""))
            if self._read > MAX_BODY:
                self.is_too_large = True
                raise _BodyTooLarge
        return message


def _too_large(request_id: str) -> JSONResponse:
    return JSONResponse(
        {
            "error": "too_large",
            "message": f"The request body is over {MAX_BODY} bytes.",
            "suggestion": "Send a shorter question.",
            "details": {},
            "timestamp": iso_now(),
            "request_id": request_id,
        },
        status_code=413,
    )
