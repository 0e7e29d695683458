"""`make eval`: every development folder, our default against BM25 alone, dense alone and RRF 1:1, in one table.

Outcomes are kept per folder, configuration and question, so that an interrupted run goes on where it stopped;
they are forgotten when the code that searches and answers or the calibration changes.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits

import corruption
import evaluation_page
from askbook.config import Settings, load_settings
from askbook.evaluation.configurations import DEFAULT, WHOLE_DOCUMENTS
from askbook.evaluation.corpus import cache_beside
from askbook.evaluation.datasets import Dataset, find_corpus, load_dataset
from askbook.evaluation.remembering import Remembered
from askbook.evaluation.request import Request
from askbook.evaluation.run import Asked, Evaluated, Indexed, evaluate
from folders import DATA, REPOSITORY, SAMPLE_BOOK, Kind, folders, refusal_sets
from kept import state_of_answers
from publishing import commit

SAMPLE = 300
ANSWERED = 40
FOREIGN = 100
ALTERED = 60
TIMED = 30
"""Questions of a set that are asked alone, to tell how long a search takes; the others go several at once."""
CONFIGURATIONS = (DEFAULT, "sparse", "dense", "rrf11")
KNOWN_ANSWERS = ("ir_scifact_train", "ir_cranfield")


@dataclass(frozen=True, slots=True)
class Job:
    """One dataset to run, and in which table it stands."""

    dataset: Dataset
    request: Request
    kind: Kind | None = None


def main() -> None:
    options = _options()
    settings = load_settings(data_dir=options.data_dir)
    started = time.perf_counter()
    # Threads of BLAS wait for each other by spinning, and take the cores from the models for matrices this small.
    with threadpool_limits(1):
        results, skipped = asyncio.run(_run(settings, options))
    corrupted = [] if options.only else asyncio.run(_corrupted(options.data))
    minutes = (time.perf_counter() - started) / 60
    header = evaluation_page.Header(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=commit(),
        sample="all questions" if options.full else f"a seeded sample of {SAMPLE} a folder",
        minutes=minutes,
    )
    page = evaluation_page.render(header, results, skipped, settings.confidence, corrupted)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page, encoding="utf-8")
    print(page)


async def _run(
    settings: Settings, options: argparse.Namespace
) -> tuple[list[tuple[Kind | None, Evaluated]], dict[str, str]]:
    skipped: dict[str, str] = {}
    results: list[tuple[Kind | None, Evaluated]] = []
    jobs = list(
        _jobs(
            options,
            skipped,
            cache_beside(settings.storage.data_dir) / "outcomes" / state_of_answers(),
        )
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    # Sets over the same book share questions: what was judged in one need not be judged again in another.
    remembered = Remembered()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        whole = bar.add_task("Folders", total=len(jobs))
        for job in jobs:
            task = bar.add_task(job.dataset.name, total=None)
            async for event in evaluate(settings, job.dataset, job.request, remembered=remembered):
                match event:
                    case Indexed(done, total):
                        bar.update(task, completed=done, total=total or None)
                    case Asked(done, total):
                        bar.update(task, completed=done, total=total)
                    case Evaluated():
                        results.append((job.kind, event))
            bar.remove_task(task)
            bar.advance(whole)
            if not sys.stderr.isatty():
                print(f"{job.dataset.name} is done", file=sys.stderr, flush=True)
    return results, skipped


async def _corrupted(data: Path) -> list[corruption.Share]:
    cases = list(corruption.all_cases(data, ALTERED))
    return corruption.shares(await corruption.run(cases, with_judge=True), cases)


def _jobs(options: argparse.Namespace, skipped: dict[str, str], kept: Path) -> Iterator[Job]:
    limit = None if options.full else SAMPLE
    wanted = set(options.only or [])
    for folder, reason in folders(options.data):
        if wanted and folder.name not in wanted:
            continue
        if reason:
            skipped[folder.name] = reason
            continue
        request = Request(
            configurations=CONFIGURATIONS,
            limit=limit,
            answer_limit=None if options.full else ANSWERED,
            quoting=True,
            outcomes=kept / folder.name,
            timed=TIMED,
        )
        dataset = load_dataset(folder)
        if not dataset.questions[0].answers and dataset.questions[0].answerable is None:
            request = replace(request, sections=("retrieval",))
        yield Job(dataset, request)
        if folder.name in KNOWN_ANSWERS:
            # Known results are for all questions; ranking whole documents takes seconds.
            yield Job(dataset, Request(("retrieval",), (WHOLE_DOCUMENTS,)))
    for each in refusal_sets(options.data):
        named = each.dataset.name if each.kind == "off_topic" else each.name
        if (wanted and named not in wanted) or (
            each.kind != "off_topic" and "absent" not in each.name
        ):
            continue
        yield _refusal_job(each.name, each.kind, each.dataset, options.full, kept)
    if SAMPLE_BOOK.is_dir() and (not wanted or SAMPLE_BOOK.name in wanted):
        dataset = load_dataset(SAMPLE_BOOK)
        request = Request(
            configurations=CONFIGURATIONS,
            quoting=True,
            outcomes=kept / SAMPLE_BOOK.name,
            timed=TIMED,
        )
        yield Job(Dataset(SAMPLE_BOOK.name, dataset.questions, find_corpus(SAMPLE_BOOK)), request)


def _refusal_job(name: str, kind: Kind, dataset: Dataset, full: bool, kept: Path) -> Job:
    from folders import balanced

    questions = dataset.questions if full else balanced(dataset.questions, FOREIGN, seed=7)
    request = Request(("refusal",), (DEFAULT,), outcomes=kept / name.replace(" ", "_"), timed=TIMED)
    return Job(Dataset(name, questions, dataset.corpus), request, kind)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--data-dir", type=Path, default=REPOSITORY / ".askbook")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "evaluation.md")
    parser.add_argument("--only", nargs="*", help="these folders only")
    parser.add_argument("--full", action="store_true", help="all questions, no sample")
    options = parser.parse_args()
    if not options.data.is_dir():
        parser.error(f"{options.data} is not there; name the folder with --data")
    return options


if __name__ == "__main__":
    main()
