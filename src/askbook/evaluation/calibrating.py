"""Measures where an embedder's cosines stand in one book, from questions made of the book and foreign ones.

No labels are needed. The figures on these questions say whether measuring worked; how well readers'
questions are judged is measured on labelled folders only.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from askbook.bootstrap import Askbook
from askbook.evaluation.configurations import CONFIGURATIONS, Searchers
from askbook.evaluation.metrics import auroc, ece
from askbook.retrieval.anchors import LEAST_DISTANCE, Anchors
from askbook.retrieval.book_questions import (
    BookQuestion,
    choose_chunks,
    foreign_questions,
    make_questions,
)
from askbook.retrieval.calibration import choose_calibration, features_of
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import SearchQuery, SearchResult
from askbook.retrieval.search import Searcher
from askbook.storage.calibrations import BookCalibration

R = TypeVar("R")

FEWEST_QUESTIONS = 20
FOUND, USED = 30, 5
AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What came of it: the calibration, or why there is none; and what judges the book now."""

    book_id: str
    fingerprint: str
    samples: int
    calibration: BookCalibration | None
    shortfall: str | None
    in_use: str

    def to_json(self) -> dict[str, Any]:
        made = asdict(self.calibration) if self.calibration else dict[str, Any]()
        moment = self.calibration.made_at.isoformat() if self.calibration else None
        names = ("foreign_cosine", "own_cosine", "spread", "auroc", "ece")
        return {
            "book_id": self.book_id,
            "fingerprint": self.fingerprint,
            "calibrated": self.calibration is not None,
            "shortfall": self.shortfall,
            "in_use": self.in_use,
            "samples": self.samples,
            **{name: made.get(name) for name in names},
            "measured_on": "questions made from the book",
            "made_at": moment,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """What questions found: made from the book, the same without their own lesson, and foreign ones."""

    own: tuple[RetrievalContext, ...]
    without: tuple[RetrievalContext, ...]
    foreign: tuple[RetrievalContext, ...]

    @property
    def samples(self) -> int:
        return len(self.own) + len(self.without) + len(self.foreign)

    @property
    def anchors(self) -> Anchors:
        return Anchors.of(_best(self.foreign), _best(self.own))


async def calibrate(askbook: Askbook, book_id: str | None = None) -> Calibrated:
    """Measure a book with the embedder that indexed it, and keep what was measured."""
    name = (await askbook.searchable(book_id)).book_id
    calibrations = askbook.calibrations
    measured = await measure(askbook, name)
    made, shortfall = None, _shortfall(measured)
    if shortfall is None:
        made = _judged(askbook, name, measured)
        await calibrations.keep(made)
    else:
        await calibrations.forget(name)
    return Calibrated(
        book_id=name,
        fingerprint=calibrations.fingerprint,
        samples=measured.samples,
        calibration=made,
        shortfall=shortfall,
        in_use=await calibrations.describe(name),
    )


async def measure(askbook: Askbook, book_id: str) -> Measured:
    """Ask a book its own questions and foreign ones, in fused order: the judge knows no embedder."""
    searcher = Searchers(askbook).of(CONFIGURATIONS["fused"])
    known = await askbook.library.chunk_ids(book_id)
    ids = choose_chunks(chunk_id for each in known.values() for chunk_id in each)
    chunks = await askbook.library.chunks(book_id, ids)
    questions = make_questions([chunks[i] for i in ids if i in chunks])
    foreign = foreign_questions() if len(questions) >= FEWEST_QUESTIONS else ()
    texts = (*(question.text for question in questions), *foreign)
    found = await _few_at_once(_search(searcher, book_id, text) for text in texts)
    own = found[: len(questions)]
    without = [
        _of(context, others)
        for question, context in zip(questions, own, strict=True)
        if (others := _from_elsewhere(question, context))
    ]
    return Measured(
        own=tuple(_of(context, context.results) for context in own),
        without=tuple(without),
        foreign=tuple(_of(context, context.results) for context in found[len(questions) :]),
    )


def _shortfall(measured: Measured) -> str | None:
    """Why a book cannot be calibrated, if it cannot."""
    if len(measured.own) < FEWEST_QUESTIONS:
        return (
            f"The book is too small to calibrate: {len(measured.own)} questions can be made from it, "
            f"{FEWEST_QUESTIONS} are needed."
        )
    anchors = measured.anchors
    if not anchors.are_clear(judged=False):
        return (
            "The embedder tells this book's questions too badly from foreign ones: they lie "
            f"{max(0.0, anchors.distance):.1f} spreads apart, {LEAST_DISTANCE} are needed."
        )
    return None


def _judged(askbook: Askbook, book_id: str, measured: Measured) -> BookCalibration:
    """The anchors, and how the calibration that would be used does on what they were measured on."""
    fingerprint, anchors = askbook.calibrations.fingerprint, measured.anchors
    calibration = choose_calibration(fingerprint, judged=False, anchors=anchors)
    prior = askbook.settings.confidence.answerable_prior
    contexts = (*measured.own, *measured.without, *measured.foreign)
    labels = [number < len(measured.own) for number in range(len(contexts))]
    scores = [
        calibration.probability(features_of(replace(context, anchors=anchors)), prior)
        for context in contexts
    ]
    return BookCalibration(
        book_id=book_id,
        fingerprint=fingerprint,
        foreign_cosine=anchors.foreign,
        own_cosine=anchors.own,
        spread=anchors.spread,
        samples=measured.samples,
        auroc=auroc(scores, labels) or 0.0,
        ece=ece(scores, labels, prior) or 0.0,
        made_at=datetime.now(UTC),
    )


async def _search(searcher: Searcher, book_id: str, text: str) -> RetrievalContext:
    return await searcher.search(
        SearchQuery(text=text, book_id=book_id, hardware_tier_filter=4, limit=FOUND)
    )


async def _few_at_once(work: Iterable[Awaitable[R]]) -> list[R]:
    """All of it, in order; a remote embedder is not flooded."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(each: Awaitable[R]) -> R:
        async with free:
            return await each

    return await asyncio.gather(*(one(each) for each in work))


def _from_elsewhere(question: BookQuestion, context: RetrievalContext) -> tuple[SearchResult, ...]:
    """What is left when the lesson that answers is taken away."""
    lesson = question.chunk.metadata.parent_doc_id
    return tuple(r for r in context.results if r.chunk.metadata.parent_doc_id != lesson)


def _of(context: RetrievalContext, results: Sequence[SearchResult]) -> RetrievalContext:
    """The retrieval as if these were all that was found."""
    return replace(
        context,
        results=tuple(results[:USED]),
        judgements=(),
        background=tuple(sorted((r.score for r in results), reverse=True)),
    )


def _best(contexts: Sequence[RetrievalContext]) -> list[float]:
    return [max(context.background, default=0.0) for context in contexts]
