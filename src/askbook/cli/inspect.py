"""`askbook status`, `config` and `doctor`: what is there, how it is set, whether it is sound."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from askbook.cli.output import AsJson, DataDir, print_json, run, settings_for
from askbook.cli.scope import BookId

if TYPE_CHECKING:
    from askbook.config import Settings
    from askbook.ingestion.state import IngestionState


def register(app: typer.Typer) -> None:
    app.command("status")(status)
    app.command("config")(config)
    app.command("doctor")(doctor)


def status(book: BookId = None, as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """What is indexed: lessons, chunks, when, with which embedder, and by what it is judged."""
    states, calibrations = run(_states(settings_for(data_dir), book))
    if as_json:
        documents = [
            _state_json(state) | {"calibration": calibrations[state.book_id]} for state in states
        ]
        print_json(documents[0] if book else {"books": documents})
    else:
        for state in states:
            typer.secho(state.book_id, bold=True)
            typer.echo(f"  {len(state.records)} lessons, {state.total_chunks} chunks")
            typer.echo(f"  last full ingest {_moment(state.last_full_ingest)}")
            typer.echo(f"  last incremental update {_moment(state.last_incremental_update)}")
            typer.echo(f"  embedder {state.fingerprint}")
            typer.echo(f"  calibration {calibrations[state.book_id]}")
        if not states:
            typer.echo("There is no book here yet. Ingest one with `askbook ingest PATH`.")
    return 0


def config(as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """Every setting by its environment name, with its effective value; secrets are masked."""
    from askbook.config import describe_settings

    described = describe_settings(settings_for(data_dir))
    if as_json:
        print_json(described)
    else:
        for name, value in described.items():
            typer.echo(f"{name}={'' if value is None else value}")
    return 0


def doctor(as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """Check every part; each failure comes with its fix."""
    from askbook.bootstrap import diagnose

    checks = run(diagnose(settings_for(data_dir)))
    if as_json:
        print_json({"checks": [check.to_json() for check in checks]})
    else:
        for check in checks:
            typer.secho(
                f"{'ok  ' if check.ok else 'FAIL'}", fg="green" if check.ok else "red", nl=False
            )
            typer.echo(f" {check.part}: {check.finding}")
            if check.fix:
                typer.echo(f"     → {check.fix}")
    # A service that is down may be a consequence of what is set up wrong.
    return min((check.exit_code for check in checks if not check.ok), default=0)


async def _states(
    settings: "Settings", book: str | None
) -> "tuple[list[IngestionState], dict[str, str]]":
    from askbook.bootstrap import read_calibrations, read_states

    states = await read_states(settings, book)
    return states, await read_calibrations(settings) if states else {}


def _state_json(state: "IngestionState") -> dict[str, Any]:
    return {
        "book_id": state.book_id,
        "collection_name": state.collection_name,
        "embedder": state.fingerprint,
        "total_chunks": state.total_chunks,
        "last_full_ingest": _iso(state.last_full_ingest),
        "last_incremental_update": _iso(state.last_incremental_update),
        "records": {
            path: {
                "source_file": record.source_file,
                "file_hash": record.file_hash,
                "chunk_ids": list(record.chunk_ids),
                "chunk_count": record.chunk_count,
                "ingested_at": record.ingested_at.isoformat(),
                "book_id": record.book_id,
                "module": record.module,
                "chapter": record.chapter,
                "lesson": record.lesson,
            }
            for path, record in state.records.items()
        },
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(moment: datetime | None) -> str:
    return "never" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"
