"""One exchange: retrieve, decide, answer, verify. Declining is an ordinary end, not an error."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from askbook.agent.events import AnswerEnded, AnswerEvent, SentenceVerified
from askbook.agent.extractive import MODEL
from askbook.agent.prompting import Asked
from askbook.agent.response import AgentResponse
from askbook.agent.rewriting import Rewriting
from askbook.book import Book
from askbook.chat.elsewhere import covered_elsewhere
from askbook.chat.language import NOTE as FOREIGN
from askbook.chat.language import is_foreign
from askbook.chat.quoting import quote
from askbook.chat.selection import (
    NOT_MARKED_HERE,
    Marked,
    check_selection,
    find_marked,
    is_about_the_mark,
)
from askbook.chat.states import Turn, TurnEnded, TurnEvent, response_of
from askbook.chat.work import Draft, Work
from askbook.config import ConfidenceSettings
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import ConfidenceMetrics, assess
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.search import Searcher


class Answerer(Protocol):
    """Has a language model answer."""

    @property
    def model_name(self) -> str: ...

    async def complete(self, question: str, history: Sequence[Message]) -> Rewriting:
        """A follow-up made self-contained, and the tokens it took."""
        ...

    def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]: ...

    async def close(self) -> None: ...


class ChatTurns:
    """Answers questions with one searcher and one answerer: a model if there is one, else quotations."""

    def __init__(
        self,
        searcher: Searcher,
        judge: Judge | None,
        confidence: ConfidenceSettings,
        calibration: Callable[[RetrievalContext], Calibration],
        tutor: Answerer | None = None,
    ) -> None:
        self._searcher = searcher
        self._judge = judge
        self._confidence = confidence
        self._calibration = calibration
        self._tutor = tutor

    @property
    def model_name(self) -> str:
        return self._tutor.model_name if self._tutor else MODEL

    async def answer(
        self,
        query: SearchQuery,
        book: Book,
        *,
        history: Sequence[Message] = (),
        selected_text: str | None = None,
    ) -> AgentResponse:
        """Retrieve first, decide, and answer only when the chunks are enough."""
        return await response_of(
            self.stream(query, book, history=history, selected_text=selected_text)
        )

    async def stream(
        self,
        query: SearchQuery,
        book: Book,
        *,
        history: Sequence[Message] = (),
        selected_text: str | None = None,
    ) -> AsyncGenerator[TurnEvent]:
        """The turn as it happens; sentences come only after their check and are never taken back."""
        check_selection(selected_text)
        turn = Turn()
        work = Work(query, book, history, selected_text, turn, time.perf_counter())
        try:
            async with aclosing(self._run(work)) as events:
                async for event in events:
                    yield event
        except BaseException:
            if not turn.is_over:
                turn.to("error")
            raise

    async def _run(self, work: Work) -> AsyncGenerator[TurnEvent]:
        yield work.enter("retrieving")
        work = await self._read(work)
        context, metrics, marked = await self._retrieved(work)
        if is_foreign(work.query.text, (result.text for result in context.results)):
            context, metrics = self._in_doubt(context, metrics)
        if not metrics.should_answer:
            yield work.enter("no_results")
            yield await self._declined(work, context, metrics, marked)
            return
        yield work.enter("generating")
        draft = Draft(self.model_name)
        async with aclosing(self._written(work, context, draft)) as events:
            async for event in events:
                yield event
        if not draft.text:
            yield work.enter("low_confidence")
            nothing = replace(metrics, confidence_level="insufficient", should_answer=False)
            declined = _ended(work.declined(context, nothing, draft, work.book.refusal), context)
            yield replace(declined, searches=draft.ended.searches)
            return
        if draft.has_gaps:
            metrics = replace(metrics, confidence_level="low")
        yield work.enter("low_confidence" if metrics.confidence_level == "low" else "completed")
        answered = work.answered(context, metrics, draft)
        yield TurnEnded(
            answered, filter_applied=context.filter_applied, searches=draft.ended.searches
        )

    async def _written(
        self, work: Work, context: RetrievalContext, draft: Draft
    ) -> AsyncGenerator[TurnEvent]:
        """The sentences of the answer: the model's; where there is none or it failed, the book's own."""
        if self._tutor is not None:
            asked = Asked(
                query=work.query,
                book=work.book,
                context=context,
                history=work.history,
                selection=work.selected_text,
            )
            async with aclosing(self._tutor.answer(asked)) as events:
                async for event in events:
                    if isinstance(event, AnswerEnded):
                        draft.ended = event
                        continue
                    if isinstance(event, SentenceVerified):
                        draft.add(event)
                    yield event
        if draft.ended.failed is not None:
            draft.model = MODEL
            found = work.pointed(context)
            async for event in quote(found, work.book, self._judge, work.said, work.heard):
                if isinstance(event, SentenceVerified):
                    draft.add(event)
                yield event

    async def _declined(
        self,
        work: Work,
        context: RetrievalContext,
        metrics: ConfidenceMetrics,
        marked: Marked | None,
    ) -> TurnEnded:
        """What a reader is told whose question the book does not answer."""
        draft, refusal = Draft(self.model_name), work.book.refusal
        # What "explain this" or "the second one" comes near to is no help where it means nothing here.
        if self._unasked(work) is not None:
            # Nothing was asked that the book could lack: its refusal would answer a question that nobody put.
            response = work.declined(context, metrics, draft, metrics.reason)
            return _ended(replace(response, nearest=()), context)
        if marked is not None and not marked.results:
            response = work.declined(context, metrics, draft, f"{metrics.reason} {refusal}")
            return _ended(replace(response, nearest=()), context)
        hint = await self._elsewhere(work)
        if hint is not None:
            context = replace(context, info=(*context.info, hint))
            metrics = replace(metrics, reason=f"{metrics.reason} {hint}")
        response = work.declined(context, metrics, draft, refusal)
        return _ended(response, context, is_covered_elsewhere=hint is not None)

    async def _read(self, work: Work) -> Work:
        """The work with its question made self-contained, by the model where there is one."""
        if self._tutor is None or not work.followed:
            return work
        made = await self._tutor.complete(work.query.text, work.followed)
        return replace(work, rewriting=made)

    async def _retrieved(
        self, work: Work
    ) -> "tuple[RetrievalContext, ConfidenceMetrics, Marked | None]":
        """What the question found, how far to trust it, and where the marked passage stands."""
        context = await self._searcher.search(work.query, work.followed, work.reading)
        metrics = self._assessed(context)
        if (reason := self._unasked(work)) is not None:
            return context, _not_answered(metrics, reason), None
        if work.selected_text is None:
            return context, metrics, None
        marked = await find_marked(self._searcher, work.query, work.selected_text)
        if not marked.results:
            return context, _not_answered(metrics, NOT_MARKED_HERE), marked
        context = await self._about(context, marked, work.query)
        metrics = self._assessed(context)
        if is_about_the_mark(work.query.text):
            # "Explain this" says nothing of its own: that the passage was found is what counts.
            metrics = replace(
                metrics,
                confidence=marked.share,
                confidence_level="high" if marked.share >= self._confidence.high else "medium",
                should_answer=True,
                reason=f"The marked passage is from “{marked.results[0].page_title}”.",
            )
        return context, metrics, marked

    def _unasked(self, work: Work) -> str | None:
        """Why a message is no question; a model that reads what was said before may know what it means."""
        return None if self._tutor is not None and work.history else work.unasked

    async def assess(self, query: SearchQuery) -> ConfidenceMetrics:
        """How far the book answers a question, without answering it."""
        return self._assessed(await self._searcher.search(query))

    def _assessed(self, context: RetrievalContext) -> ConfidenceMetrics:
        """How far to trust a retrieval, by what it was made from: the judge may have been out of order."""
        return assess(context, self._confidence, self._calibration(context))

    async def _elsewhere(self, work: Work) -> str | None:
        """Where the book answers outside the reader's filter."""
        return await covered_elsewhere(
            self._searcher,
            work.query,
            work.followed,
            lambda found: self._assessed(found).should_answer,
            work.reading,
        )

    def _in_doubt(
        self, context: RetrievalContext, metrics: ConfidenceMetrics
    ) -> tuple[RetrievalContext, ConfidenceMetrics]:
        """Across languages names may match where nothing else does: no more than a low confidence."""
        if metrics.should_answer:
            metrics = replace(
                metrics, confidence_level="low", should_answer=not self._confidence.strict
            )
        return replace(context, info=(*context.info, FOREIGN)), metrics

    async def _about(
        self, context: RetrievalContext, marked: Marked, query: SearchQuery
    ) -> RetrievalContext:
        """The retrieval with the marked passage first."""
        known = {result.chunk_id for result in marked.results}
        kept = [
            (result, judgement)
            for result, judgement in zip(
                context.results, context.judgements or (None,) * context.total_found, strict=True
            )
            if result.chunk_id not in known
        ]
        judgements = [None for _ in marked.results]
        if self._judge is not None and context.was_judged:
            texts = [result.chunk.embedded_text for result in marked.results]
            judgements = list(await self._judge.judge(query.text, texts))
        if is_about_the_mark(query.text):
            kept = []
        ordered = [*marked.results, *(result for result, _ in kept)]
        return replace(
            context,
            results=tuple(replace(r, rank=n) for n, r in enumerate(ordered, 1)),
            judgements=(*judgements, *(j for _, j in kept)),
        )


def _not_answered(metrics: ConfidenceMetrics, reason: str) -> ConfidenceMetrics:
    """The metrics of a question that cannot be answered, whatever was found."""
    return replace(
        metrics,
        confidence=0.0,
        confidence_level="insufficient",
        should_answer=False,
        reason=reason,
    )


def _ended(
    response: AgentResponse, context: RetrievalContext, *, is_covered_elsewhere: bool = False
) -> TurnEnded:
    """The end of a declined turn, with what came nearest."""
    nearest = next(iter(context.results), None)
    return TurnEnded(response, nearest, is_covered_elsewhere, context.filter_applied)
