"""What routes are given: the running `Askbook`, who calls, and whose conversations those are.

A router says what its callers' keys must be made for, and takes `Caller` where it matters who calls:

    router = APIRouter(dependencies=[Requires("chat")])

    @router.post("/ask")
    async def ask(body: Body, askbook: Running, caller: Caller, owner: Owner) -> ...:
        askbook.converse(body.text, session_id, bound(body.scope, caller), owner=owner)

Which books there are for a caller, and up to which tier, is decided by `bound`, and by `Place` where the address
names both; a route that names a book itself uses `askbook.book(book_id, caller.books)`. Applications that are mounted, and so have no
dependencies, find the caller with `caller_of` and call its `require`.
"""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BeforeValidator

from askbook.access import Grant, KeyScope
from askbook.api.identity import READER
from askbook.book import HardwareTier
from askbook.bootstrap import Askbook, Scope
from askbook.conversations import LOCAL
from askbook.errors import InvalidInput, Unauthorized

_bearer = HTTPBearer(
    auto_error=False, description="A key made with `askbook keys create`; see docs/security.md."
)


# What FastAPI calls itself is async: it would send plain functions to another thread.


async def running_askbook(request: Request) -> Askbook:
    return request.app.state.askbook


async def _caller(request: Request) -> Grant:
    return caller_of(request)


def caller_of(request: Request) -> Grant:
    """Who makes this request, as the gate found out."""
    caller: Grant | None = getattr(request.state, "caller", None)
    if caller is None:
        raise Unauthorized("Nobody is known to ask here.", "Send `Authorization: Bearer <key>`.")
    return caller


Running = Annotated[Askbook, Depends(running_askbook)]
Caller = Annotated[Grant, Depends(_caller)]


async def session_owner(
    caller: Caller,
    _reader: Annotated[
        str | None,
        Header(
            alias=READER,
            description="With a publishable key: the reader's own token, 16 to 128 letters, digits, - or _.",
        ),
    ] = None,
) -> str:
    """Whose conversations a caller sees; without keys all callers are one."""
    return owner_of(caller)


def owner_of(caller: Grant) -> str:
    """The same for mounted applications."""
    if caller.public and caller.reader is None:
        raise InvalidInput(
            f"A publishable key needs the header {READER}.",
            "Let each reader's browser make a random token of 16 to 128 letters, digits, - or _ and "
            "keep it: conversations belong to it.",
        )
    return caller.owner or LOCAL


Owner = Annotated[str, Depends(session_owner)]


def Requires(scope: KeyScope) -> Any:  # noqa: N802  # reads as what it stands beside: Depends
    """Let through only callers whose keys were made for this: read, chat or admin."""

    async def check(
        caller: Caller,
        _shown: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
    ) -> None:
        caller.require(scope)

    return Depends(check)


def bound(scope: Scope, caller: Grant) -> Scope:
    """A request's scope within what its caller may see: the caller's books, never above its tier."""
    return replace(
        scope,
        books=caller.books,
        hardware_tier=caller.limit_tier(scope.hardware_tier),
        readable_tier=caller.tier,
    )


def _number(value: object) -> object:
    """Numbers in an address are text; the closed set knows numbers only."""
    return int(value) if isinstance(value, str) and value.isdecimal() and value.isascii() else value


async def _place(
    caller: Caller,
    book_id: str | None = None,
    hardware_tier: Annotated[
        HardwareTier | None,
        Query(description="The reader's tier: that and lower."),
        BeforeValidator(_number),
    ] = None,
) -> Scope:
    return bound(Scope(book_id=book_id, hardware_tier=hardware_tier), caller)


Place = Annotated[Scope, Depends(_place)]
"""The book and the tier that an address names, as far as its caller may see them."""
