"""One exchange: retrieve, decide, answer. Declining is an ordinary end, not an error."""

import time
from dataclasses import replace
from typing import Literal, TypeAlias

from askbook.agent.extractive import MODEL, answer_extractively
from askbook.agent.response import AgentResponse
from askbook.book import Book
from askbook.config import ConfidenceSettings
from askbook.errors import IllegalTransition
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import ConfidenceMetrics, assess
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.search import Searcher

TurnState: TypeAlias = Literal[
    "pending", "retrieving", "generating", "completed", "low_confidence", "no_results", "error"
]

_TRANSITIONS: dict[TurnState, frozenset[TurnState]] = {
    "pending": frozenset({"retrieving", "error"}),
    "retrieving": frozenset({"generating", "no_results", "error"}),
    "generating": frozenset({"completed", "low_confidence", "error"}),
    "completed": frozenset(),
    "low_confidence": frozenset(),
    "no_results": frozenset(),
    "error": frozenset(),
}


class Turn:
    """The state of one exchange in flight; illegal steps are refused."""

    def __init__(self) -> None:
        self.state: TurnState = "pending"

    def to(self, state: TurnState) -> None:
        if state not in _TRANSITIONS[self.state]:
            raise IllegalTransition(f"A turn cannot go from {self.state} to {state}.")
        self.state = state

    @property
    def is_over(self) -> bool:
        return not _TRANSITIONS[self.state]


class ChatTurns:
    """Answers questions with one searcher and one answerer."""

    def __init__(
        self,
        searcher: Searcher,
        judge: Judge | None,
        confidence: ConfidenceSettings,
        calibration: Calibration,
    ) -> None:
        self._searcher = searcher
        self._judge = judge
        self._confidence = confidence
        self._calibration = calibration

    async def answer(self, query: SearchQuery, book: Book) -> AgentResponse:
        """Retrieve first, decide, and answer only when the chunks are enough."""
        started = time.perf_counter()
        turn = Turn()
        turn.to("retrieving")
        try:
            context = await self._searcher.search(query)
            metrics = assess(context, self._confidence, self._calibration)
            if not metrics.should_answer:
                turn.to("no_results")
                return _declined(context, metrics, book, turn, started)
            turn.to("generating")
            return await self._answered(context, metrics, book, turn, started)
        except BaseException:
            if not turn.is_over:
                turn.to("error")
            raise

    async def _answered(
        self,
        context: RetrievalContext,
        metrics: ConfidenceMetrics,
        book: Book,
        turn: Turn,
        started: float,
    ) -> AgentResponse:
        generating = time.perf_counter()
        answer = await answer_extractively(context, book, self._judge)
        if answer is None:
            turn.to("low_confidence")
            nothing = replace(metrics, confidence_level="insufficient", should_answer=False)
            return _declined(context, nothing, book, turn, started)
        low = metrics.confidence_level == "low"
        turn.to("low_confidence" if low else "completed")
        return AgentResponse(
            answer=f"{answer.text}\n\n{book.disclaimer}" if low else answer.text,
            query=context.query,
            book_id=book.book_id,
            model=MODEL,
            metrics=metrics,
            state=turn.state,
            citations=answer.citations,
            sources=answer.cited,
            retrieval_count=context.total_found,
            retrieval_time_ms=context.query_time_ms,
            generation_time_ms=(time.perf_counter() - generating) * 1000,
            total_time_ms=(time.perf_counter() - started) * 1000,
            info=context.info,
        )


def _declined(
    context: RetrievalContext, metrics: ConfidenceMetrics, book: Book, turn: Turn, started: float
) -> AgentResponse:
    return AgentResponse(
        answer=book.refusal,
        query=context.query,
        book_id=book.book_id,
        model=MODEL,
        metrics=metrics,
        state=turn.state,
        retrieval_count=context.total_found,
        retrieval_time_ms=context.query_time_ms,
        total_time_ms=(time.perf_counter() - started) * 1000,
        info=context.info,
    )
