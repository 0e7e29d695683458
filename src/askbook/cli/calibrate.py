"""`askbook calibrate`: finds out what the embedder's cosines mean in a book, after it was ingested."""

from typing import TYPE_CHECKING

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for
from askbook.cli.scope import BookId

if TYPE_CHECKING:
    from askbook.config import Settings
    from askbook.evaluation.calibrating import Calibrated


def register(app: typer.Typer) -> None:
    app.command("calibrate")(calibrate)


def calibrate(book: BookId = None, as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """Adapt refusals to a book and its embedder, from questions made of the book; takes a minute or so."""
    done = run(_calibrated(settings_for(data_dir), book))
    if as_json:
        print_json(done.to_json())
    else:
        _show(done)
    if done.shortfall is not None:
        note(f"{done.shortfall} The shipped calibration stays in use.")
    return 0


async def _calibrated(settings: "Settings", book: str | None) -> "Calibrated":
    from askbook.bootstrap import Askbook
    from askbook.evaluation.calibrating import calibrate

    async with Askbook(settings) as askbook:
        return await calibrate(askbook, book)


def _show(done: "Calibrated") -> None:
    typer.secho(done.book_id, bold=True)
    typer.echo(f"  embedder {done.fingerprint}")
    if made := done.calibration:
        typer.echo(f"  best cosine of foreign questions {made.foreign_cosine:.3f}")
        typer.echo(f"  best cosine of the book's own {made.own_cosine:.3f}")
        typer.echo(
            f"  on {made.samples} samples made from the book: "
            f"AUROC {made.auroc:.3f}, ECE {made.ece:.3f}"
        )
    typer.echo(f"  calibration in use: {done.in_use}")
