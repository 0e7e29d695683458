"""`askbook feedback`: the answers readers found bad, for the book's author."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from askbook.cli.output import AsJson, DataDir, print_json, run, settings_for
from askbook.cli.scope import BookId

if TYPE_CHECKING:
    from askbook.bootstrap.feedback import FeedbackList


def register(app: typer.Typer) -> None:
    app.command("feedback")(feedback)


def feedback(
    book: BookId = None,
    rating: Annotated[
        Literal["down", "up"], typer.Option("--rating", help="Which votes to list.")
    ] = "down",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many at most.")] = 20,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """What readers think of answers, the newest vote first; works beside a running server."""
    from askbook.bootstrap import read_feedback

    found = run(read_feedback(settings_for(data_dir), book, rating, limit))
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    return 0


def _show(found: "FeedbackList") -> None:
    for vote in found.votes:
        typer.secho(f"{vote.given_at:%Y-%m-%d}  {vote.question}", bold=True)
        typer.echo("  " + vote.answer.replace("\n", "\n  "))
        if vote.comment:
            typer.secho("  » " + vote.comment.replace("\n", "\n    "), dim=True)
        typer.echo("")
    typer.echo(f"{found.book_id}: {found.up} good, {found.down} bad.")
