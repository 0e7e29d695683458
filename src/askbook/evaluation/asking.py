"""Asks one question and keeps what is needed to score it: the ranked documents, spans, confidence, time."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from askbook.bootstrap import Askbook
from askbook.chat import ChatTurns
from askbook.evaluation.answers import AnswerOutcome, read_answer, read_floor
from askbook.evaluation.configurations import CONFIGURATIONS, DEFAULT, Configuration, Searchers
from askbook.evaluation.corpus import BOOK_ID, Corpus
from askbook.evaluation.datasets import Question
from askbook.evaluation.metrics import Span
from askbook.evaluation.remembering import Remembered
from askbook.retrieval.calibration import calibration_for, features_of
from askbook.retrieval.confidence import assess
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.history import Message
from askbook.retrieval.query import MAX_LIMIT, MAX_QUESTION, SearchQuery, SearchResult

RANKED = 10
"""Different documents to be ranked, as far as there are so many."""
FIRST_LIMIT = 40


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question gave under one configuration; plain values, so that it can be kept as JSON."""

    qid: str
    ranked: list[str]
    spans: list[Span]
    confidence: float
    answered: bool
    latency_ms: float | None
    """What the search took; None where it was not made alone."""
    top_score: float = 0.0
    answer: AnswerOutcome | None = None
    notes: list[str] = field(default_factory=list[str])
    last_turn_only: list[str] | None = None
    """The ranked documents without what was said before, where something was."""
    threshold_confidence: float = 0.0
    """What the fixed-threshold policy makes of the same retrieval."""
    threshold_answered: bool = False
    pages: list[Span] = field(default_factory=list[Span])
    """Of passages that stand on pages: the document, the first page and the last."""
    features: dict[str, float] = field(default_factory=dict[str, float])
    """What a calibration reads of the retrieval."""

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Outcome":
        answer = row.pop("answer")
        spans = [(str(d), int(s), int(e)) for d, s, e in row.pop("spans")]
        pages = [(str(d), int(s), int(e)) for d, s, e in row.pop("pages", ())]
        return cls(
            **row, spans=spans, pages=pages, answer=None if answer is None else _answer_from(answer)
        )


