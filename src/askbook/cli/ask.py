"""`askbook ask`: one question, one cited answer, or an honest refusal."""

import sys
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli import scope
from askbook.cli.answers import ShownAnswer, pieces_of, printed, show_answer
from askbook.cli.output import AsJson, DataDir, print_json, run
from askbook.cli.server import Server, Url, reach
from askbook.errors import InvalidInput

if TYPE_CHECKING:
    from askbook.bootstrap import Scope
    from askbook.config import Settings


def register(app: typer.Typer) -> None:
    app.command("ask")(ask)


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    top_k: scope.TopK = None,
    book: scope.BookId = None,
    module: scope.ModuleName = None,
    tier: scope.Tier = None,
    chapter_min: scope.ChapterMin = None,
    chapter_max: scope.ChapterMax = None,
    lesson: scope.LessonNumber = None,
    proficiency: scope.Proficiency = None,
    layer: scope.Layer = None,
    selected_text: Annotated[
        str | None,
        typer.Option(
            "--selected-text", metavar="FILE|-", help="A passage you marked, to ask about."
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Show each sentence as soon as it is checked.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show confidence and timings.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Ask the book; exit code 1 means that the answer is not in it."""
    settings, address = reach(url, data_dir)
    where = scope.scope_of(
        book=book,
        module=module,
        tier=tier,
        chapter_min=chapter_min,
        chapter_max=chapter_max,
        lesson=lesson,
        proficiency=proficiency,
        layer=layer,
    )
    marked = None if selected_text is None else _read(selected_text)
    shown = stream and not as_json
    answer = run(_ask(settings, address, question, where, top_k, marked, shown))
    if as_json:
        print_json(answer.document)
    else:
        show_answer(answer, verbose=verbose, is_told=shown)
    return 0 if answer.is_answered else 1


def _read(place: str) -> str:
    """The marked passage, from a file or from standard input."""
    if place == "-":
        return sys.stdin.read()
    try:
        return Path(place).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InvalidInput(
            f"{place} cannot be read: {reason}.", "Give a text file, or - for standard input."
        ) from error


async def _ask(
    settings: "Settings",
    address: str | None,
    question: str,
    where: "Scope",
    top_k: int | None,
    marked: str | None,
    shown: bool,
) -> ShownAnswer:
    if address is not None:
        async with Server.opened(settings, address) as server:
            asked = server.ask_once(question, where, top_k=top_k, selected_text=marked)
            return await printed(asked, silent=not shown)
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        events = askbook.stream(question, where, top_k=top_k, selected_text=marked)
        async with aclosing(events) as turn:
            return await printed(pieces_of(turn), silent=not shown)
