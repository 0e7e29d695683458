"""One line, one count and one span for every request: its method, route, status and duration, never what was asked."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askbook.api.metrics import Metrics

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

log = structlog.get_logger(__name__)
UNMATCHED = "unmatched"


class Observed:
    """Wraps the routes; what the client was sent is what counts."""

    def __init__(self, app: ASGIApp, metrics: Metrics, tracer: "Tracer | None" = None) -> None:
        self._app = app
        self._metrics = metrics
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, root, status = time.perf_counter(), scope.get("root_path", ""), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.request_began()
        span = None if self._tracer is None else _began(self._tracer, scope)
        try:
            with _current(span):
                await self._app(scope, receive, noted)
        finally:
            seconds, route = time.perf_counter() - started, _route(scope, root)
            self._metrics.request_ended(scope["method"], route, status, seconds)
            log.info(
                "request",
                method=scope["method"],
                route=route,
                status=status,
                duration_ms=round(seconds * 1000, 1),
            )
            structlog.contextvars.unbind_contextvars("session_id", "trace_id")
            if span is not None:
                _end(span, scope["method"], route, status)


def _route(scope: Scope, root: str) -> str:
    """The template of the route, so that no id becomes a label."""
    route = scope.get("route")
    if route is not None:
        return str(route.path)
    mounted: str = scope.get("root_path", "")
    return mounted.removeprefix(root) or UNMATCHED


def _began(tracer: "Tracer", scope: Scope) -> "Span":
    """A span that goes on from the client's, if it told one."""
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    headers = Headers(scope=scope)
    told = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
    span = tracer.start_span(scope["method"], context=extract(told), kind=SpanKind.SERVER)
    trace_id = f"{span.get_span_context().trace_id:032x}"
    structlog.contextvars.bind_contextvars(trace_id=trace_id)
    return span


def _current(span: "Span | None") -> AbstractContextManager[Any]:
    if span is None:
        return nullcontext()
    from opentelemetry.trace import use_span

    return use_span(span)


def _end(span: "Span", method: str, route: str, status: int) -> None:
    span.update_name(f"{method} {route}")
    span.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": status}
    )
    span.end()
