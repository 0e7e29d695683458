"""The numbered places one turn may cite: what was retrieved, in the order it was found."""

from collections.abc import Iterable, Iterator

from askbook.agent.response import Citation, cite
from askbook.book import Book
from askbook.retrieval.query import SearchResult


class Sources:
    """Search results with the numbers a model cites them by; a chunk found twice keeps its number."""

    def __init__(self, book: Book, results: Iterable[SearchResult] = ()) -> None:
        self.book = book
        self._results: dict[int, SearchResult] = {}
        self._numbers: dict[str, int] = {}
        self.add(results)

    def add(self, results: Iterable[SearchResult]) -> list[tuple[int, SearchResult]]:
        """Number what is new; the given results with their numbers."""
        numbered: list[tuple[int, SearchResult]] = []
        for result in results:
            number = self._numbers.setdefault(result.chunk_id, len(self._numbers) + 1)
            self._results.setdefault(number, result)
            numbered.append((number, result))
        return numbered

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, number: int) -> bool:
        return number in self._results

    def __getitem__(self, number: int) -> SearchResult:
        return self._results[number]

    def __iter__(self) -> Iterator[tuple[int, SearchResult]]:
        return iter(list(self._results.items()))

    def heading(self, number: int) -> str:
        """Where a source stands: words a sentence about it may use."""
        metadata = self._results[number].chunk.metadata
        parts = (self.book.title, metadata.breadcrumb, metadata.page_title, metadata.section_title)
        return " › ".join(dict.fromkeys(part for part in parts if part))

    def cite(self, number: int, start: int, end: int) -> Citation:
        return cite(self.book, self._results[number].chunk, number, start, end)

    def listed(self) -> tuple[Citation, ...]:
        """Every source as a citation without a quote yet."""
        return tuple(self.cite(number, 0, 0) for number in self._results)
