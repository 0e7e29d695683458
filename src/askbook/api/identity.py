"""Who makes a request: the holder of a key, of a link that a key signed, or whoever sits at this machine."""

import ipaddress
import re
from urllib.parse import urlsplit

from fastapi import Request
from starlette.types import Scope

from askbook.access import LOCAL_GRANT, Grant, Keys
from askbook.access.keys import normal_origin
from askbook.access.tickets import Ticket
from askbook.agent.response import READING
from askbook.errors import Forbidden, InvalidInput, Unauthorized
from askbook.storage.keys import ApiKey

READER = "X-Askbook-Reader"
_READER_SHAPE = re.compile(r"[A-Za-z0-9_-]{16,128}")
_FORWARDING = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


async def identify(request: Request, keys: Keys) -> Grant:
    """What the caller of a request is granted; who shows nothing that holds is refused."""
    secret = _bearer(request)
    if secret is None and (link := _ticket(request)) is not None:
        return await _by_ticket(request, keys, link)
    key = await keys.authenticate(secret) if secret is not None else None
    if key is not None:
        return _holder(request, key)
    # Clients of other services insist on sending some key: on this machine that does no harm.
    if is_local(request) and not await keys.any():
        return LOCAL_GRANT
    if secret is not None:
        raise Unauthorized(
            "This key is not known here, or it was revoked.",
            "Make one with `askbook keys create NAME` and send it as `Authorization: Bearer <key>`.",
        )
    raise Unauthorized(
        "This needs a key.",
        "Send `Authorization: Bearer <key>`; `askbook keys create NAME` makes one. Without a key only "
        "the machine that runs askbook may ask, and only until the first key is made.",
    )


def is_local(request: Request) -> bool:
    """Whether somebody at this machine asks: a loopback client that names a loopback host.

    A forwarding header means that somebody stands behind a proxy; a foreign Host or Origin, that a web
    page elsewhere makes this machine's browser ask.
    """
    client = request.client.host if request.client else ""
    origin = request.headers.get("origin")
    return (
        _is_loopback(client)
        and _is_loopback(_host(f"//{request.headers.get('host', '')}"))
        and (origin is None or _is_loopback(_host(origin)))
        and not any(name in request.headers for name in _FORWARDING)
    )


def client_network(request: Request) -> str:
    """The address a request comes from; of IPv6 the network, since one host has as many as it likes."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


def path_of(scope: Scope) -> str:
    """The path as routes see it, without the prefix that a proxy may have been told to add."""
    path, prefix = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path


def root_from(path: str) -> str:
    """The way from a page to the chat page, without naming a prefix that only a proxy knows."""
    return "../" * (path.count("/") - 1)


async def _by_ticket(request: Request, keys: Keys, link: str) -> Grant:
    """Who follows a link reads in the name of the key that signed it, this one page."""
    ticket = Ticket.parse(link)
    key = await keys.holding(ticket.key_id) if ticket is not None else None
    grant = None if key is None else Grant.of(key)
    if ticket is None or grant is None or not ticket.holds(grant, path_of(request.scope)):
        raise Unauthorized(
            "This link has expired, or was made for another page.",
            "Ask the question again: its answer has new links.",
        )
    return Grant.of_page(grant)


def _holder(request: Request, key: ApiKey) -> Grant:
    if not key.public:
        return Grant.of(key)
    origin = request.headers.get("origin")
    if origin is None or _normal(origin) not in key.origins:
        raise Forbidden(
            f"This publishable key is not for pages of {origin!r:.200}."
            if origin
            else "A publishable key works only from the pages it was made for.",
            "Make a key for this origin with `askbook keys create NAME --public --origin URL`.",
        )
    reader = request.headers.get(READER)
    if reader is not None and not _READER_SHAPE.fullmatch(reader):
        raise InvalidInput(
            f"{READER} must be 16 to 128 letters, digits, - or _.",
            "Let each reader's browser make a random one and keep it.",
        )
    return Grant.of(key, reader)


def _bearer(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _ticket(request: Request) -> str | None:
    reading = request.method in ("GET", "HEAD") and path_of(request.scope).startswith(READING)
    return request.query_params.get("ticket") if reading else None


def _normal(origin: str) -> str | None:
    try:
        return normal_origin(origin)
    except InvalidInput:
        return None


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
