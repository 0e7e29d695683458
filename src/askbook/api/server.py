"""Runs the application with uvicorn."""

import socket

import uvicorn

from askbook.api.app import create_app
from askbook.config import Settings
from askbook.errors import ServiceUnavailable
from askbook.storage.directory import DataDirectory

GRACE = 5
"""Seconds that requests under way get to finish when the server is stopped."""


def run_server(settings: Settings) -> None:
    """Serve until interrupted; what would stop the start is told before it."""
    server = settings.server
    DataDirectory(settings.storage.data_dir).close()
    _check_port(server.host, server.port)
    uvicorn.run(
        create_app(settings),
        host=server.host,
        port=server.port,
        log_level=server.log_level,
        access_log=False,
        # Streams may be open for as long as a job runs; they end with the server.
        timeout_graceful_shutdown=GRACE,
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
