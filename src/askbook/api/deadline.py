"""An answer begins in time, or the caller is told that it did not."""

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askbook.api.completions import shaped
from askbook.api.errors import answer_to
from askbook.api.identity import path_of
from askbook.errors import ServiceUnavailable


class Deadline:
    """Ends what has not begun to answer after so many seconds. A stream that has begun may take its time."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        late = asyncio.timeout(self._seconds)

        async def send_in_time(message: Message) -> None:
            late.reschedule(None)
            await send(message)

        try:
            async with late:
                await self._app(scope, receive, send_in_time)
        except TimeoutError:
            if not late.expired():
                raise
            error = ServiceUnavailable(
                f"No answer was ready within {self._seconds:g} seconds.",
                "Try again; if it stays, raise ASKBOOK_REQUEST_TIMEOUT.",
            )
            answer = shaped(path_of(scope), answer_to(Request(scope), error))
            await answer(scope, receive, send)
