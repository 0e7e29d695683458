"""A question with its filters, and what a search gives back."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from askbook.book import (
    HARDWARE_TIERS,
    PROFICIENCY_LEVELS,
    TEACHING_LAYERS,
    DocumentChunk,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
    is_text,
)
from askbook.errors import InvalidInput
from askbook.index import ChunkFilter

SearchMode: TypeAlias = Literal["hybrid", "dense", "sparse"]
MAX_QUESTION = 1000
MAX_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What is asked, of which book, and what may be found. All filters hold at once."""

    text: str
    book_id: str
    hardware_tier_filter: HardwareTier = 1
    readable_tier: HardwareTier = 4
    """The highest tier the caller may read: nothing above it is looked at, not even to say that it is there."""
    module_filter: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson_filter: int | None = None
    proficiency_levels: tuple[ProficiencyLevel, ...] | None = None
    layer_filter: TeachingLayer | None = None
    parent_doc_id: str | None = None
    limit: int = 5
    mode: SearchMode = "hybrid"
    min_relevance: float = 0.0
    min_score: float = 0.0

    def __post_init__(self) -> None:
        check_question(self.text)
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidInput(f"top_k is {self.limit}, but must be between 1 and {MAX_LIMIT}.")
        if self.hardware_tier_filter not in HARDWARE_TIERS:
            raise InvalidInput(f"The tier is {self.hardware_tier_filter}, but must be 1 to 4.")
        if self.layer_filter is not None and self.layer_filter not in TEACHING_LAYERS:
            allowed = ", ".join(TEACHING_LAYERS)
            raise InvalidInput(f"The layer is {self.layer_filter!r}, but must be one of {allowed}.")
        for level in self.proficiency_levels or ():
            if level not in PROFICIENCY_LEVELS:
                allowed = ", ".join(PROFICIENCY_LEVELS)
                raise InvalidInput(f"The proficiency is {level!r}, but must be one of {allowed}.")
        if (
            self.chapter_min is not None
            and self.chapter_max is not None
            and self.chapter_min > self.chapter_max
        ):
            raise InvalidInput(
                f"The chapters run from {self.chapter_min} to {self.chapter_max}.",
                "Give the lower number first.",
            )

    @property
    def readable(self) -> ChunkFilter:
        """All of the book that the caller may read."""
        return ChunkFilter(book_id=self.book_id, hardware_tier=self.readable_tier)

    @property
    def where(self) -> ChunkFilter:
        return ChunkFilter(
            book_id=self.book_id,
            hardware_tier=self.hardware_tier_filter,
            module=self.module_filter,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson_filter,
            proficiency_levels=self.proficiency_levels,
            layer=self.layer_filter,
            parent_doc_id=self.parent_doc_id,
        )


def check_question(text: str) -> None:
    """A question must say something, and not too much."""
    if not text.strip():
        raise InvalidInput("The question is empty.", "Write what you want to know.")
    if len(text) > MAX_QUESTION:
        raise InvalidInput(
            f"The question has {len(text)} characters, at most {MAX_QUESTION} are taken.",
            "Shorten it to what you want to know.",
        )
    if not is_text(text):
        raise InvalidInput("The question holds bytes that are no text.", "Write it as UTF-8.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a result stands where it stands."""

    dense_rank: int | None
    sparse_rank: int | None
    judged: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One hit: `score` is the cosine, `relevance` a probability, `fused` what the order was made from."""

    chunk: DocumentChunk
    rank: int
    score: float
    relevance: float
    fused: float
    explanation: Explanation
    link: str | None = None
    """Where it can be opened, once that is known: on the book's site, or on our own reading page."""

    @property
    def chunk_id(self) -> str:
        return self.chunk.id

    @property
    def text(self) -> str:
        return self.chunk.text

    @property
    def url(self) -> str:
        return self.link or self.chunk.metadata.url

    @property
    def page_title(self) -> str:
        return self.chunk.metadata.page_title

    @property
    def section(self) -> str:
        return self.chunk.metadata.section_title or self.page_title

    @property
    def chapter(self) -> str:
        return self.chunk.metadata.chapter_title or self.page_title

    def to_json(self, *, explain: bool = False) -> dict[str, Any]:
        m = self.chunk.metadata
        result: dict[str, Any] = {
            "rank": self.rank,
            "chunk_id": self.chunk.id,
            "text": self.chunk.text,
            "score": self.score,
            "relevance": self.relevance,
            "fused": self.fused,
            "page_title": m.page_title,
            "section_title": m.section_title,
            "breadcrumb": m.breadcrumb,
            "url": self.url,
            "source_file": m.source_file,
            "module": m.module,
            "chapter": m.chapter,
            "lesson": m.lesson,
            "hardware_tier": m.hardware_tier,
            "proficiency_level": m.proficiency_level,
            "layer": m.layer,
            "chunk_index": m.chunk_index,
            "total_chunks": m.total_chunks,
            "parent_doc_id": m.parent_doc_id,
            "prev_chunk_id": m.prev_chunk_id,
            "next_chunk_id": m.next_chunk_id,
            "content_hash": m.content_hash,
        }
        if explain:
            result["explain"] = asdict(self.explanation)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """Search as programs see it: the results and an echo of what was asked."""

    query: str
    results: tuple[SearchResult, ...]
    hardware_tier_filter: int
    module_filter: str | None
    book_id: str
    info: tuple[str, ...] = ()

    @property
    def total_found(self) -> int:
        return len(self.results)

    def to_json(self, *, explain: bool = False) -> dict[str, Any]:
        return {
            "query": self.query,
            "results": [result.to_json(explain=explain) for result in self.results],
            "total_found": self.total_found,
            "hardware_tier_filter": self.hardware_tier_filter,
            "module_filter": self.module_filter,
            "book_id": self.book_id,
            "info": list(self.info),
        }
