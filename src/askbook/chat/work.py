"""One question on its way to an answer: what is known of it, and the response it becomes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from askbook.agent.contradictions import NOTE, is_divided
from askbook.agent.events import AnswerEnded, SentenceVerified
from askbook.agent.response import AgentResponse, Citation, cite
from askbook.agent.rewriting import Rewriting
from askbook.book import Book, DocumentChunk
from askbook.chat.selection import is_about_the_mark
from askbook.chat.states import StateChanged, Turn, TurnState
from askbook.retrieval.confidence import ConfidenceMetrics
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp, rewritten
from askbook.retrieval.history import Message
from askbook.retrieval.items import unclear_pointer
from askbook.retrieval.pointing import asks_for_more, only_greets, with_it_named
from askbook.retrieval.query import MAX_QUESTION, SearchQuery, SearchResult
from askbook.retrieval.spelling import respelt

LONGEST_QUOTE = 900
GREETED = "Nothing was asked here. Write what you want to know."
UNCLEAR = (
    "It is not clear what “{words}” is: nothing said before lists it. Ask again with its name."
)
NEAREST = 3
"""Lessons a declined reader is pointed to."""


def unasked(text: str, history: Sequence[Message]) -> str | None:
    """Why a message is no question that can be looked for, in a reader's words; none for one that is."""
    if only_greets(text):
        return GREETED
    words = unclear_pointer(text, history)
    return None if words is None else UNCLEAR.format(words=words)


@dataclass(slots=True)
class Draft:
    """The answer as it grows from verified sentences, who writes it, and how that ended."""

    model: str
    started: float = field(default_factory=time.perf_counter)
    text: str = ""
    sentences: int = 0
    quotes: list[Citation] = field(default_factory=list[Citation])
    ended: AnswerEnded = AnswerEnded(failed="")  # noqa: RUF009  # it never changes
    """Until a model has ended, none has answered."""

    def add(self, sentence: SentenceVerified) -> None:
        self.text += sentence.joint + sentence.text
        self.sentences += 1
        self.quotes += sentence.citations

    @property
    def has_gaps(self) -> bool:
        """Half of the answer or more could not be said: what is left may not be all of it."""
        return self.ended.removed >= self.sentences


@dataclass(frozen=True, slots=True)
class Work:
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

    @property
    def unasked(self) -> str | None:
        """Why a message is no question; a mark says itself what it is about."""
        return None if self.selected_text is not None else unasked(self.query.text, self.history)

    @property
    def said(self) -> str:
        """What a reader who asks for more has read already."""
        if not asks_for_more(self.query.text):
            return ""
        return "\n\n".join(m.content for m in self.followed if m.role == "assistant")

    @property
    def heard(self) -> str:
        """The answer just given, where a reader asks on about its subject: it need not be said again."""
        answers = [m.content for m in self.followed if m.role == "assistant"]
        return answers[-1] if answers and self._named else ""

    @property
    def _named(self) -> str | None:
        """The question with its subject in the place of "it", where no model completed it."""
        return None if self.rewriting.text else with_it_named(self.query.text, self.followed)

    def pointed(self, context: RetrievalContext) -> RetrievalContext:
        """For quoting, a question that only points asks for the marked words, or for what was said."""
        if self.selected_text is None:
            named = self._named and respelt(self._named, context.spellings)
            return replace(context, query=named or context.asked)
        if not is_about_the_mark(self.query.text):
            return context
        return replace(context, query=self.selected_text[:MAX_QUESTION])

    def enter(self, state: TurnState) -> StateChanged:
        """Take the turn to its next state."""
        self.turn.to(state)
        return StateChanged(state)

    def declined(
        self, context: RetrievalContext, metrics: ConfidenceMetrics, draft: Draft, said: str
    ) -> AgentResponse:
        """The book's refusal, with the lessons that came nearest."""
        response = self._response(context, metrics, draft, said)
        return replace(response, nearest=_nearest(context, self.book))

    def answered(
        self, context: RetrievalContext, metrics: ConfidenceMetrics, draft: Draft
    ) -> AgentResponse:
        """What was said, with its notes and citations."""
        notes = [NOTE] if is_divided(draft.quotes) else []
        notes += [self.book.disclaimer] if metrics.confidence_level == "low" else []
        said = "\n\n".join((draft.text, *notes))
        results = (*context.results, *draft.ended.results)
        citations, cited = _merged(draft.quotes, results, self.book)
        return replace(
            self._response(context, metrics, draft, said),
            citations=citations,
            sources=cited,
            generation_time_ms=(time.perf_counter() - draft.started) * 1000,
        )

    def _response(
        self, context: RetrievalContext, metrics: ConfidenceMetrics, draft: Draft, said: str
    ) -> AgentResponse:
        failed = (draft.ended.failed,) if draft.ended.failed else ()
        return AgentResponse(
            answer=said,
            query=context.query,
            book_id=self.book.book_id,
            model=draft.model,
            metrics=metrics,
            state=self.turn.state,
            tokens_used=self.rewriting.tokens_used + draft.ended.tokens_used,
            prompt_tokens=self.rewriting.prompt_tokens + draft.ended.prompt_tokens,
            retrieval_count=context.total_found,
            retrieval_time_ms=context.query_time_ms,
            total_time_ms=(time.perf_counter() - self.started) * 1000,
            info=(*context.info, *draft.ended.info, *failed),
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
    cited = (replace(chunks[citation.chunk_id], link=citation.url) for citation in citations)
    return tuple(citations), tuple(cited)
