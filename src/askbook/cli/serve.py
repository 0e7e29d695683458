"""`askbook serve`: the HTTP service and the chat page."""

import os
import socket
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli.output import DataDir, settings_for
from askbook.errors import ServiceUnavailable

if TYPE_CHECKING:
    from askbook.config import Settings

APPLICATION = "askbook.api.app:app_from_environment"


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    data_dir: DataDir = None,
) -> int:
    """Serve the chat page and the HTTP interface until Ctrl-C."""
    run_server(settings_for(data_dir, host=host, port=port))
    return 0


def run_server(settings: "Settings") -> None:
    """Serve until interrupted; what would stop the start is told before it."""
    import uvicorn

    from askbook.storage.directory import DataDirectory

    server = settings.server
    DataDirectory(settings.storage.data_dir).close()
    _check_port(server.host, server.port)
    # The application is named, not imported: the two front ends do not know each other.
    os.environ["ASKBOOK_DATA_DIR"] = str(settings.storage.data_dir)
    os.environ["ASKBOOK_HOST"], os.environ["ASKBOOK_PORT"] = server.host, str(server.port)
    uvicorn.run(
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


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ServiceUnavailable(
                f"Cannot listen on {host}:{port}: {error.strerror}.",
                "Choose another port with --port, or stop what uses this one.",
            ) from error
