"""Makes first questions to suggest, from a book's headings and definitions. Pure.

Nothing here knows whether the book answers them: who suggests one asks the book first.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from askbook.book import DocumentChunk
from askbook.retrieval.terms import content_terms

LONGEST = 90
_ASKS = re.compile(
    r"(?:what|why|how|when|where|which|who|can|does|do|is|are|should)\b[^?:]*\?", re.IGNORECASE
)
_HEADING = re.compile(r"(?:what|why|how|when|where|which)\s+(?!it\b)\w+.*", re.IGNORECASE)
_INVERTED = re.compile(
    r"(?:what|why|how|when|where|which)\s+(?:is|are|does|do|to|can|should)\b", re.I
)
_DEFINED = re.compile(
    r"(?:^|(?<=[.!?]\s)|(?<=\n\n))(?P<article>An?|The)\s+(?P<mark>\*\*|\*|_|`)?"
    r"(?P<term>\w[\w-]*(?:\s\w[\w-]*){0,2}?)(?P=mark)?\s+is\s+(?:an?|the|one|what|how)\s",
    re.MULTILINE,
)
_MARKED = re.compile(
    r"(?:^|(?<=[.!?]\s))(?P<article>An?\s+|The\s+)?(?P<mark>\*\*|\*)(?P<term>\w[\w +-]{1,40}?)(?P=mark)"
    r"(?:\s\([^)]{1,60}\))?\s+(?P<verb>is|are)\s",
    re.MULTILINE,
)
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_VAGUE = frozenset("this that these those it result other first second next same rest".split())


def suggest(chunks: Sequence[DocumentChunk]) -> tuple[str, ...]:
    """Questions in the order to try them: one of each lesson in turn, so that the first few span the book."""
    lessons: dict[str, list[DocumentChunk]] = {}
    for chunk in chunks:
        lessons.setdefault(chunk.metadata.parent_doc_id, []).append(chunk)
    made: dict[str, str] = {}
    for row in zip_longest(*(_of_lesson(lesson) for lesson in _spread(list(lessons.values())))):
        for question in row:
            if question is not None and len(question) <= LONGEST:
                made.setdefault(question.casefold(), question)
    return tuple(made.values())


def _spread(lessons: list[list[DocumentChunk]]) -> list[list[DocumentChunk]]:
    """The lessons, those of different modules in turn."""
    modules: dict[str, list[list[DocumentChunk]]] = {}
    for lesson in lessons:
        modules.setdefault(lesson[0].metadata.module, []).append(lesson)
    rows = zip_longest(*modules.values())
    return [lesson for row in rows for lesson in row if lesson is not None]


def _of_lesson(chunks: Sequence[DocumentChunk]) -> Iterator[str]:
    """What the lesson itself asks, then what it defines."""
    for chunk in chunks:
        title = (chunk.metadata.section_title or chunk.metadata.page_title).strip()
        if _ASKS.fullmatch(title) and len(content_terms(title)) >= 1:
            yield title
        elif _HEADING.fullmatch(title) and _INVERTED.match(title) and content_terms(title):
            yield f"{title.rstrip('.!')}?"
    for chunk in chunks:
        yield from _definitions(_FENCED.sub("\n\n", chunk.text))


def _definitions(text: str) -> Iterator[str]:
    """ "A **topic** is a …" answers "What is a topic?" """
    for match in _MARKED.finditer(text):
        article = (match["article"] or "").strip().lower()
        term = match["term"]
        if match["verb"] == "are" and term[1:].islower():
            # A plural stood at the head of its sentence; a name would be one thing.
            term = term[:1].lower() + term[1:]
        if _names_something(term):
            yield " ".join(filter(None, ("What", match["verb"], article, term))) + "?"
    for match in _DEFINED.finditer(text):
        # "The input is …" asks for more than a reader knows at the start.
        is_alone = match["article"] == "The" and " " not in match["term"]
        if _names_something(match["term"]) and not is_alone:
            yield f"What is {match['article'].lower()} {match['term']}?"


def _names_something(term: str) -> bool:
    return bool(content_terms(term)) and not _VAGUE & set(term.casefold().split())
