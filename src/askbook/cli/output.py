"""How commands speak: results on stdout, everything else on stderr, errors in one line."""

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from askbook.config import Settings

R = TypeVar("R")

AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, nothing else there.")
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Where books are kept [default: .askbook, or ASKBOOK_DATA_DIR]."
    ),
]


def settings_for(data_dir: Path | None, **overrides: object) -> "Settings":
    """The effective settings of one command."""
    from askbook.config import load_settings

    return load_settings(data_dir=data_dir, **overrides)


def begin_loading_models(settings: "Settings") -> None:
    """For a command that will ask: the built-in models load while the other parts are imported."""
    from askbook.models.runtime import begin_loading

    if settings.embedder.embedder == "builtin":
        begin_loading("embed", sessions=1)
    if settings.retrieval.judge:
        begin_loading("judge", sessions=os.cpu_count() or 1)


def run(work: Coroutine[Any, Any, R]) -> R:
    """Run a command's asynchronous part."""
    from askbook.bootstrap.logs import configure_logs

    configure_logs()
    return asyncio.run(work)


def print_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


def note(message: str) -> None:
    """A remark for the person at the terminal, never part of the result."""
    typer.echo(message, err=True)


def fail(
    message: str,
    suggestion: str,
    code: str,
    as_json: bool,
    details: dict[str, object] | None = None,
) -> None:
    """One line on stderr, and with --json the same as a document on stdout."""
    typer.echo(f"askbook: {message} {suggestion}".strip(), err=True)
    if as_json:
        print_json(
            {"error": code, "message": message, "suggestion": suggestion, "details": details or {}}
        )
