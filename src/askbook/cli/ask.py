"""`askbook ask`: one question, one cited answer, or an honest refusal."""

from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli import scope
from askbook.cli.output import AsJson, DataDir, print_json, run, settings_for

if TYPE_CHECKING:
    from askbook.agent.response import AgentResponse
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
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show confidence and timings.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Ask the book; exit code 1 means that the answer is not in it."""
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
    response = run(_ask(settings_for(data_dir), question, where, top_k))
    if as_json:
        print_json(response.to_json())
    else:
        show_answer(response, verbose=verbose)
    return 0 if response.should_answer else 1


def show_answer(response: "AgentResponse", *, verbose: bool = False) -> None:
    """An answer for a terminal: the text, then where each number leads."""
    typer.echo(response.answer)
    if not response.should_answer:
        typer.secho(response.metrics.reason, dim=True)
    if response.citations:
        typer.echo("")
    for citation in response.citations:
        title = citation.page_title
        if citation.section_title and citation.section_title != title:
            title = f"{title} › {citation.section_title}"
        typer.secho(f"[{citation.n}] {title}", bold=True)
        typer.secho(f"    {citation.url}", dim=True)
    if verbose:
        metrics = response.metrics
        typer.secho(
            f"\nconfidence {metrics.confidence:.2f} ({metrics.confidence_level}), "
            f"{metrics.num_chunks} chunks, best cosine {metrics.max_similarity:.2f}, "
            f"retrieval {response.retrieval_time_ms:.0f} ms, "
            f"total {response.total_time_ms:.0f} ms, model {response.model}",
            dim=True,
        )


async def _ask(
    settings: "Settings", question: str, where: "Scope", top_k: int | None
) -> "AgentResponse":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        return await askbook.ask(question, where, top_k=top_k)
