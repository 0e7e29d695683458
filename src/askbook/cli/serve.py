"""`askbook serve`: the HTTP service and the chat page."""

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli.output import DataDir, settings_for
from askbook.errors import ServiceUnavailable

if TYPE_CHECKING:
    from askbook.config import Settings

APPLICATION = "askbook.api.app:app_from_environment"
BACKLOG = 2048
NOT_STARTED = 3
"""The exit code for a service that is down; the application has told which."""


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=1, help="Processes that answer; several need PostgreSQL and Qdrant."
        ),
    ] = 1,
    data_dir: DataDir = None,
) -> int:
    """Serve the chat page and the HTTP interface until Ctrl-C."""
    settings = settings_for(data_dir, host=host, port=port)
    if workers == 1:
        run_server(settings)
        return 0
    from askbook.cli.processes import serve_together

    with _listening(settings.server.host, settings.server.port) as shared:
        _tell_environment(settings)
        return serve_together(settings, shared, workers)


def run_server(settings: "Settings") -> None:
    """Serve until interrupted; what would stop the start is told before it."""
    import uvicorn

    from askbook.cli.processes import shared_socket
    from askbook.storage.directory import DataDirectory

    server = settings.server
    DataDirectory(settings.storage.data_dir).close()
    shared = shared_socket()
    if shared is None:
        _listening(server.host, server.port).close()
    _tell_environment(settings)
    # The application is named, not imported: the two front ends do not know each other.
    config = uvicorn.Config(
        APPLICATION,
        factory=True,
        host=server.host,
        port=server.port,
        log_level=server.log_level,
        access_log=False,
        # Whose word about a client's address counts is the application's to decide.
        proxy_headers=False,
        # The application sets up logging for the whole process.
        log_config=None,
        # Answers under way are finished; what follows a job may be open for longer, and ends here.
        timeout_graceful_shutdown=server.shutdown_grace,
    )
    running = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        running.run(sockets=None if shared is None else [shared])
    if not running.started:
        raise SystemExit(NOT_STARTED)


def _tell_environment(settings: "Settings") -> None:
    """What options have set, for an application that reads the environment."""
    server = settings.server
    os.environ["ASKBOOK_DATA_DIR"] = str(settings.storage.data_dir)
    os.environ["ASKBOOK_HOST"], os.environ["ASKBOOK_PORT"] = server.host, str(server.port)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections, or the reason why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ServiceUnavailable(
            f"Cannot listen on {host}:{port}: {error.strerror}.",
            "Choose another port with --port, or stop what uses this one.",
        ) from error
    return listening
