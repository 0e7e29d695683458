"""`askbook audit`: whether files, database and index agree, chunk by chunk."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for
from askbook.cli.scope import BookId

if TYPE_CHECKING:
    from askbook.config import Settings
    from askbook.ingestion.audit import Audit

KINDS = ("missing", "orphaned", "stale", "broken_links")
SHOWN = 50


def register(app: typer.Typer) -> None:
    app.command("audit")(audit)


def audit(
    book: BookId = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make the library equal to the files again.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Compare files, database and index by ids, payloads and vectors.

    Exit 5 when they differ, or when a file cannot be read.
    """
    audits = run(_audit(settings_for(data_dir), book, repair))
    if as_json:
        print_json(_to_json(audits))
    else:
        for each in audits:
            _show(each)
        if not audits:
            typer.echo("There is no book here yet. Ingest one with `askbook ingest PATH`.")
    return 0 if all(each.sound for each in audits) else 5


async def _audit(settings: "Settings", book: str | None, repair: bool) -> "list[Audit]":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        return await askbook.audit(book, repair=repair)


def _to_json(audits: "list[Audit]") -> dict[str, Any]:
    return {
        **{
            kind: [d.to_json() for each in audits for d in getattr(each.found, kind)]
            for kind in KINDS
        },
        "repaired": [d.to_json() for each in audits for d in each.repaired],
        "unreadable": [
            {"book_id": each.book_id, "source_file": path, "reason": reason}
            for each in audits
            for path, reason in each.unreadable.items()
        ],
        "sound": all(each.sound for each in audits),
        "books": [
            {
                "book_id": each.book_id,
                "folder": each.folder,
                "files_compared": each.files_compared,
                "lessons": each.lessons,
                "chunks": each.chunks,
                "notes": each.notes,
            }
            for each in audits
        ],
    }


def _show(audit: "Audit") -> None:
    for message in audit.notes:
        note(f"note: {message}")
    lines = [
        f"{kind:13} {each.where:9} {each.source_file} {each.chunk_id or '–'} ({each.what})"
        for kind in KINDS
        for each in getattr(audit.found, kind)
    ]
    unread = [f"{'unreadable':13} {'file':9} {p} – ({r})" for p, r in audit.unreadable.items()]
    for line in [*unread, *lines][:SHOWN]:
        typer.echo(line)
    if len(unread) + len(lines) > SHOWN:
        typer.echo(f"… and {len(unread) + len(lines) - SHOWN} more (see --json).")
    measure = "files, database and index" if audit.files_compared else "database and index"
    checked = f"{audit.book_id}: {audit.lessons} lessons, {audit.chunks} chunks"
    if unread:
        checked += f"; files that cannot be read: {len(unread)} (mend them and ingest again)"
    if not lines:
        typer.echo(f"{checked}; {'as far as read, ' if unread else ''}{measure} agree.")
    elif audit.repaired:
        typer.echo(f"{checked}; {len(lines)} differences, {len(audit.repaired)} repaired.")
    else:
        typer.echo(f"{checked}; {len(lines)} differences. `askbook audit --repair` mends them.")
