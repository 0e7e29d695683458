"""`askbook ingest`: makes the index equal to a folder or a file, with a progress bar on stderr."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from watchfiles import Change

    from askbook.bootstrap import Askbook
    from askbook.config import Settings
    from askbook.ingestion.jobs import IngestionJob, Progress
    from askbook.ingestion.planning import Plan

Mode = Literal["incremental", "full", "recreate"]
SHOWN_WARNINGS = 20


def register(app: typer.Typer) -> None:
    app.command("ingest")(ingest)


def ingest(
    path: Annotated[Path, typer.Argument(help="The folder of the book, or its one file.")],
    book: Annotated[
        str | None,
        typer.Option("--book", help="The book's id [default: from its manifest or name]."),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="incremental: what changed; full: read everything again; "
            "recreate: embed everything again, in a new index if need be.",
        ),
    ] = "incremental",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Then ingest every change as it is saved, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Ingest a book, or what changed in it since the last time."""
    settings = settings_for(data_dir)
    if watch:
        _check_watching(path, dry_run=dry_run, as_json=as_json)
        run(_watch(settings, path, book, mode))
        return 0
    if dry_run:
        plan = run(_plan(settings, path, book, mode))
        if as_json:
            print_json(_plan_json(plan))
        else:
            _show_plan(plan)
        return 0
    job = run(_ingest(settings, path, book, mode))
    if as_json:
        print_json(job.to_json())
    else:
        show_job(job)
    return 0


async def _plan(settings: "Settings", path: Path, book: str | None, mode: Mode) -> "Plan":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        return await askbook.plan(path, book, mode)


async def _ingest(settings: "Settings", path: Path, book: str | None, mode: Mode) -> "IngestionJob":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        return await ingest_with_bar(askbook, path, book, mode)


def _check_watching(path: Path, *, dry_run: bool, as_json: bool) -> None:
    from askbook.errors import InvalidInput

    if dry_run or as_json:
        raise InvalidInput(
            f"--watch does not end by itself, and so does not go with {'--dry-run' if dry_run else '--json'}.",
            "Leave out one of them.",
        )
    if not path.exists():
        raise InvalidInput(
            f"{path} is not a folder or a file.", "Give the folder or the file that is the book."
        )


async def _watch(settings: "Settings", path: Path, book: str | None, mode: Mode) -> None:
    """Ingest, and again after every change. The data directory is free in between."""
    from watchfiles import DefaultFilter
    from watchfiles import awatch as changes_of  # pyright: ignore[reportUnknownVariableType]  # it names a package that is not here

    from askbook.errors import AskbookError

    # What an ingest writes may lie inside the folder.
    relevant = DefaultFilter(ignore_paths=[settings.storage.data_dir.resolve()])
    watched = path.resolve()

    def concerns(change: "Change", name: str) -> bool:
        # A file is often replaced, not written to: its folder sees that.
        return relevant(change, name) and (watched.is_dir() or Path(name) == watched)

    changes = changes_of(watched if watched.is_dir() else watched.parent, watch_filter=concerns)
    while True:
        # Begun before the ingest: what is saved meanwhile counts.
        waiting = asyncio.ensure_future(anext(changes))
        try:
            show_job(await _ingest(settings, path, book, mode))
        except AskbookError as error:
            note(f"askbook: {error}")
        mode = "incremental"
        note(f"Watching {path}; Ctrl-C ends it.")
        await waiting


async def ingest_with_bar(
    askbook: "Askbook", path: Path, book: str | None = None, mode: Mode = "incremental"
) -> "IngestionJob":
    """Ingest a folder or a file and show the progress on stderr."""
    with _bar() as bar:
        files = bar.add_task("Reading", total=None, chunks=0, rate="…")
        progress = None
        async for progress in askbook.ingest(path, book, mode):
            _advance(bar, files, progress)
    if progress is None:
        raise RuntimeError("An ingest ends with a job.")
    return progress.job


def _bar() -> "Bar":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files · {task.fields[chunks]} chunks · {task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # In a log or a pipe a bar is only empty lines.
        disable=not console.is_terminal,
    )


def _advance(bar: "Bar", task_id: object, progress: "Progress") -> None:
    counts = progress.job.counts
    task = next(t for t in bar.tasks if t.id == task_id)
    elapsed = task.elapsed or 0.0
    rate = f"{counts.embedded_chunks / elapsed:.0f} chunks/s" if elapsed > 1 else "…"
    bar.update(
        task.id,
        description="Ingesting",
        total=counts.files_discovered or None,
        completed=counts.files_processed + counts.files_skipped + counts.files_failed,
        chunks=counts.chunks_created,
        rate=rate,
    )


def show_job(job: "IngestionJob") -> None:
    """A finished job in one line, its warnings and failures before it."""
    counts = job.counts
    parts = [f"{counts.files_processed} read", f"{counts.files_skipped} unchanged"]
    if counts.files_deleted:
        parts.append(f"{counts.files_deleted} removed")
    if counts.files_failed:
        parts.append(f"{counts.files_failed} failed")
    for message in job.warnings[:SHOWN_WARNINGS]:
        note(f"warning: {message}")
    if len(job.warnings) > SHOWN_WARNINGS:
        note(f"… and {len(job.warnings) - SHOWN_WARNINGS} more warnings (see --json).")
    for source_file, reason in job.failures:
        note(f"failed: {source_file}: {reason}")
    typer.echo(
        f"{job.book_id}: {', '.join(parts)}; {counts.chunks_created} chunks added, "
        f"{counts.chunks_deleted} removed, {counts.embedded_chunks} embedded, "
        f"in {job.duration_seconds} s."
    )


def _plan_json(plan: "Plan") -> dict[str, object]:
    return {
        "discovered": len(plan.discovered),
        "new": plan.new,
        "modified": plan.modified,
        "moved": [{"from": old, "to": new} for old, new in plan.moved],
        "deleted": plan.deleted,
        "unchanged": len(plan.unchanged),
        "failed": [{"source_file": f, "reason": r} for f, r in plan.failed.items()],
        "warnings": plan.warnings,
    }


def _show_plan(plan: "Plan") -> None:
    for name, paths in (("new", plan.new), ("modified", plan.modified), ("deleted", plan.deleted)):
        for path in paths:
            typer.echo(f"{name:9} {path}")
    for old, new in plan.moved:
        typer.echo(f"moved     {old} → {new}")
    for path, reason in plan.failed.items():
        typer.echo(f"failed    {path}: {reason}")
    typer.echo(f"{len(plan.unchanged)} of {len(plan.discovered)} lessons are unchanged.")
