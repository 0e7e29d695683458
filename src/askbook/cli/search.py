"""`askbook search`: the chunks a question finds."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from askbook.cli import scope
from askbook.cli.answers import place_to_open
from askbook.cli.output import AsJson, DataDir, print_json, run
from askbook.cli.server import Server, Url, reach

if TYPE_CHECKING:
    from askbook.bootstrap import Scope
    from askbook.config import Settings

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
    url: Url = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Find the passages that match a question."""
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
    found = run(_search(settings, address, query, where, top_k, mode, explain))
    if as_json:
        print_json(found)
    elif not found["results"]:
        typer.echo("Nothing found.")
    for result in () if as_json else found["results"]:
        _show(result)
    return 0 if found["results"] else 1


async def _search(
    settings: "Settings",
    address: str | None,
    query: str,
    where: "Scope",
    top_k: int | None,
    mode: Literal["hybrid", "dense", "sparse"],
    explain: bool,
) -> dict[str, Any]:
    if address is not None:
        async with Server.opened(settings, address) as server:
            return await server.search(query, where, top_k, mode, explain)
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        asked, context = await askbook.search(query, where, top_k=top_k, mode=mode)
        return context.to_response(asked).to_json(explain=explain)


def _show(result: dict[str, Any]) -> None:
    snippet = " ".join(result["text"].split())
    typer.secho(f"{result['rank']}. {result['breadcrumb']}", bold=True)
    typer.echo(f"   {snippet[:SNIPPET]}{'…' if len(snippet) > SNIPPET else ''}")
    typer.secho(f"   {place_to_open(result['url'])}  (score {result['score']:.2f})", dim=True)
    if (explained := result.get("explain")) is not None:
        judged = "–" if explained["judged"] is None else f"{explained['judged']:.2f}"
        typer.secho(
            f"   dense rank {explained['dense_rank'] or '–'}, "
            f"sparse rank {explained['sparse_rank'] or '–'}, "
            f"fused {result['fused']:.3f}, judged {judged}",
            dim=True,
        )
