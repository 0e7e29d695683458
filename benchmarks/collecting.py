"""Retrievals of refusal questions, kept on disk: features can be changed and refitted without searching again."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.evaluation.asking import Asker, said_before
from askbook.evaluation.calibrating import measure
from askbook.evaluation.configurations import CONFIGURATIONS, DEFAULT
from askbook.evaluation.corpus import (
    BOOK_ID,
    Corpus,
    cache_beside,
    index_corpus,
    prepare_corpus,
    settings_of,
)
from askbook.evaluation.datasets import Question
from askbook.retrieval.anchors import Anchors
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import MAX_QUESTION
from folders import Kind, RefusalSet, balanced
from kept import KeptRows, state_of_retrievals

SEED = 7


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled question with what it found, with and without the judge."""

    name: str
    kind: Kind
    qid: str
    answerable: bool
    found: bool
    judged: RetrievalContext
    unjudged: RetrievalContext


async def collect(
    settings: Settings, chosen: RefusalSet, limit: int, folder: Path
) -> AsyncIterator[Row]:
    """The rows of one set; those kept from an earlier run of the same code are not searched again."""
    file = folder / state_of_retrievals(rated=False) / f"{chosen.name.replace(' ', '_')}.pickle"
    rows = KeptRows(file, Row)
    kept = {row.qid: row for row in rows.rows}
    corpus, own = _own(settings, chosen)
    questions = balanced(chosen.dataset.questions, limit, SEED)
    missing = [q for q in questions if q.qid not in kept]
    if missing:
        async with Askbook(own) as askbook:
            async for _ in index_corpus(askbook, corpus):
                pass
            asker = Asker(askbook, corpus)
            for question in missing:
                judged, unjudged = await _found(asker, question, own.retrieval.top_k)
                row = Row(
                    name=chosen.name,
                    kind=chosen.kind,
                    qid=question.qid,
                    answerable=bool(question.answerable),
                    found=_holds(judged, corpus, set(question.grades)),
                    judged=judged,
                    unjudged=unjudged,
                )
                rows.put(row)
                kept[row.qid] = row
    for question in questions:
        yield kept[question.qid]


async def anchors_of(settings: Settings, chosen: RefusalSet) -> Anchors:
    """What `askbook calibrate` measures on the corpus of a set."""
    corpus, own = _own(settings, chosen)
    async with Askbook(own) as askbook:
        async for _ in index_corpus(askbook, corpus):
            pass
        return (await measure(askbook, BOOK_ID)).anchors


def anchored(row: Row, anchors: Anchors | None) -> Row:
    """The row as if its corpus had been calibrated."""
    judged, unjudged = (replace(each, anchors=anchors) for each in (row.judged, row.unjudged))
    return replace(row, judged=judged, unjudged=unjudged)


def _own(settings: Settings, chosen: RefusalSet) -> tuple[Corpus, Settings]:
    """The set's corpus, and the settings with its own data directory."""
    cache = cache_beside(settings.storage.data_dir)
    corpus = prepare_corpus(chosen.dataset.corpus, cache, settings.embedder.model_dump_json())
    return corpus, settings_of(corpus, settings)


async def _found(
    asker: Asker, question: Question, limit: int
) -> tuple[RetrievalContext, RetrievalContext]:
    """What a question finds, with and without the judge."""
    text, before = question.text[:MAX_QUESTION], said_before(question)
    judged = await asker.search(text, CONFIGURATIONS[DEFAULT], limit, before)
    return judged, await asker.search(text, CONFIGURATIONS["fused"], limit, before)


def _holds(context: RetrievalContext, corpus: Corpus, gold: set[str]) -> bool:
    files = (result.chunk.metadata.source_file for result in context.results)
    return any(corpus.place(file).doc_id in gold for file in files)
