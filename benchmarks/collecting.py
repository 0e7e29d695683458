"""Retrievals of refusal questions, kept on disk: features can be changed and refitted without searching again."""

import pickle
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from askbook.bootstrap import Askbook
from askbook.config import Settings
from askbook.evaluation.asking import Asker, said_before
from askbook.evaluation.calibrating import measure
from askbook.evaluation.configurations import CONFIGURATIONS, DEFAULT
from askbook.evaluation.corpus import BOOK_ID, Corpus, cache_beside, index_corpus, prepare_corpus
from askbook.retrieval.anchors import Anchors
from askbook.retrieval.context import MIN_RELEVANCE_SCORE, RetrievalContext
from askbook.retrieval.query import MAX_QUESTION
from folders import Kind, RefusalSet, balanced

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
    """The rows of one set; those kept from an earlier run are not searched again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{chosen.name.replace(' ', '_')}.pickle"
    kept = _load(file)
    corpus, own = _own(settings, chosen)
    questions = balanced(chosen.dataset.questions, limit, SEED)
    missing = [q for q in questions if q.qid not in kept]
    if missing:
        async with Askbook(own) as askbook:
            async for _ in index_corpus(askbook, corpus):
                pass
            asker = Asker(askbook, corpus)
            with file.open("ab") as out:
                for question in missing:
                    text = question.text[:MAX_QUESTION]
                    top_k = settings.retrieval.top_k
                    before = said_before(question)
                    judged = await asker.search(text, CONFIGURATIONS[DEFAULT], top_k, before)
                    unjudged = await asker.search(text, CONFIGURATIONS["fused"], top_k, before)
                    row = Row(
                        chosen.name,
                        chosen.kind,
                        question.qid,
                        bool(question.answerable),
                        _found(judged, corpus, set(question.grades)),
                        judged,
                        unjudged,
                    )
                    kept[question.qid] = row
                    pickle.dump(row, out)
                    out.flush()
                    yield row
    for question in questions:
        if question not in missing:
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
    return replace(
        row, judged=_anchored(row.judged, anchors), unjudged=_anchored(row.unjudged, anchors)
    )


def _anchored(context: RetrievalContext, anchors: Anchors | None) -> RetrievalContext:
    # What an earlier version kept lacks the fields that came since; no feature reads these.
    return replace(
        context,
        anchors=anchors,
        info=(),
        min_relevance_score=MIN_RELEVANCE_SCORE,
        retrieved_at=datetime.now(UTC),
    )


def _own(settings: Settings, chosen: RefusalSet) -> tuple[Corpus, Settings]:
    """The set's corpus, and the settings with its own data directory."""
    cache = cache_beside(settings.storage.data_dir)
    corpus = prepare_corpus(chosen.dataset.corpus, cache, settings.embedder.model_dump_json())
    storage = settings.storage.model_copy(update={"data_dir": corpus.data_dir})
    return corpus, replace(settings, storage=storage)


def _found(context: RetrievalContext, corpus: Corpus, gold: set[str]) -> bool:
    files = (result.chunk.metadata.source_file for result in context.results)
    return any(corpus.place(file).doc_id in gold for file in files)


def _load(file: Path) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    if file.exists():
        with file.open("rb") as source:
            while True:
                try:
                    row: Row = pickle.load(source)
                except (EOFError, pickle.UnpicklingError):
                    break
                rows[row.qid] = row
    return rows
