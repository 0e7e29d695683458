"""An answer, as it is told over HTTP."""

from typing import Any

from pydantic import BaseModel

from askbook.agent.response import DISPLAY_LENGTH, AgentResponse, Citation
from askbook.api.answers import render_answer
from askbook.api.schemas.times import iso_now
from askbook.retrieval.confidence import ConfidenceLevel
from askbook.retrieval.query import SearchResult


class Source(BaseModel):
    """A cited chunk, short enough to show."""

    chunk_text: str
    similarity_score: float
    chapter: str
    section: str
    url: str
    chunk_index: int
    chunk_id: str
    page_title: str
    rank: int

    @classmethod
    def of(cls, result: SearchResult) -> "Source":
        return cls(
            chunk_text=result.text[:DISPLAY_LENGTH],
            similarity_score=result.score,
            chapter=result.chapter,
            section=result.section,
            url=result.url,
            chunk_index=result.chunk.metadata.chunk_index,
            chunk_id=result.chunk_id,
            page_title=result.page_title,
            rank=result.rank,
        )


class CitationBody(BaseModel):
    """A place in the book that supports the answer."""

    n: int
    page_title: str
    section_title: str | None
    page_url: str
    url: str
    module_name: str
    chunk_id: str
    quote: str
    quote_start: int
    quote_end: int
    page: int | None = None

    @classmethod
    def of(cls, citation: Citation) -> "CitationBody":
        return cls(**{name: getattr(citation, name) for name in cls.model_fields})


class Timings(BaseModel):
    retrieval_time_ms: float
    generation_time_ms: float
    total_time_ms: float


class ChatResponse(BaseModel):
    """An answer or a refusal, as HTTP clients see it."""

    response: str
    confidence: float
    confidence_level: ConfidenceLevel
    should_answer: bool
    sources: list[Source]
    citations: list[CitationBody]
    session_id: str
    timestamp: str
    state: str
    model: str
    tokens_used: int
    book_id: str
    metrics: dict[str, Any]
    timings: Timings
    info: list[str]
    nearest: list[CitationBody]
    html: str | None = None

    @classmethod
    def of(cls, answer: AgentResponse, session_id: str, *, html: bool = False) -> "ChatResponse":
        return cls(
            response=answer.answer,
            confidence=answer.confidence,
            confidence_level=answer.confidence_level,
            should_answer=answer.should_answer,
            sources=[Source.of(source) for source in answer.sources],
            citations=[CitationBody.of(citation) for citation in answer.citations],
            session_id=session_id,
            timestamp=iso_now(),
            state=answer.state,
            model=answer.model,
            tokens_used=answer.tokens_used,
            book_id=answer.book_id,
            metrics=answer.metrics.to_json(),
            timings=Timings(
                retrieval_time_ms=answer.retrieval_time_ms,
                generation_time_ms=answer.generation_time_ms,
                total_time_ms=answer.total_time_ms,
            ),
            info=list(answer.info),
            nearest=[CitationBody.of(place) for place in answer.nearest],
            html=render_answer(answer.answer, answer.citations) if html else None,
        )