class Asker:
    """Puts questions to one indexed corpus."""

    def __init__(
        self,
        askbook: Askbook,
        corpus: Corpus,
        *,
        quoting: bool = False,
        remembered: Remembered | None = None,
    ) -> None:
        self._askbook = askbook
        self._corpus = corpus
        remembered = remembered or Remembered()
        self._searchers = Searchers(askbook, remembered)
        self._afresh = Searchers(askbook, remembered, afresh=True)
        fingerprint = str(askbook.embedder.fingerprint)
        self._calibration = partial(calibration_for, fingerprint=fingerprint)
        self._turns = ChatTurns(
            self._searchers.of(CONFIGURATIONS[DEFAULT]),
            self._searchers.judge,
            askbook.settings.confidence,
            self._calibration,
            None if quoting else askbook.tutor,
        )

    async def ask(
        self,
        question: Question,
        chosen: Configuration,
        *,
        with_answer: bool = False,
        timed: bool = True,
    ) -> Outcome:
        """One search as a reader would make it, then on until enough documents are ranked.

        A timed one recalls nothing; whoever asks for it asks nothing else meanwhile.
        """
        text, history = question.text, said_before(question)
        notes: list[str] = []
        if len(text) > MAX_QUESTION:
            notes.append(f"cut to {MAX_QUESTION} characters")
            text = text[:MAX_QUESTION]
        searchers = self._afresh if timed else self._searchers
        query = self._query(text, chosen, self._askbook.settings.retrieval.top_k)
        started = time.perf_counter()
        context = await searchers.of(chosen).search(query, history)
        latency = (time.perf_counter() - started) * 1000
        confidence, calibration = self._askbook.settings.confidence, self._calibration(context)
        metrics = assess(context, confidence, calibration)
        fixed = confidence.model_copy(update={"policy": "threshold"})
        by_threshold = assess(context, fixed, calibration)
        return Outcome(
            qid=question.qid,
            ranked=await self._ranked(text, chosen, history),
            spans=[self._span(context, i) for i in range(len(context.results))],
            confidence=metrics.confidence,
            answered=metrics.should_answer,
            latency_ms=latency if timed else None,
            top_score=max(context.scores, default=0.0),
            answer=await self._answer(question, text, history, context) if with_answer else None,
            notes=notes,
            last_turn_only=await self._ranked(text, chosen) if history else None,
            threshold_confidence=by_threshold.confidence,
            threshold_answered=by_threshold.should_answer,
            pages=self._pages(context),
            features=features_of(context),
        )

    async def search(
        self, text: str, chosen: Configuration, limit: int, history: Sequence[Message] = ()
    ) -> RetrievalContext:
        """What this configuration finds, with no reader filter."""
        query = self._query(text, chosen, limit)
        return await self._searchers.of(chosen).search(query, history)

    async def _ranked(
        self, text: str, chosen: Configuration, history: Sequence[Message] = ()
    ) -> list[str]:
        documents: list[str] = []
        for limit in (FIRST_LIMIT, MAX_LIMIT):
            context = await self.search(text, chosen, limit, history)
            files = (result.chunk.metadata.source_file for result in context.results)
            documents = list(dict.fromkeys(self._corpus.place(file).doc_id for file in files))
            if len(documents) >= RANKED or len(context.results) < limit:
                break
        return documents[:RANKED]

    async def _answer(
        self,
        question: Question,
        text: str,
        history: Sequence[Message],
        context: RetrievalContext,
    ) -> AnswerOutcome:
        book = (await self._askbook.book(BOOK_ID)).book
        query = self._query(text, CONFIGURATIONS[DEFAULT], self._askbook.settings.retrieval.top_k)
        response = await self._turns.answer(query, book, history=history)
        documents = self._documents((*context.results, *response.sources))
        judge = self._searchers.judge
        likeness = self._askbook.likeness
        outcome = await read_answer(response, question, documents, book.disclaimer, judge, likeness)
        first = next(iter(context.results), None)
        floor = read_floor(first, question, documents, answered=outcome.answered)
        return replace(outcome, floor=floor)

    def _documents(self, results: Sequence[SearchResult]) -> dict[str, str]:
        """The document of every chunk."""
        return {
            result.chunk_id: self._corpus.place(result.chunk.metadata.source_file).doc_id
            for result in results
        }

    def _span(self, context: RetrievalContext, number: int) -> Span:
        metadata = context.results[number].chunk.metadata
        place = self._corpus.place(metadata.source_file)
        return (
            place.doc_id,
            max(0, metadata.char_start - place.offset),
            max(0, metadata.char_end - place.offset),
        )

    def _pages(self, context: RetrievalContext) -> list[Span]:
        found: list[Span] = []
        for result in context.results:
            metadata = result.chunk.metadata
            if metadata.page_start is not None and metadata.page_end is not None:
                document = self._corpus.place(metadata.source_file).doc_id
                found.append((document, metadata.page_start, metadata.page_end))
        return found

    def _query(self, text: str, chosen: Configuration, limit: int) -> SearchQuery:
        return SearchQuery(
            text=text, book_id=BOOK_ID, hardware_tier_filter=4, limit=limit, mode=chosen.mode
        )


def said_before(question: Question) -> tuple[Message, ...]:
    """The reader's earlier questions as messages; silence is none."""
    return tuple(Message(role="user", content=said) for said in question.history if said.strip())


def _answer_from(row: dict[str, Any]) -> AnswerOutcome:
    floor = row.pop("floor", None)
    return AnswerOutcome(**row, floor=None if floor is None else AnswerOutcome(**floor))
