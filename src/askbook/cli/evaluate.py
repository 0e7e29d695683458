"""`askbook eval`: how well a book is searched, answered and declined, on questions with known answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askbook.cli.output import AsJson, DataDir, note, print_json, run, settings_for
from askbook.errors import InvalidInput

if TYPE_CHECKING:
    from askbook.config import Settings
    from askbook.evaluation.datasets import Dataset
    from askbook.evaluation.request import Request
    from askbook.evaluation.run import Evaluated


def register(app: typer.Typer) -> None:
    app.command("eval")(evaluate)


def evaluate(
    dataset_dir: Annotated[
        Path,
        typer.Argument(help="A folder with documents and questions, or with --from-book a book."),
    ],
    questions: Annotated[
        list[Path] | None,
        typer.Option("--questions", help="Instead of the folder's own list; may be repeated."),
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", help="Instead of the folder's own documents.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="A seeded sample of so many questions.")
    ] = None,
    retrieval: Annotated[bool, typer.Option("--retrieval", help="Only the search.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="Only the answers.")] = False,
    refusal: Annotated[bool, typer.Option("--refusal", help="Only the refusals.")] = False,
    from_book: Annotated[
        bool, typer.Option("--from-book", help="Make the questions from the book's headings.")
    ] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--compare",
            help="Two of hybrid, fused, rrf11, dense, sparse, bm25_documents: is B better than A?",
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            help="metric=value, may be repeated: leave with 5 when it is not met "
            "(for errors and times the value is the most allowed).",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write an HTML report here.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Measure search, answers and refusals on questions with known answers."""
    from askbook.evaluation.configurations import DEFAULT
    from askbook.evaluation.datasets import Dataset, find_corpus, load_dataset
    from askbook.evaluation.report import as_html, as_lines
    from askbook.evaluation.request import SECTIONS, Request
    from askbook.evaluation.summary import shortfalls

    limits = _limits(fail_under or [])
    asked = {"retrieval": retrieval, "refusal": refusal, "answers": answers}
    request = Request(
        sections=tuple(s for s in SECTIONS if asked[s] or not any(asked.values())),
        limit=limit,
        from_book=from_book,
        configurations=compare or (DEFAULT,),
    )
    if from_book:
        dataset = Dataset(dataset_dir.resolve().name, (), find_corpus(docs or dataset_dir))
    else:
        dataset = load_dataset(dataset_dir, questions=questions or (), docs=docs)
    settings = settings_for(data_dir)
    evaluated = run(_evaluate(settings, dataset, request))
    document = evaluated.to_json()
    if as_json:
        print_json(document)
    else:
        for line in as_lines(evaluated):
            typer.echo(line)
    if out is not None:
        out.write_text(as_html(evaluated, settings.confidence.answerable_prior), encoding="utf-8")
        note(f"The report is in {out}.")
    short = shortfalls(document, limits)
    for message in short:
        note(f"askbook: {message}.")
    return 5 if short else 0


def _limits(given: list[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for each in given:
        name, _, value = each.partition("=")
        try:
            limits[name.strip()] = float(value)
        except ValueError:
            raise InvalidInput(
                f"--fail-under is {each!r}.", "Write metric=value, as in ndcg@10=0.6."
            ) from None
    return limits


async def _evaluate(settings: "Settings", dataset: "Dataset", request: "Request") -> "Evaluated":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from askbook.evaluation.run import Asked, Evaluated, Indexed, evaluate

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    evaluated: Evaluated | None = None
    with bar:
        task = bar.add_task("Indexing", total=None)
        async for event in evaluate(settings, dataset, request):
            match event:
                case Indexed(done, total):
                    bar.update(task, completed=done, total=total or None)
                case Asked(done, total):
                    bar.update(task, description="Asking", completed=done, total=total)
                case Evaluated():
                    evaluated = event
    if evaluated is None:
        raise RuntimeError("An evaluation ends with its numbers.")
    return evaluated
