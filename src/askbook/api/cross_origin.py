"""Which pages elsewhere may ask: those the settings list, and those publishable keys were made for."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from askbook.access.keys import normal_origin
from askbook.api.errors import answer_to
from askbook.api.identity import READER
from askbook.errors import AskbookError, Forbidden

METHODS = ("GET", "POST", "DELETE")
ASKED = (
    *("Accept", "Authorization", "Content-Type", READER, "X-Request-ID", "Last-Event-ID"),
    *("Mcp-Session-Id", "Mcp-Protocol-Version"),
)
TOLD = (
    *("X-Request-ID", "Retry-After", "Location", "Mcp-Session-Id"),
    *("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
)
REMEMBERED = 600
"""Seconds for which a browser need not ask again."""


class CrossOrigin:
    """Answers browsers that ask on behalf of a page elsewhere. Cookies play no part: keys are sent by hand."""

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        self._app = app
        self._origins = frozenset(map(normal_origin, origins))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or _is_own(scope, origin):
            await self._app(scope, receive, send)
        elif await self._allows(scope, origin):
            answering = CORSMiddleware(
                self._app,
                allow_origins=(origin,),
                allow_methods=METHODS,
                allow_headers=ASKED,
                expose_headers=TOLD,
                max_age=REMEMBERED,
            )
            await answering(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            refusal = Forbidden(
                f"Pages of {origin!r:.200} may not ask here.",
                "List the origin in ASKBOOK_CORS_ORIGINS, or make a publishable key for it.",
            )
            await answer_to(Request(scope), refusal)(scope, receive, send)
        else:
            # Without a word about it in the answer, the browser keeps the answer from the page.
            await self._app(scope, receive, send)

    async def _allows(self, scope: Scope, origin: str) -> bool:
        try:
            name = normal_origin(origin)
            return name in self._origins or name in await scope["app"].state.askbook.keys.origins()
        except AskbookError:
            return False


def _is_own(scope: Scope, origin: str) -> bool:
    return origin == f"{scope['scheme']}://{Headers(scope=scope).get('host', '')}"
