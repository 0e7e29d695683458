"""`askbook serve`: the HTTP service and the chat page."""

from typing import Annotated

import typer

from askbook.cli.output import DataDir, settings_for


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to listen on.")] = None,
    data_dir: DataDir = None,
) -> int:
    """Serve the chat page and the HTTP interface until Ctrl-C."""
    settings = settings_for(data_dir, host=host, port=port)
    from askbook.api.server import run_server

    run_server(settings)
    return 0
