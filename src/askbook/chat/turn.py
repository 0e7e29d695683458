"""One exchange: retrieve, decide, answer, verify. Declining is an ordinary end, not an error."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from askbook.agent.contradictions import NOTE, is_divided
from askbook.agent.events import AnswerEnded, AnswerEvent, SentenceVerified
from askbook.agent.extractive import MODEL
from askbook.agent.prompting import Asked
from askbook.agent.response import AgentResponse, Citation, cite
from askbook.agent.rewriting import Rewriting
from askbook.book import Book, DocumentChunk
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
from askbook.chat.states import StateChanged, Turn, TurnEnded, TurnEvent, response_of
from askbook.config import ConfidenceSettings
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import ConfidenceMetrics, assess
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp, rewritten
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import MAX_QUESTION, SearchQuery, SearchResult
from askbook.retrieval.search import Searcher

LONGEST_QUOTE = 900
NEAREST = 3
"""Lessons a declined reader is pointed to."""


class Answerer(Protocol):
    """Has a language model answer."""

    @property
    def model_name(self) -> str: ...

    async def complete(self, question: str, history: Sequence[Message]) -> Rewriting:
        """A follow-up made self-contained, and the tokens it took."""
        ...

    def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]: ...

    async def close(self) -> None: ...


@dataclass(slots=True)
class _Composed:
    """The answer as it grows from verified sentences."""

    text: str = ""
    sentences: int = 0
    quotes: list[Citation] = field(default_factory=list[Citation])

    def add(self, sentence: SentenceVerified) -> None:
        self.text += sentence.joint + sentence.text
        self.sentences += 1
        self.quotes += sentence.citations


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
        work = _Work(query, book, history, selected_text, turn, time.perf_counter())
        try:
            async with aclosing(self._run(work)) as events:
                async for event in events:
                    yield event
        except BaseException:
            if not turn.is_over:
                turn.to("error")
            raise

    async def _run(self, work: "_Work") -> AsyncGenerator[TurnEvent]:
        turn, book = work.turn, work.book
        turn.to("retrieving")
        yield StateChanged(turn.state)
        work = await self._read(work)
        context, metrics, marked = await self._retrieved(work)
        if is_foreign(work.query.text, (result.text for result in context.results)):
            context, metrics = self._in_doubt(context, metrics)
        if not metrics.should_answer:
            turn.to("no_results")
            yield StateChanged(turn.state)
            foreign = marked is not None and not marked.results
            hint = None if foreign else await self._elsewhere(work)
            if hint is not None:
                context = replace(context, info=(*context.info, hint))
                metrics = replace(metrics, reason=f"{metrics.reason} {hint}")
            said = f"{NOT_MARKED_HERE} {book.refusal}" if foreign else book.refusal
            response = work.declined(context, metrics, self.model_name, said)
            if foreign:
                # What "explain this" comes near to is no help for a text from elsewhere.
                response = replace(response, nearest=())
            nearest = next(iter(context.results), None)
            yield TurnEnded(
                response,
                nearest,
                is_covered_elsewhere=hint is not None,
                filter_applied=context.filter_applied,
            )
            return
        turn.to("generating")
        yield StateChanged(turn.state)
        generating = time.perf_counter()
        composed = _Composed()
        model, ended = self.model_name, AnswerEnded(failed="")
        if self._tutor is not None:
            asked = Asked(
                query=work.query,
                book=book,
                context=context,
                history=work.history,
                selection=work.selected_text,
            )
            async with aclosing(self._tutor.answer(asked)) as events:
                async for event in events:
                    if isinstance(event, AnswerEnded):
                        ended = event
                    else:
                        if isinstance(event, SentenceVerified):
                            composed.add(event)
                        yield event
        info = (*context.info, *ended.info)
        if ended.failed is not None:
            model = MODEL
            info = (*info, ended.failed) if ended.failed else info
            async for event in quote(work.pointed(context), book, self._judge):
                if isinstance(event, SentenceVerified):
                    composed.add(event)
                yield event
        if not composed.text:
            turn.to("low_confidence")
            yield StateChanged(turn.state)
            nothing = replace(metrics, confidence_level="insufficient", should_answer=False)
            response = work.declined(context, nothing, model, book.refusal)
            response = replace(
                response,
                info=info,
                tokens_used=work.rewriting.tokens_used + ended.tokens_used,
                prompt_tokens=work.rewriting.prompt_tokens + ended.prompt_tokens,
            )
            nearest = next(iter(context.results), None)
            yield TurnEnded(response, nearest, filter_applied=context.filter_applied)
            return
        if ended.removed >= composed.sentences and metrics.confidence_level != "low":
            # Half of the answer or more could not be said: what is left may not be all of it.
            metrics = replace(metrics, confidence_level="low")
        low = metrics.confidence_level == "low"
        turn.to("low_confidence" if low else "completed")
        yield StateChanged(turn.state)
        notes = [NOTE] if is_divided(composed.quotes) else []
        notes += [book.disclaimer] if low else []
        citations, cited = _merged(composed.quotes, (*context.results, *ended.results), book)
        yield TurnEnded(
            AgentResponse(
                answer="\n\n".join((composed.text, *notes)),
                query=context.query,
                book_id=book.book_id,
                model=model,
                metrics=metrics,
                state=turn.state,
                citations=citations,
                sources=cited,
                tokens_used=work.rewriting.tokens_used + ended.tokens_used,
                prompt_tokens=work.rewriting.prompt_tokens + ended.prompt_tokens,
                retrieval_count=context.total_found,
                retrieval_time_ms=context.query_time_ms,
                generation_time_ms=(time.perf_counter() - generating) * 1000,
                total_time_ms=(time.perf_counter() - work.started) * 1000,
                info=info,
            ),
            filter_applied=context.filter_applied,
        )

    async def _read(self, work: "_Work") -> "_Work":
        """The work with its question made self-contained, by the model where there is one."""
        if self._tutor is None or not work.followed:
            return work
        made = await self._tutor.complete(work.query.text, work.followed)
        return replace(work, rewriting=made)

    async def _retrieved(
        self, work: "_Work"
    ) -> "tuple[RetrievalContext, ConfidenceMetrics, Marked | None]":
        """What the question found, how far to trust it, and where the marked passage stands."""
        context = await self._searcher.search(work.query, work.followed, work.reading)
        metrics = self._assessed(context)
        if work.selected_text is None:
            return context, metrics, None
        marked = await find_marked(self._searcher, work.query, work.selected_text)
        if not marked.results:
            foreign = replace(
                metrics,
                confidence=0.0,
                confidence_level="insufficient",
                should_answer=False,
                reason=NOT_MARKED_HERE,
            )
            return context, foreign, marked
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

    async def assess(self, query: SearchQuery) -> ConfidenceMetrics:
        """How far the book answers a question, without answering it."""
        return self._assessed(await self._searcher.search(query))

    def _assessed(self, context: RetrievalContext) -> ConfidenceMetrics:
        """How far to trust a retrieval, by what it was made from: the judge may have been out of order."""
        return assess(context, self._confidence, self._calibration(context))

    async def _elsewhere(self, work: "_Work") -> str | None:
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


@dataclass(frozen=True, slots=True)
class _Work:
    """One question on its way."""

    query: SearchQuery
    book: Book
    history: Sequence[Message]
    selected_text: str | None
    turn: Turn
    started: float
    rewriting: Rewriting = Rewriting()  # noqa: RUF009  # it never changes

    @property
    def followed(self) -> Sequence[Message]:
        """What the question follows; a mark says itself what it is about."""
        return self.history if self.selected_text is None else ()

    @property
    def reading(self) -> FollowUp | None:
        """The question as the model completed it."""
        return rewritten(self.rewriting.text) if self.rewriting.text else None

    def pointed(self, context: RetrievalContext) -> RetrievalContext:
        """For quoting, a question that only points asks for the marked words, or for what was said."""
        if self.selected_text is None:
            return replace(context, query=context.asked)
        if not is_about_the_mark(self.query.text):
            return context
        return replace(context, query=self.selected_text[:MAX_QUESTION])

    def declined(
        self, context: RetrievalContext, metrics: ConfidenceMetrics, model: str, said: str
    ) -> AgentResponse:
        return AgentResponse(
            answer=said,
            query=context.query,
            book_id=self.book.book_id,
            model=model,
            metrics=metrics,
            state=self.turn.state,
            tokens_used=self.rewriting.tokens_used,
            prompt_tokens=self.rewriting.prompt_tokens,
            retrieval_count=context.total_found,
            retrieval_time_ms=context.query_time_ms,
            total_time_ms=(time.perf_counter() - self.started) * 1000,
            info=context.info,
            nearest=_nearest(context, self.book),
        )


def _nearest(context: RetrievalContext, book: Book) -> tuple[Citation, ...]:
    """The lessons that came nearest, each once and without its words: they do not answer."""
    lessons: dict[str, DocumentChunk] = {}
    for result in context.results:
        lessons.setdefault(result.chunk.metadata.parent_doc_id, result.chunk)
    best = list(lessons.values())[:NEAREST]
    return tuple(cite(book, chunk, n, 0, 0) for n, chunk in enumerate(best, 1))


def _merged(
    quotes: Sequence[Citation], results: Sequence[SearchResult], book: Book
) -> tuple[tuple[Citation, ...], tuple[SearchResult, ...]]:
    """One citation for each number, its quote stretched over all that was used, and the cited results."""
    chunks = {result.chunk_id: result for result in results}
    citations: list[Citation] = []
    for n in dict.fromkeys(quoted.n for quoted in quotes):
        mine = [quoted for quoted in quotes if quoted.n == n]
        start, end = min(q.quote_start for q in mine), max(q.quote_end for q in mine)
        if end - start > LONGEST_QUOTE:
            start, end = mine[0].quote_start, mine[0].quote_end
        citations.append(cite(book, chunks[mine[0].chunk_id].chunk, n, start, end))
    return tuple(citations), tuple(chunks[citation.chunk_id] for citation in citations)
