"""What routes are given: the running `Askbook`, and whether the caller may administer it."""

import ipaddress
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from askbook.bootstrap import Askbook
from askbook.conversations import LOCAL
from askbook.errors import Forbidden

_FORWARDING = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


def running_askbook(request: Request) -> Askbook:
    return request.app.state.askbook


def session_owner() -> str:
    """Whose conversations a caller sees; without keys all callers are one."""
    return LOCAL


def local_admin(request: Request) -> None:
    """Let through only who sits at this machine: a loopback client that names a loopback host.

    A forwarding header means that somebody stands behind a proxy; a foreign Host or Origin, that a web
    page elsewhere makes this machine's browser ask.
    """
    client = request.client.host if request.client else ""
    host = request.headers.get("host", "")
    origin = request.headers.get("origin")
    if (
        not _is_loopback(client)
        or not _is_loopback(urlsplit(f"//{host}").hostname)
        or (origin is not None and not _is_loopback(urlsplit(origin).hostname))
        or any(name in request.headers for name in _FORWARDING)
    ):
        raise Forbidden(
            "This is for the administrator of the machine that runs askbook.",
            "Ask from that machine, without a proxy in between.",
        )


def _is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


Running = Annotated[Askbook, Depends(running_askbook)]
Owner = Annotated[str, Depends(session_owner)]
LocalAdmin = Depends(local_admin)
