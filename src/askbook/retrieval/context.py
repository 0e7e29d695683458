"""What a question found, in the forms that answerers and readers need."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from askbook.retrieval.anchors import Anchors
from askbook.retrieval.judging import Judgement
from askbook.retrieval.query import SearchQuery, SearchResponse, SearchResult

NOTHING_FOUND = "No relevant content found in the book."
MIN_RELEVANCE_SCORE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalContext:
    """The results of one question, best first, with what confidence is computed from."""

    query: str
    """What the reader wrote."""
    results: tuple[SearchResult, ...]
    query_time_ms: float
    top_k: int = 5
    filter_applied: str | None = None
    judgements: tuple[Judgement | None, ...] = ()
    background: tuple[float, ...] = ()
    diversity: float = 0.0
    agreement: float = 0.0
    min_relevance_score: float = MIN_RELEVANCE_SCORE
    info: tuple[str, ...] = ()
    retrieved_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    anchors: Anchors | None = None
    reading: str | None = None
    """The question that the reader's stands for, where it points at what was said before or has misspelt words."""
    spellings: Mapping[str, str] = field(default_factory=dict[str, str])
    """The book's words for those that are misspelt."""

    @property
    def asked(self) -> str:
        """What is to be answered."""
        return self.reading or self.query

    @property
    def total_found(self) -> int:
        return len(self.results)

    @property
    def scores(self) -> tuple[float, ...]:
        return tuple(result.score for result in self.results)

    @property
    def average_score(self) -> float:
        return sum(self.scores) / len(self.scores) if self.results else 0.0

    @property
    def has_sufficient_context(self) -> bool:
        """The documents' literal rule, reported for programs that rely on it."""
        return self.average_score >= 0.75 and len(self.results) >= 3

    @property
    def has_relevant_results(self) -> bool:
        """Whether any cosine reaches ASKBOOK_MIN_RELEVANCE_SCORE."""
        return any(score >= self.min_relevance_score for score in self.scores)

    @property
    def was_judged(self) -> bool:
        return any(judgement is not None for judgement in self.judgements)

    def format_for_agent(self) -> str:
        """Numbered sources for a model's prompt."""
        if not self.results:
            return NOTHING_FOUND
        lines: list[str] = []
        for number, result in enumerate(self.results, 1):
            lines += [
                f"[{number}] Source: {result.url}",
                f"    Score: {result.score:.2f}",
                f"    Content: {result.text}",
                "",
            ]
        return "\n".join(lines)

    def format_sources_footer(self) -> str:
        return sources_footer(self.results)

    def to_response(self, query: SearchQuery) -> SearchResponse:
        return SearchResponse(
            query=query.text,
            results=self.results,
            hardware_tier_filter=query.hardware_tier_filter,
            module_filter=query.module_filter,
            book_id=query.book_id,
            info=self.info,
        )


def sources_footer(results: tuple[SearchResult, ...]) -> str:
    """The list of sources that closes a plain-text answer; nothing when there are none."""
    if not results:
        return ""
    lines = ["", "---", "**Sources:**"]
    lines += [f"[{n}] {r.url} (score: {r.score:.2f})" for n, r in enumerate(results, 1)]
    return "\n".join(lines)
