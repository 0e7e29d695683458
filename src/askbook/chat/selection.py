"""Finds the passage a reader marked, exactly or nearly, and tells when it is not from the book."""

import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from askbook.errors import InvalidInput
from askbook.retrieval.query import MAX_QUESTION, SearchQuery, SearchResult
from askbook.retrieval.search import Searcher
from askbook.retrieval.terms import content_terms

MAX_SELECTION = 4000
NOT_MARKED_HERE = "The text you marked is not in this book."
CANDIDATES = 8
FOUND = 0.75
"""Share of the marked words that must stand in the book, in order, for the mark to be from it."""
RUN = 3
"""Words in a row that count as the same text, unless the mark is shorter."""
_WORD = re.compile(r"\w+")
_DEICTIC = frozenset(
    "passage text paragraph sentence section part quote line code example selection marked selected "
    "highlighted understand simple simpler term word summary summarize summarise detail rephrase "
    "translate clarify elaborate help meaning mean explain explanation plain".split()
)


@dataclass(frozen=True, slots=True)
class Marked:
    """The chunks a marked passage stands in, the one that holds most of it first; none: not from the book."""

    results: tuple[SearchResult, ...]
    share: float


def check_selection(selected_text: str | None) -> None:
    """A marked passage must say something, and not too much."""
    if selected_text is None:
        return
    if not selected_text.strip():
        raise InvalidInput("The marked text is empty.", "Mark a passage, or ask without one.")
    if len(selected_text) > MAX_SELECTION:
        raise InvalidInput(
            f"The marked text has {len(selected_text)} characters, at most {MAX_SELECTION} are taken.",
            "Mark a shorter passage.",
        )


async def find_marked(searcher: Searcher, query: SearchQuery, selected_text: str) -> Marked:
    """Look the marked text up in the part of the book the reader may see."""
    wanted = _words(selected_text)
    if not wanted:
        return Marked((), 0.0)
    text = " ".join(wanted)[:MAX_QUESTION]
    lookup = replace(
        query, text=text, limit=CANDIDATES, mode="sparse", min_relevance=0.0, min_score=0.0
    )
    found = await searcher.search(lookup)
    held = {result.chunk_id: _held(wanted, _words(result.text)) for result in found.results}
    together = set[int]().union(*held.values())
    share = len(together) / len(wanted)
    if share < FOUND:
        return Marked((), share)
    chosen = sorted(
        (r for r in found.results if len(held[r.chunk_id]) >= max(1, len(wanted) // 5)),
        key=lambda r: -len(held[r.chunk_id]),
    )
    return Marked(tuple(chosen), share)


def is_about_the_mark(question: str) -> bool:
    """Whether a question only points at the passage ("explain this"), saying nothing of its own."""
    return all(term in _STEMS for term in content_terms(question))


_STEMS = frozenset(term for word in _DEICTIC for term in content_terms(word))


def _words(text: str) -> list[str]:
    return [match.group().casefold() for match in _WORD.finditer(text)]


def _held(wanted: list[str], present: list[str]) -> set[int]:
    """Positions of the marked words that stand in a text, in runs long enough not to be chance."""
    least = min(RUN, len(wanted))
    matcher = SequenceMatcher(None, wanted, present, autojunk=False)
    return {
        position
        for block in matcher.get_matching_blocks()
        if block.size >= least
        for position in range(block.a, block.a + block.size)
    }
