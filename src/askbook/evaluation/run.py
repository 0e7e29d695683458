"""Runs a question set: index the corpus, ask every question, sum up. One stream of events tells how far it is."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import TypeAlias

from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.embedding import Embedder
from askbook.errors import InvalidInput
from askbook.evaluation.asking import Asker, Outcome
from askbook.evaluation.configurations import DEFAULT, WHOLE_DOCUMENTS
from askbook.evaluation.corpus import (
    BOOK_ID,
    cache_beside,
    index_corpus,
    prepare_corpus,
    settings_of,
)
from askbook.evaluation.datasets import Dataset, Question, sample
from askbook.evaluation.from_book import questions_from
from askbook.evaluation.intervals import Difference, paired_difference
from askbook.evaluation.questioning import Questioning
from askbook.evaluation.remembering import Remembered
from askbook.evaluation.request import Request
from askbook.evaluation.summary import Numbers, retrieval_values, summarise
from askbook.retrieval.judging import Judge


@dataclass(frozen=True, slots=True)
class Indexed:
    """The corpus is being indexed: so many of its files are done."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Asked:
    """So many questions are asked, each counted once per configuration."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The end: numbers per configuration, and the outcomes they were made of."""

    dataset: str
    summaries: dict[str, Numbers]
    outcomes: dict[str, list[Outcome]]
    questions: tuple[Question, ...]
    differences: dict[str, Difference] = field(default_factory=dict[str, Difference])

    def to_json(self) -> Numbers:
        """The first configuration's numbers, as documented; the comparison beside them."""
        first = next(iter(self.summaries))
        document: Numbers = {
            "dataset": self.dataset,
            "configuration": first,
            **self.summaries[first],
        }
        if self.differences:
            names = list(self.summaries)
            document["compare"] = {
                "a": names[0],
                "b": names[1],
                "metrics": {name: asdict(each) for name, each in self.differences.items()},
            }
        return document


EvaluationEvent: TypeAlias = Indexed | Asked | Evaluated


async def evaluate(
    settings: Settings,
    dataset: Dataset,
    request: Request,
    *,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    remembered: Remembered | None = None,
) -> AsyncGenerator[EvaluationEvent]:
    """Measure a dataset; the last event is `Evaluated`.

    Evaluations with the same embedder and judge can share what is `remembered` of questions they have in common.
    """
    cache = cache_beside(settings.storage.data_dir)
    named = settings.embedder.model_dump_json() if embedder is None else str(embedder.fingerprint)
    corpus = prepare_corpus(dataset.corpus, cache, named)
    async with Askbook(settings_of(corpus, settings), embedder=embedder, judge=judge) as askbook:
        async for progress in index_corpus(askbook, corpus):
            counts = progress.job.counts
            yield Indexed(counts.files_processed + counts.files_skipped, counts.files_discovered)
        questions = dataset.questions
        if request.from_book:
            questions = questions_from(await askbook.library.lessons(BOOK_ID))
            if not questions:
                raise InvalidInput("The book has no headings to make questions of.")
        questions = sample(questions, request.limit)
        asker = Asker(askbook, corpus, quoting=request.quoting, remembered=remembered)
        questioning = Questioning(asker, dataset, questions, request)
        done: dict[tuple[str, int], Outcome] = {}
        async with aclosing(questioning.outcomes()) as each:
            async for planned, outcome in each:
                done[planned.configuration, planned.number] = outcome
                yield Asked(len(done), len(questioning.plan))
    outcomes = {
        name: [done[name, number] for number in range(len(questions))]
        for name in request.configurations
    }
    prior = settings.confidence.answerable_prior
    summaries = {
        name: summarise(
            list(zip(questions, found, strict=True)), _sections_of(name, request), prior
        )
        for name, found in outcomes.items()
    }
    yield Evaluated(dataset.name, summaries, outcomes, questions, compare(questions, outcomes))


def compare(
    questions: Sequence[Question], outcomes: dict[str, list[Outcome]]
) -> dict[str, Difference]:
    """The second configuration against the first, metric by metric, over the same questions."""
    if len(outcomes) < 2:
        return {}
    first, second = (
        retrieval_values(list(zip(questions, found, strict=True)))
        for found in list(outcomes.values())[:2]
    )
    return {
        name: paired_difference(first[name], second[name])
        for name in first
        if first[name] and name in second
    }


def _sections_of(name: str, request: Request) -> list[str]:
    """Answers come from the default way to search; whole documents have no confidence."""
    if name == WHOLE_DOCUMENTS:
        return ["retrieval"]
    return [s for s in request.sections if s != "answers" or name == DEFAULT]
