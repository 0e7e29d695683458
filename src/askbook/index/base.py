"""What every chunk index offers. The index finds; the database says what is visible."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from askbook.book import (
    DocumentMetadata,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
    Vector,
)

PAYLOAD_INDEXES: dict[str, Literal["tenant", "keyword", "integer"]] = {
    "book_id": "tenant",
    "module": "keyword",
    "chapter": "integer",
    "lesson": "integer",
    "hardware_tier": "integer",
    "proficiency_level": "keyword",
    "layer": "keyword",
    "parent_doc_id": "keyword",
    "content_hash": "keyword",
    "source_file_hash": "keyword",
}


@dataclass(frozen=True, slots=True)
class ChunkFilter:
    """Which chunks may be found; all conditions hold at once. The tier is the reader's: that or lower."""

    book_id: str
    hardware_tier: HardwareTier | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    proficiency_levels: tuple[ProficiencyLevel, ...] | None = None
    layer: TeachingLayer | None = None
    parent_doc_id: str | None = None

    def admits(self, metadata: DocumentMetadata) -> bool:
        """The same rule in plain code, for what the database returns."""
        levels = self.proficiency_levels
        return (
            metadata.book_id == self.book_id
            and (self.hardware_tier is None or metadata.hardware_tier <= self.hardware_tier)
            and (self.module is None or metadata.module == self.module)
            and (self.chapter_min is None or metadata.chapter >= self.chapter_min)
            and (self.chapter_max is None or metadata.chapter <= self.chapter_max)
            and (self.lesson is None or metadata.lesson == self.lesson)
            and (levels is None or metadata.proficiency_level in levels)
            and (self.layer is None or metadata.layer == self.layer)
            and (self.parent_doc_id is None or metadata.parent_doc_id == self.parent_doc_id)
        )


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A chunk as it goes in: the vector of its embedded text, that text for sparse search, its payload."""

    chunk_id: str
    vector: Vector
    sparse_text: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A chunk as it lies in the index; its vectors if they were asked for."""

    chunk_id: str
    payload: dict[str, Any]
    vector: Vector | None
    terms: Mapping[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Hits:
    """The two rankings of one search, best first; fusing them is retrieval's business."""

    dense: tuple[Hit, ...]
    sparse: tuple[Hit, ...]


class ChunkIndex(Protocol):
    """Stores points and ranks them. Writes are acknowledged only when they survive a crash."""

    async def upsert(self, points: Sequence[IndexPoint]) -> None: ...

    async def overwrite_payloads(self, payloads: Mapping[str, dict[str, Any]]) -> None:
        """Replace the whole payload of existing points, leaving their vectors."""
        ...

    async def delete(self, chunk_ids: Sequence[str]) -> None: ...

    async def delete_book(self, book_id: str) -> None: ...

    async def search(
        self, where: ChunkFilter, *, vector: Vector | None, text: str | None, limit: int
    ) -> Hits:
        """Rank by cosine to `vector` and by BM25 to `text`; a missing one gives an empty ranking."""
        ...

    async def retrieve(
        self, chunk_ids: Sequence[str], *, vectors: bool = False
    ) -> dict[str, StoredPoint]: ...

    async def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """The dense vectors of these chunks alone, for every search."""
        ...

    def scroll(self, book_id: str, *, vectors: bool = False) -> AsyncIterator[StoredPoint]:
        """Every point of a book, in id order."""
        ...

    async def count(self, book_id: str | None = None) -> int: ...

    async def payload_indexes(self) -> dict[str, str]:
        """Field name → kind, as the store reports them."""
        ...

    async def recreate(self) -> None:
        """Drop everything and start an empty collection for the current embedder."""
        ...

    async def close(self) -> None: ...
