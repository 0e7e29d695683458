"""Stands before every route but the open ones: knows who asks, counts the request, or refuses it."""

import math
import time

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from askbook.access import Grant
from askbook.access.limits import Allowance, Charge, Limiter
from askbook.api.completions import shaped
from askbook.api.errors import answer_to
from askbook.api.identity import client_network, identify, path_of
from askbook.bootstrap import Askbook
from askbook.errors import AskbookError, RateLimited

OPEN = frozenset(
    (
        "/",
        "/health",
        "/ready",
        # A page is empty: what it shows is asked for with a key.
        "/author",
        "/widget.js",
        "/favicon.ico",
        "/docs",
        "/docs/oauth2-redirect",
        "/redoc",
        "/openapi.json",
        # Its sender signs what it sends; the route checks that.
        "/ingestion/webhook/github",
    )
)
OPEN_BELOW = "/assets/"


class Gate:
    """Whoever comes through is `request.state.caller`; `told` is what every answer to it says in its headers."""

    def __init__(self, app: ASGIApp, address_rate: int) -> None:
        self._app = app
        self._address_rate = address_rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # No route speaks it; one that did would need a door of its own.
            await WebSocketClose(code=1008)(scope, receive, send)
            return
        if scope["type"] != "http" or is_open(path_of(scope)):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        askbook: Askbook = request.app.state.askbook
        try:
            caller = await identify(request, askbook.keys)
            await self._charge(request, request.app.state.limiter, caller)
        except AskbookError as error:
            answer = shaped(path_of(scope), answer_to(request, error))
            await answer(scope, receive, send)
            return
        request.state.caller = caller
        await self._app(scope, receive, send)

    async def _charge(self, request: Request, limiter: Limiter, caller: Grant) -> None:
        if caller.rate is None:
            return
        charges = [Charge(f"key/{caller.key_id}", caller.rate)]
        if caller.public:
            # First: one reader who asks too often must not use up what the others share.
            account = f"address/{caller.key_id}/{client_network(request)}"
            charges.insert(0, Charge(account, min(caller.rate, self._address_rate)))
        allowance = await limiter.take(charges)
        request.state.told = _told(allowance)
        if not allowance.granted:
            raise RateLimited(
                f"More than {allowance.limit} requests came within 60 seconds.",
                f"Wait {allowance.retry_after} seconds.",
                {"limit": allowance.limit, "retry_after": allowance.retry_after},
                retry_after=allowance.retry_after,
            )


def _told(allowance: Allowance) -> dict[str, str]:
    """How often the caller may still ask, for every answer; what a key opened is nobody else's to keep."""
    return {
        "X-RateLimit-Limit": str(allowance.limit),
        "X-RateLimit-Remaining": str(allowance.remaining),
        "X-RateLimit-Reset": str(math.ceil(time.time() + allowance.seconds)),
        "Cache-Control": "private, no-store",
    }


def is_open(path: str) -> bool:
    """Whether a path is for everybody, without a key."""
    return path in OPEN or path.startswith(OPEN_BELOW)
