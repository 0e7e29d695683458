"""What part of which book a question is about."""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.book import Book, HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.errors import InvalidInput, NotFound
from askbook.index import ChunkFilter
from askbook.storage.rows import ShelvedBook


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

    @property
    def is_whole_book(self) -> bool:
        """Whether nothing but the book and the reader's tier is set."""
        return self == Scope(book_id=self.book_id, hardware_tier=self.hardware_tier)

    def readable(self, book: Book) -> ChunkFilter:
        """What a reader may open: the book, up to the reader's tier."""
        return ChunkFilter(book.book_id, hardware_tier=self.hardware_tier or book.reader_tier or 1)


def choose_book(shelved: Sequence[ShelvedBook], book_id: str | None) -> ShelvedBook:
    """The named book, or the only one."""
    known = ", ".join(s.book.book_id for s in shelved)
    if not shelved:
        raise NotFound("There is no book here yet.", "Ingest one with `askbook ingest PATH`.")
    if book_id is None and len(shelved) > 1:
        raise InvalidInput(f"There are several books: {known}.", "Name one with --book.")
    for candidate in shelved:
        if book_id in (None, candidate.book.book_id):
            return candidate
    raise NotFound(f"There is no book {book_id!r}.", f"Known books: {known}.")
