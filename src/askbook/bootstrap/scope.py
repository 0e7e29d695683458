"""What part of which book a question is about."""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.book import HARDWARE_TIERS, Book, HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.config import Settings
from askbook.errors import InvalidInput, NotFound
from askbook.index import ChunkFilter
from askbook.retrieval.query import SearchMode, SearchQuery
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What part of which book a question is about; None leaves it to the book and its reader."""

    book_id: str | None = None
    books: frozenset[str] | None = None
    """The books that exist for the reader; None is all of them."""
    hardware_tier: HardwareTier | None = None
    readable_tier: HardwareTier | None = None
    """The highest tier that exists for the reader; None is all of them."""
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
        """Whether nothing but the book and what the reader may see is set."""
        return self == Scope(
            book_id=self.book_id,
            books=self.books,
            hardware_tier=self.hardware_tier,
            readable_tier=self.readable_tier,
        )

    def readable(self, book: Book) -> ChunkFilter:
        """What a reader may open: the book, up to the reader's tier."""
        return ChunkFilter(book.book_id, hardware_tier=self.hardware_tier or book.reader_tier or 1)


def choose_book(
    shelved: Sequence[ShelvedBook], book_id: str | None, books: frozenset[str] | None = None
) -> ShelvedBook:
    """The named book, or the only one, of all or of those that exist for a reader."""
    shelved = [s for s in shelved if books is None or s.book.book_id in books]
    known = ", ".join(s.book.book_id for s in shelved)
    if not shelved:
        raise NotFound("There is no book here yet.", "Ingest one with `askbook ingest PATH`.")
    if book_id is None and len(shelved) > 1:
        raise InvalidInput(
            f"There are several books: {known}.",
            "Name one: with --book on the command line, as book_id elsewhere.",
        )
    for candidate in shelved:
        if book_id in (None, candidate.book.book_id):
            return candidate
    raise NotFound(f"There is no book {book_id!r}.", f"Known books: {known}.")


async def query_for(
    text: str,
    scope: Scope,
    book: Book,
    library: Library,
    settings: Settings,
    top_k: int | None,
    mode: SearchMode = "hybrid",
) -> SearchQuery:
    """A question within its scope, as the book and the settings complete it."""
    least = scope.similarity_threshold
    least = settings.retrieval.score_threshold if least is None else least
    calibrated = settings.confidence.policy == "calibrated"
    return SearchQuery(
        text=text,
        book_id=book.book_id,
        hardware_tier_filter=scope.hardware_tier or book.reader_tier or 1,
        readable_tier=scope.readable_tier or max(HARDWARE_TIERS),
        module_filter=await _module(book, scope.module, library, scope.readable_tier),
        chapter_min=scope.chapter_min,
        chapter_max=scope.chapter_max,
        lesson_filter=scope.lesson,
        proficiency_levels=scope.proficiency_levels,
        layer_filter=scope.layer,
        parent_doc_id=scope.parent_doc_id,
        limit=top_k if top_k is not None else settings.retrieval.top_k,
        mode=mode,
        # A cosine means something else for every embedder; a probability does not.
        min_relevance=least if calibrated else 0.0,
        min_score=0.0 if calibrated else least,
    )


async def listed_modules(book: Book, library: Library, tier: HardwareTier | None) -> list[str]:
    """The modules that the manifest names; with a tier only those that have a lesson up to it."""
    named = [module.name for module in book.modules]
    if tier is None:
        return named
    readable = await library.modules(book.book_id, tier)
    return [name for name in named if name in readable]


async def _module(
    book: Book, name: str | None, library: Library, tier: HardwareTier | None
) -> str | None:
    if name is None:
        return None
    known = await listed_modules(book, library, tier) or await library.modules(book.book_id, tier)
    listed = book.module_named(name)
    chosen = name if listed is None else listed.name
    if chosen in known:
        return chosen
    raise InvalidInput(
        f"Book {book.book_id!r} has no module {name!r}.", f"Its modules: {', '.join(known)}."
    )
