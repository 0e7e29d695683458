"""The real application in a thread, as a browser meets it: on a port, behind a prefix, from another origin."""

import socket
import threading
import time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from askbook.api.app import create_app
from askbook.config import Settings
from http_server import HttpServer

PREFIX = "/library"


class Product:
    """`askbook serve` without its process; also reachable below `PREFIX`, as behind a proxy that strips it."""

    def __init__(self, settings: Settings) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            _without_prefix(create_app(settings)),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=2,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listening],), daemon=True
        )
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> "Product":
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("The application did not start.")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=30)


def _without_prefix(app: ASGIApp) -> ASGIApp:
    async def stripped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(f"{PREFIX}/"):
            scope["path"] = scope["path"].removeprefix(PREFIX)
        await app(scope, receive, send)

    return stripped


class HostPages:
    """Pages of somebody else's site, each with the policy it is given."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, str]] = {}
        app: Any = Starlette(routes=[Route("/{name:path}", self._page)])
        self._http = HttpServer(app)
        self.url = self._http.url.replace("127.0.0.1", "localhost")

    def put(self, name: str, markup: str, policy: str = "") -> str:
        """Keep a page; returns its address."""
        self._pages[name] = (markup, policy)
        return f"{self.url}/{name}"

    async def _page(self, request: Any) -> HTMLResponse:
        markup, policy = self._pages.get(request.path_params["name"], ("<p>Nothing here.", ""))
        headers = {"Content-Security-Policy": policy} if policy else {}
        return HTMLResponse(markup, headers=headers)

    def __enter__(self) -> "HostPages":
        self._http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.stop()
