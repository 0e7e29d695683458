"""`askbook migrate`: moves a data directory to PostgreSQL and Qdrant, with a progress bar on stderr."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for
from askbook.errors import InvalidInput

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from askbook.bootstrap.moving import MovePlan
    from askbook.config import Settings

WORDS = {  # Every table that moves, and what one of its rows is called.
    "books": "book",
    "lessons": "lesson",
    "chunks": "chunk",
    "points": "point",
    "vectors": "vector",
    "conversation_threads": "conversation",
    "archived_messages": "older message",
    "feedback": "vote",
    "gaps": "gap",
    "calibrations": "calibration",
    "api_keys": "key",
    "ingestion_jobs": "ingestion job",
    "dirty_points": "index note",
}


def register(app: typer.Typer) -> None:
    app.command("migrate")(migrate)


def migrate(
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="URL",
            help="The PostgreSQL database: postgresql://… [default: ASKBOOK_DATABASE_URL].",
        ),
    ] = None,
    qdrant: Annotated[
        str | None,
        typer.Option(
            "--qdrant",
            metavar="URL",
            help="The Qdrant server: http://host:6333 [default: QDRANT_URL; without, the index stays].",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would move, and write nothing.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Move everything of the data directory to servers, for several machines. Nothing is embedded again."""
    _check_addresses(to, qdrant)
    settings = settings_for(data_dir, database_url=to, qdrant_url=qdrant)
    plan = run(_migrate(settings, dry_run))
    if as_json:
        print_json(_to_json(settings, plan, dry_run))
    else:
        _show(settings, plan, dry_run)
    return 0


def _check_addresses(to: str | None, qdrant: str | None) -> None:
    from askbook.config import is_database_address, masked_address

    if to is not None and not is_database_address(to):
        raise InvalidInput(
            f"--to {masked_address(to)!r} is no address of a PostgreSQL database.",
            "Write it as postgresql://user:password@host:5432/name; signs such as @ and / in a "
            "password are written as %40 and %2F.",
        )
    if qdrant is not None and not re.match(r"https?://[^\s/?#]", qdrant):
        raise InvalidInput(
            f"--qdrant {masked_address(qdrant)!r} is no address.", "Write it as http://host:6333."
        )


async def _migrate(settings: "Settings", dry_run: bool) -> "MovePlan":
    from askbook.bootstrap.moving import open_move

    async with open_move(settings) as move:
        plan = await move.plan()
        if dry_run:
            return plan
        with _bar() as bar:
            tasks = {
                part: bar.add_task(f"{WORDS[part]}s", total=total)
                for part, total in plan.counts.items()
            }
            async for step in move.run(plan):
                bar.advance(tasks[step.part], step.done)
        return plan


def _bar() -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        # In a log or a pipe a bar is only empty lines.
        disable=not console.is_terminal,
    )


def _to_json(settings: "Settings", plan: "MovePlan", dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "resumed": plan.resumed,
        "verified": not dry_run,
        "books": list(plan.books),
        "moved": plan.counts,
        "index": plan.index,
        "environment": _environment(settings),
    }


def _show(settings: "Settings", plan: "MovePlan", dry_run: bool) -> None:
    counted = [
        f"{n} {word}{'' if n == 1 else 's'}"
        for part, word in WORDS.items()
        if (n := plan.counts.get(part))
    ]
    typer.echo(f"{'Would move' if dry_run else 'Moved'}: {', '.join(counted) or 'nothing'}.")
    if plan.resumed:
        note("An interrupted migration " + ("would be continued." if dry_run else "was continued."))
    if plan.index == "embedded":
        note(
            f"The index stays in {settings.storage.data_dir}, for one machine; --qdrant moves it too."
        )
    if plan.index == "server":
        note("The index is on the Qdrant server already, and stays as it is.")
    if dry_run:
        return
    typer.echo("All of it was compared. From now on set:")
    for name, value in _environment(settings).items():
        typer.echo(f"  {name}={value}")
    if plan.index != "embedded":
        note(f"{settings.storage.data_dir} was only read; keep it as a backup, or remove it.")


def _environment(settings: "Settings") -> dict[str, str]:
    """What has to be set from now on; passwords are left to whoever knows them."""
    from askbook.config import masked_address

    url = settings.storage.database_url
    found = {} if url is None else {"ASKBOOK_DATABASE_URL": url.get_secret_value()}
    if settings.index.qdrant_url is not None:
        found["QDRANT_URL"] = settings.index.qdrant_url
    return {name: masked_address(value) for name, value in found.items()}
