"""Tells a declined reader that the book answers outside the reader's filter: where, never what."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from askbook.book import DocumentMetadata
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.search import Searcher


async def covered_elsewhere(
    searcher: Searcher,
    query: SearchQuery,
    history: Sequence[Message],
    answers: Callable[[RetrievalContext], bool],
    reading: FollowUp | None = None,
) -> str | None:
    """Where the same book answers what it does not within the filter; none when it does not or none is set.

    Only what the caller may read is looked at: a hint at more would tell what it says to who guesses often enough.
    """
    whole = _unfiltered(query)
    if whole == query:
        return None
    nearest = await searcher.search(replace(whole, mode="dense"), history, reading)
    if all(query.where.admits(result.chunk.metadata) for result in nearest.results):
        # Only what lies outside the filter can be news, and the judge need not look for it.
        return None
    found = await searcher.search(whole, history, reading)
    if not found.results or not answers(found):
        return None
    best = found.results[0].chunk.metadata
    return None if query.where.admits(best) else describe_place(best, query)


def describe_place(found: DocumentMetadata, query: SearchQuery) -> str:
    """The lesson by title and place, and which of the reader's bounds keeps it out."""
    bounds = _bounds(found, query)
    tier = f"Tier {found.hardware_tier}, " if "tier" in bounds else ""
    place = f"{tier}module {found.module}, lesson “{found.page_title}”"
    return f"Covered in {place}; {', '.join(bounds.values())}."


def _unfiltered(query: SearchQuery) -> SearchQuery:
    return replace(
        query,
        hardware_tier_filter=query.readable_tier,
        module_filter=None,
        chapter_min=None,
        chapter_max=None,
        lesson_filter=None,
        proficiency_levels=None,
        layer_filter=None,
        parent_doc_id=None,
    )


def _bounds(found: DocumentMetadata, query: SearchQuery) -> dict[str, str]:
    """The reader's bounds that this lesson is outside of, each by its own name."""
    levels = query.proficiency_levels
    first, last = query.chapter_min, query.chapter_max
    chapters = (
        f"from {first} on"
        if last is None
        else f"up to {last}"
        if first is None
        else f"{first}–{last}"
    )
    outside = {
        "tier": found.hardware_tier > query.hardware_tier_filter,
        "module": query.module_filter not in (None, found.module),
        "chapter": (first is not None and found.chapter < first)
        or (last is not None and found.chapter > last),
        "lesson": query.lesson_filter not in (None, found.lesson),
        "proficiency": levels is not None and found.proficiency_level not in levels,
        "layer": query.layer_filter not in (None, found.layer),
        "page": query.parent_doc_id not in (None, found.parent_doc_id),
    }
    said = {
        "tier": f"your tier is {query.hardware_tier_filter}",
        "module": f"you asked within module {query.module_filter}",
        "chapter": f"you asked within chapters {chapters}",
        "lesson": f"you asked within lesson {query.lesson_filter}",
        "proficiency": f"you asked for the levels {', '.join(levels or ())}",
        "layer": f"you asked for layer {query.layer_filter}",
        "page": "you asked within one lesson",
    }
    return {name: said[name] for name, is_outside in outside.items() if is_outside}
