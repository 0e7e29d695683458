"""`askbook search`: the chunks a question finds."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from askbook.cli import scope
from askbook.cli.output import AsJson, DataDir, begin_loading_models, print_json, run, settings_for

if TYPE_CHECKING:
    from askbook.bootstrap import Scope
    from askbook.config import Settings
    from askbook.retrieval.query import SearchResponse, SearchResult

Mode = Annotated[Literal["hybrid", "dense", "sparse"], typer.Option("--mode", help="How to rank.")]
SNIPPET = 240


def register(app: typer.Typer) -> None:
    app.command("search")(search)


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    top_k: scope.TopK = None,
    book: scope.BookId = None,
    module: scope.ModuleName = None,
    tier: scope.Tier = None,
    chapter_min: scope.ChapterMin = None,
    chapter_max: scope.ChapterMax = None,
    lesson: scope.LessonNumber = None,
    proficiency: scope.Proficiency = None,
    layer: scope.Layer = None,
    mode: Mode = "hybrid",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how the order came about.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Find the passages that match a question."""
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
    response = run(_search(settings, query, where, top_k, mode))
    if as_json:
        print_json(response.to_json(explain=explain))
    elif not response.results:
        typer.echo("Nothing found.")
    for result in () if as_json else response.results:
        _show(result, explain)
    return 0 if response.results else 1


async def _search(
    settings: "Settings",
    query: str,
    where: "Scope",
    top_k: int | None,
    mode: Literal["hybrid", "dense", "sparse"],
) -> "SearchResponse":
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        asked, context = await askbook.search(query, where, top_k=top_k, mode=mode)
        return context.to_response(asked)


def _show(result: "SearchResult", explain: bool) -> None:
    snippet = " ".join(result.text.split())
    typer.secho(f"{result.rank}. {result.chunk.metadata.breadcrumb}", bold=True)
    typer.echo(f"   {snippet[:SNIPPET]}{'…' if len(snippet) > SNIPPET else ''}")
    typer.secho(f"   {result.url}  (score {result.score:.2f})", dim=True)
    if explain:
        e = result.explanation
        judged = "–" if e.judged is None else f"{e.judged:.2f}"
        typer.secho(
            f"   dense rank {e.dense_rank or '–'}, sparse rank {e.sparse_rank or '–'}, "
            f"fused {result.fused:.3f}, judged {judged}",
            dim=True,
        )
