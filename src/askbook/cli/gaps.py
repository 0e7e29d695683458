"""`askbook gaps`: what readers ask and the book does not answer, for its author."""

import shutil
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for
from askbook.cli.scope import BookId

if TYPE_CHECKING:
    from askbook.gaps.listing import GapCluster, GapList

NARROWEST = 100


def register(app: typer.Typer) -> None:
    app.command("gaps")(gaps)


def gaps(
    book: BookId = None,
    days: Annotated[
        int | None,
        typer.Option("--days", min=1, max=36500, help="Only what was asked in the last days."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many lines at most.")] = 20,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """What readers ask and the book does not answer, the most asked first; works beside a running server."""
    from askbook.bootstrap import read_gaps

    settings = settings_for(data_dir)
    found = run(read_gaps(settings, book, days=days, limit=limit))
    if as_json:
        print_json(found.to_json())
    elif found.clusters:
        _show(found)
    else:
        typer.echo(f"{found.book_id}: no declined question is kept.")
    if not settings.storage.keep_gaps:
        note("Declined questions are not being kept: ASKBOOK_KEEP_GAPS is off.")
    return 0


def _show(found: "GapList") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("asked", justify="right", no_wrap=True)
    table.add_column("question", ratio=3)
    table.add_column("nearest lesson", ratio=2)
    table.add_column("near", justify="right", no_wrap=True)
    table.add_column("last asked", no_wrap=True)
    for cluster in found.clusters:
        table.add_row(
            str(cluster.count),
            Text(_wordings(cluster)),
            Text(_lesson(cluster)),
            f"{cluster.nearest.confidence:.2f}",
            cluster.last_asked.isoformat(),
        )
    # In a pipe there is no width to ask for; a table is of no use below some.
    width = max(NARROWEST, shutil.get_terminal_size().columns)
    Console(width=width, highlight=False).print(table)
    shown = len(found.clusters)
    rest = f", {shown} shown" if shown < found.total_clusters else ""
    typer.echo(
        f"{found.book_id}: {found.total_count} declined questions about "
        f"{found.total_clusters} subjects{rest}."
    )


def _wordings(cluster: "GapCluster") -> str:
    return "\n".join((cluster.question, *(f"– {other}" for other in cluster.other_wordings)))


def _lesson(cluster: "GapCluster") -> str:
    nearest = cluster.nearest
    return f"{nearest.page_title}\n{nearest.source_file}" if nearest.source_file else "–"
