"""`POST /mcp`: the book for agents, over MCP's streamable HTTP, without sessions."""

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from askbook.api.dependencies import Requires
from askbook.config import ServerSettings

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter(tags=["mcp"], dependencies=[Requires("chat")])
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request) -> Response:
    """Hand a request over to the protocol's own implementation."""
    door: McpDoor = request.app.state.mcp
    return _HandedOver(await door.opened())


class McpDoor:
    """The protocol's request handler of one application, made with its first request.

    What it starts lives in a task of its own: it must be ended by the task that began it.
    """

    def __init__(self, server: ServerSettings) -> None:
        self._server = server
        self._closing = asyncio.Event()
        self._opening: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None

    async def opened(self) -> "StreamableHTTPSessionManager":
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._opening))
        return await asyncio.shield(self._opening)

    async def close(self) -> None:
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _run(self, opening: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        try:
            manager = await asyncio.to_thread(_manager, self._server)
            async with manager.run():
                opening.set_result(manager)
                await self._closing.wait()
        except Exception as error:
            if opening.done():
                raise
            opening.set_exception(error)
            self._opening = None


class _HandedOver(Response):
    """A response that somebody else gives."""

    def __init__(self, manager: "StreamableHTTPSessionManager") -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


def _manager(server: ServerSettings) -> "StreamableHTTPSessionManager":
    from mcp.server.transport_security import TransportSecuritySettings

    from askbook.api.book_tools import book_server

    hosts = _allowed_hosts(server)
    tools = book_server()
    # Makes the manager, and an application around it, for which ours stands in.
    tools.streamable_http_app(
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=bool(hosts),
            allowed_hosts=hosts,
            allowed_origins=[
                f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts
            ],
        ),
    )
    return tools.session_manager


def _allowed_hosts(server: ServerSettings) -> list[str]:
    """The names a server on loopback answers to; elsewhere any, for who serves others needs a name of its own.

    A web page that has its own name point at this machine is refused by this: its browser sends that name.
    """
    if not server.is_local:
        return []
    names = (*_LOOPBACK, *server.allowed_hosts)
    return [spelled for name in names for spelled in (name, f"{name}:*")]
