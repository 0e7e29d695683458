"""Runs a question set: index the corpus, ask every question, sum up. One stream of events tells how far it is."""

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.embedding import Embedder
from askbook.errors import InvalidInput
from askbook.evaluation.asking import Asker, Outcome
from askbook.evaluation.bm25 import DocumentBm25
from askbook.evaluation.configurations import DEFAULT, WHOLE_DOCUMENTS, configuration
from askbook.evaluation.corpus import BOOK_ID, Corpus, cache_beside, index_corpus, prepare_corpus
from askbook.evaluation.datasets import Dataset, Passage, Question, read_passages, sample
from askbook.evaluation.from_book import questions_from
from askbook.evaluation.intervals import Difference, paired_difference
from askbook.evaluation.summary import Numbers, retrieval_values, summarise
from askbook.retrieval.judging import Judge

SECTIONS = ("retrieval", "refusal", "answers")


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure: which sections, under which configurations, on how many questions."""

    sections: tuple[str, ...] = SECTIONS
    configurations: tuple[str, ...] = (DEFAULT,)
    limit: int | None = None
    from_book: bool = False
    answer_limit: int | None = None
    """At most so many questions are also answered; answering costs more than searching."""
    quoting: bool = False
    """Answers are quoted even where a language model is configured."""
    outcomes: Path | None = None
    """Where outcomes are kept, so that an interrupted run goes on where it stopped."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The corpus is being indexed: so many of its files are done."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Asked:
    """So many of the questions are asked."""

    configuration: str
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
) -> AsyncIterator[EvaluationEvent]:
    """Measure a dataset; the last event is `Evaluated`."""
    cache = cache_beside(settings.storage.data_dir)
    named = settings.embedder.model_dump_json() if embedder is None else str(embedder.fingerprint)
    corpus = prepare_corpus(dataset.corpus, cache, named)
    place = {"data_dir": corpus.data_dir, "database_url": None}
    own = replace(
        settings,
        storage=settings.storage.model_copy(update=place),
        index=settings.index.model_copy(update={"qdrant_url": None}),
    )
    async with Askbook(own, embedder=embedder, judge=judge) as askbook:
        async for progress in index_corpus(askbook, corpus):
            counts = progress.job.counts
            yield Indexed(counts.files_processed + counts.files_skipped, counts.files_discovered)
        questions = dataset.questions
        if request.from_book:
            questions = questions_from(await askbook.library.lessons(BOOK_ID))
            if not questions:
                raise InvalidInput("The book has no headings to make questions of.")
        questions = sample(questions, request.limit)
        outcomes: dict[str, list[Outcome]] = {}
        for name in request.configurations:
            outcomes[name] = []
            async for outcome in _outcomes(askbook, corpus, dataset, questions, name, request):
                outcomes[name].append(outcome)
                yield Asked(name, len(outcomes[name]), len(questions))
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


async def _outcomes(
    askbook: Askbook,
    corpus: Corpus,
    dataset: Dataset,
    questions: Sequence[Question],
    name: str,
    request: Request,
) -> AsyncIterator[Outcome]:
    kept = _Kept(request.outcomes, name)
    asker = Asker(askbook, corpus, quoting=request.quoting)
    answered = {q.qid for q in _to_answer(questions, name, request)}
    documents: DocumentBm25 | None = None
    for question in questions:
        wants_answer = question.qid in answered
        outcome = kept.get(question.qid, wants_answer)
        if outcome is None:
            if name == WHOLE_DOCUMENTS:
                documents = documents or DocumentBm25(_documents(dataset))
                outcome = Outcome(
                    question.qid, documents.rank(question.text, 10), [], 0.0, True, 0.0
                )
            else:
                chosen = configuration(name)
                outcome = await asker.ask(question, chosen, with_answer=wants_answer)
            kept.put(outcome)
        yield outcome


def _to_answer(questions: Sequence[Question], name: str, request: Request) -> tuple[Question, ...]:
    if name != DEFAULT or "answers" not in request.sections:
        return ()
    scorable = [
        q
        for q in questions
        if q.answerable is not False and q.stands_alone and (q.answers or q.grades)
    ]
    return sample(scorable, request.answer_limit)


def _sections_of(name: str, request: Request) -> list[str]:
    """Answers come from the default way to search; whole documents have no confidence."""
    if name == WHOLE_DOCUMENTS:
        return ["retrieval"]
    return [s for s in request.sections if s != "answers" or name == DEFAULT]


def _documents(dataset: Dataset) -> list[Passage]:
    if dataset.corpus.is_file():
        return list(read_passages(dataset.corpus))
    inner = dataset.corpus / "docs"
    root = inner if inner.is_dir() else dataset.corpus
    return [
        Passage(path.relative_to(root).as_posix(), "", path.read_text("utf-8", "replace"))
        for path in sorted(root.rglob("*"))
        if path.suffix in (".md", ".mdx", ".markdown")
    ]


class _Kept:
    """Outcomes of an earlier, interrupted run, one JSON line each."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = None if folder is None else folder / f"{name}.jsonl"
        self._known: dict[str, Outcome] = {}
        if self._file is not None and self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                row: dict[str, Any] = json.loads(line)
                self._known[row["qid"]] = Outcome.from_json(row)

    def get(self, qid: str, with_answer: bool) -> Outcome | None:
        outcome = self._known.get(qid)
        return None if outcome is None or (with_answer and outcome.answer is None) else outcome

    def put(self, outcome: Outcome) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
