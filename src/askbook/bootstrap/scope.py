"""What part of which book a question is about."""

from dataclasses import dataclass

from askbook.book import Book, HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.index import ChunkFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What part of which book a question is about; None leaves it to the book and its reader."""

    book_id: str | None = None
    hardware_tier: HardwareTier | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    proficiency_levels: tuple[ProficiencyLevel, ...] | None = None
    layer: TeachingLayer | None = None
    parent_doc_id: str | None = None
    similarity_threshold: float | None = None

    def readable(self, book: Book) -> ChunkFilter:
        """What a reader may open: the book, up to the reader's tier."""
        return ChunkFilter(book.book_id, hardware_tier=self.hardware_tier or book.reader_tier or 1)
