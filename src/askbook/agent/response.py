"""What a reader gets: an answer whose every sentence names its place, or an honest refusal."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote as percent

from askbook.book import Book, DocumentChunk
from askbook.errors import InvalidInput
from askbook.retrieval.confidence import ConfidenceLevel, ConfidenceMetrics
from askbook.retrieval.context import sources_footer
from askbook.retrieval.query import SearchResult

DISPLAY_LENGTH = 500
READING = "/read/"
"""Where our own reading page is, for books without a site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place in the book that supports a sentence, with the words that do."""

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
    """Of a PDF: the page the words stand on, or the section they stand in begins on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResponse:
    """One answered or declined question."""

    answer: str
    query: str
    book_id: str
    model: str
    metrics: ConfidenceMetrics
    state: str
    citations: tuple[Citation, ...] = ()
    sources: tuple[SearchResult, ...] = ()
    tokens_used: int = 0
    prompt_tokens: int = 0
    """Those of `tokens_used` that the model read."""
    retrieval_count: int = 0
    retrieval_time_ms: float = 0.0
    generation_time_ms: float = 0.0
    total_time_ms: float = 0.0
    error: str | None = None
    info: tuple[str, ...] = ()
    nearest: tuple[Citation, ...] = ()
    """Of a declined question: where the book comes nearest, though it does not answer there."""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        if not self.answer.strip():
            raise InvalidInput("An answer must not be empty.")
        if self.tokens_used < 0:
            raise InvalidInput(f"tokens_used is {self.tokens_used}, but must be 0 or more.")

    @property
    def confidence(self) -> float:
        return self.metrics.confidence

    @property
    def confidence_level(self) -> ConfidenceLevel:
        return self.metrics.confidence_level

    @property
    def should_answer(self) -> bool:
        return self.metrics.should_answer

    @property
    def evidence(self) -> dict[str, Any]:
        """What the answer rests on, as JSON, to be shown with it again."""
        return {
            "model": self.model,
            "citations": [asdict(citation) for citation in self.citations],
            "nearest": [asdict(place) for place in self.nearest],
            "confidence_level": self.confidence_level,
            "should_answer": self.should_answer,
            "reason": self.metrics.reason,
        }

    def format_with_sources(self) -> str:
        """The answer with its sources below, as plain text."""
        if not self.sources:
            return self.answer
        return f"{self.answer}\n{sources_footer(self.sources)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "citations": [asdict(citation) for citation in self.citations],
            "sources": [source.to_json() for source in self.sources],
            "query": self.query,
            "book_id": self.book_id,
            "model": self.model,
            "tokens_used": self.tokens_used,
            "retrieval_count": self.retrieval_count,
            "retrieval_time_ms": self.retrieval_time_ms,
            "generation_time_ms": self.generation_time_ms,
            "total_time_ms": self.total_time_ms,
            "confidence": self.confidence,
            "confidence_level": self.confidence_level,
            "should_answer": self.should_answer,
            "metrics": self.metrics.to_json(),
            "state": self.state,
            "info": list(self.info),
            "nearest": [asdict(place) for place in self.nearest],
            "error": self.error,
            "created_at": self.created_at.isoformat(),
        }


def linked(book: Book, results: Iterable[SearchResult]) -> tuple[SearchResult, ...]:
    """Results that open where a citation of the whole passage would."""
    return tuple(replace(r, link=cite(book, r.chunk, r.rank, 0, len(r.text)).url) for r in results)


def cite(book: Book, chunk: DocumentChunk, n: int, start: int, end: int) -> Citation:
    """A citation of `chunk.text[start:end]`, pointing at the book's site or at our own reading page."""
    metadata, section = chunk.metadata, chunk.section_at(start)
    page_url, anchor = metadata.url.partition("#")[0], section.anchor
    if book.base_url is None:
        page_url = f"{READING}{percent(book.book_id)}/{percent(metadata.source_file)}"
        url = f"{page_url}?chunk={chunk.id}&quote={start}-{end}"
    else:
        url = page_url
    return Citation(
        n=n,
        page_title=metadata.page_title,
        section_title=section.title or None,
        page_url=page_url,
        url=f"{url}#{percent(anchor, safe='/=')}" if anchor else url,
        module_name=metadata.module,
        chunk_id=chunk.id,
        quote=chunk.text[start:end],
        quote_start=start,
        quote_end=end,
        page=_page(chunk, anchor),
    )


def _page(chunk: DocumentChunk, anchor: str) -> int | None:
    named = re.fullmatch(r"page=(\d{1,6})", anchor)
    return int(named[1]) if named and chunk.metadata.page_start is not None else None
