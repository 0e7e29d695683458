"""`askbook ask`: one question, one cited answer, or an honest refusal."""

import sys
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli import scope
from askbook.cli.output import AsJson, DataDir, begin_loading_models, print_json, run, settings_for
from askbook.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from askbook.agent.response import AgentResponse
    from askbook.bootstrap import Scope
    from askbook.chat import TurnEvent
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
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Ask the book; exit code 1 means that the answer is not in it."""
    settings = settings_for(data_dir)
    begin_loading_models(settings)
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
    response = run(_ask(settings, question, where, top_k, marked, shown))
    if as_json:
        print_json(response.to_json())
    else:
        show_answer(response, verbose=verbose, answered=shown)
    return 0 if response.should_answer else 1


def show_answer(
    response: "AgentResponse", *, verbose: bool = False, answered: bool = False
) -> None:
    """An answer for a terminal: the text, unless it is there already, then where each number leads."""
    if not answered:
        typer.echo(response.answer)
    if not response.should_answer:
        typer.secho(response.metrics.reason, dim=True)
    if response.citations:
        typer.echo("")
    show_places(response)
    if verbose:
        metrics = response.metrics
        typer.secho(
            f"\nconfidence {metrics.confidence:.2f} ({metrics.confidence_level}), "
            f"{metrics.num_chunks} chunks, best cosine {metrics.max_similarity:.2f}, "
            f"retrieval {response.retrieval_time_ms:.0f} ms, "
            f"total {response.total_time_ms:.0f} ms, model {response.model}",
            dim=True,
        )


def show_places(response: "AgentResponse", *, quotes: bool = False) -> None:
    """Where each number of an answer leads; with `quotes`, the words there."""
    for citation in response.citations:
        title = citation.page_title
        if citation.section_title and citation.section_title != title:
            title = f"{title} › {citation.section_title}"
        typer.secho(f"[{citation.n}] {title}", bold=True)
        if quotes:
            typer.echo("    “" + citation.quote.replace("\n", "\n    ") + "”")
        typer.secho(f"    {citation.url}", dim=True)


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
    question: str,
    where: "Scope",
    top_k: int | None,
    marked: str | None,
    shown: bool,
) -> "AgentResponse":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        if not shown:
            return await askbook.ask(question, where, top_k=top_k, selected_text=marked)
        events = askbook.stream(question, where, top_k=top_k, selected_text=marked)
        async with aclosing(events) as turn:
            return await print_as_it_comes(turn)


async def print_as_it_comes(
    events: "AsyncIterator[TurnEvent]", *, silent: bool = False
) -> "AgentResponse":
    """Print sentences as they come; what the whole answer adds at its end, too."""
    from askbook.agent.events import SentenceVerified
    from askbook.chat import TurnEnded

    printed = ""
    async for event in events:
        if isinstance(event, SentenceVerified):
            piece = event.joint + event.text
            if not silent:
                typer.echo(piece, nl=False)
            printed += piece
        elif isinstance(event, TurnEnded):
            if not silent:
                typer.echo(event.response.answer.removeprefix(printed))
            return event.response
    raise InvalidInput("The answer did not come to an end.", "Ask again.")
