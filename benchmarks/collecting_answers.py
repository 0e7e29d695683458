"""What questions with gold answers found, kept on disk with every judgement on it: answers can be made anew offline."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from askbook.agent.scoring import place_units, read_with
from askbook.book import Book
from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.evaluation.asking import Asker, said_before
from askbook.evaluation.configurations import CONFIGURATIONS, DEFAULT
from askbook.evaluation.corpus import (
    BOOK_ID,
    cache_beside,
    index_corpus,
    prepare_corpus,
    settings_of,
)
from askbook.evaluation.datasets import Dataset, Question, sample
from askbook.retrieval.calibration import calibration_for
from askbook.retrieval.confidence import assess
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import follow_up
from askbook.retrieval.judging import BuiltinJudge, Judge, Judgement
from askbook.retrieval.query import MAX_QUESTION
from kept import KeptRows, state_of_retrievals

SEED = 11


@dataclass(slots=True)
class Row:
    """One question with what it found; declined ones have no judgement."""

    name: str
    question: Question
    book: Book
    answered: bool
    context: RetrievalContext
    documents: Mapping[str, str]
    reading: str | None = None
    """The question with words of earlier ones, as it was searched."""
    judgements: dict[tuple[str, str], Judgement] = field(
        default_factory=dict[tuple[str, str], Judgement]
    )
    """By question and passage."""


class KeptJudge:
    """The judgements of a row; what was never judged fails, so that nothing is scored without a judge."""

    def __init__(self, row: Row) -> None:
        self._row = row

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        return [self._row.judgements[question, passage] for passage in passages]

    async def close(self) -> None: ...


async def collect(
    settings: Settings, dataset: Dataset, limit: int, folder: Path
) -> AsyncIterator[Row]:
    """The rows of one dataset; those kept from an earlier run of the same code are not searched again."""
    rows = KeptRows(folder / state_of_retrievals(rated=True) / f"{dataset.name}.pickle", Row)
    kept = {row.question.qid: row for row in rows.rows}
    questions = _with_answers(dataset, limit)
    missing = [q for q in questions if q.qid not in kept]
    if missing:
        cache = cache_beside(settings.storage.data_dir)
        corpus = prepare_corpus(dataset.corpus, cache, settings.embedder.model_dump_json())
        async with Askbook(settings_of(corpus, settings)) as askbook:
            async for _ in index_corpus(askbook, corpus):
                pass
            asker = Asker(askbook, corpus)
            book = (await askbook.book(BOOK_ID)).book
            for question in missing:
                context, answered = await _retrieved(askbook, asker, question)
                files = {r.chunk_id: r.chunk.metadata.source_file for r in context.results}
                documents = {chunk: corpus.place(f).doc_id for chunk, f in files.items()}
                row = Row(dataset.name, question, book, answered, context, documents)
                followed = follow_up(question.text[:MAX_QUESTION], said_before(question))
                row.reading = followed.text if followed else None
                if answered and askbook.judge is not None:
                    await _judge_all(row, askbook.judge)
                rows.put(row)
                kept[question.qid] = row
    chosen = [kept[question.qid] for question in questions]
    await _complete(chosen)
    for row in chosen:
        yield row


async def _complete(rows: Sequence[Row]) -> None:
    """Judge what rows of an earlier run lack because chunks are cut into other units by now."""
    stale = [row for row in rows if row.answered and not _is_judged(row)]
    if stale:
        judge = BuiltinJudge()
        for row in stale:
            await _judge_all(row, judge)
        await judge.close()


def _is_judged(row: Row) -> bool:
    placed = place_units(row.context)
    return all((row.context.query, read_with(p, placed)) in row.judgements for p in placed)


def _with_answers(dataset: Dataset, limit: int) -> tuple[Question, ...]:
    scorable = [
        q for q in dataset.questions if q.answerable is not False and q.stands_alone and q.answers
    ]
    return sample(scorable, limit, SEED)


async def _retrieved(
    askbook: Askbook, asker: Asker, question: Question
) -> tuple[RetrievalContext, bool]:
    """What a turn would quote from, and whether it would answer."""
    text, history = question.text[:MAX_QUESTION], said_before(question)
    top_k = askbook.settings.retrieval.top_k
    context = await asker.search(text, CONFIGURATIONS[DEFAULT], top_k, history)
    calibration = partial(calibration_for, fingerprint=str(askbook.embedder.fingerprint))
    metrics = assess(context, askbook.settings.confidence, calibration(context))
    return replace(context, query=context.asked), metrics.should_answer


async def _judge_all(row: Row, judge: Judge) -> None:
    """Every unit that could be quoted, as the judge reads it, for each reading of the question."""
    placed = place_units(row.context)
    passages = list(dict.fromkeys(read_with(p, placed) for p in placed))
    for question in {row.context.query, row.reading or row.context.query}:
        judged = await judge.judge(question, passages)
        row.judgements |= {(question, p): j for p, j in zip(passages, judged, strict=True)}
