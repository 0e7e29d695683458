"""Server-sent events: one way to stream, for every route that does."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress

import anyio
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.requests import Request

KEEP_ALIVE = 15.0
"""Seconds of silence after which a comment tells proxies that the stream is alive."""
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def wants_events(request: Request) -> bool:
    """Whether the client asked for a stream."""
    return "text/event-stream" in request.headers.get("accept", "").lower()


def sse_event(event: str, data: object) -> bytes:
    """One event with a JSON body."""
    return format_sse_event(event=event, data_str=json.dumps(data, ensure_ascii=False))


def event_stream(
    events: AsyncIterator[bytes], keep_alive: float = KEEP_ALIVE
) -> EventSourceResponse:
    """A response that sends events as they come. When the client goes away, `events` is closed."""
    return EventSourceResponse(_kept_alive(events, keep_alive), headers=_HEADERS)


async def _kept_alive(events: AsyncIterator[bytes], keep_alive: float) -> AsyncIterator[bytes]:
    following: asyncio.Task[bytes | None] | None = None
    try:
        while True:
            following = asyncio.create_task(_next(events))
            while not (await asyncio.wait({following}, timeout=keep_alive))[0]:
                yield KEEPALIVE_COMMENT
            item = following.result()
            if item is None:
                return
            yield item
    finally:
        # A reader who left cancels us at every step; what is under way is told once, and then cleans up in peace.
        with anyio.CancelScope(shield=True):
            if following is not None:
                following.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await following
            if isinstance(events, AsyncGenerator):
                await events.aclose()


async def _next(events: AsyncIterator[bytes]) -> bytes | None:
    return await anext(events, None)
