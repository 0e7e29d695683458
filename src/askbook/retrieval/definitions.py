"""Questions that ask what something is, and passages that introduce it. Pure.

A term may have several names, its abbreviation and what that stands for: one that is defined defines the term.
"""

import re
from collections.abc import Collection

from askbook.retrieval.abbreviations import Gloss, Name, glosses_in
from askbook.retrieval.terms import content_terms

MOST_TERMS = 3
"""What is asked for by name is short; a longer subject is a description, and no passage opens with it."""

_ASKS = re.compile(
    r"^\s*(?:what(?:'s| is| are| does)|define|explain|describe)\s+(?:an?\s+|the\s+)?(.+?)"
    r"(?:\s+(?:mean|stand for))?\s*\??\s*$",
    re.IGNORECASE,
)
_SELECTS = re.compile(
    r"^\s*what(?:'s| is| are)\s+the\s+(?:default|best|worst|only|same|right|correct|wrong|current|usual|typical|total|"
    r"average|exact|latest|newest|oldest|recommended|preferred|max(?:imum)?|min(?:imum)?|"
    r"(?:larg|small|long|short|fast|slow|high|low|bigg|great|strong|weak)est)\b",
    re.IGNORECASE,
)
_EMPHASISED = re.compile(r"(?<![\w*])(\*\*|__|\*|_)(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?![\w*])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.+?)[\s#]*")
_OPENING = re.compile(r"\W*(?:an?\s+|the\s+)?(.{1,60}?)\W+(?:is|are|means|stands)\b", re.IGNORECASE)
_NEGATED = re.compile(r"[\s*_]+(?:not|never|no longer)\b|n['’]t\b", re.IGNORECASE)
_APPOSED = re.compile(
    r"\W*(?:(?:[Aa]n?|[Tt]he)\s+)?(?P<described>[^,;:\n]{2,60}),\s+(?:an?|the|one)\s+[^,;\n]{3,100},\s"
    r"|\W*[Tt]he\s+[a-z-]+\s+(?P<named>[A-Z][\w.+-]*),\s"
)
""" "OpenVLA, an open model with 7 billion parameters, …" and "The model RT-2, published in 2023, …"."""
_BRACKETED = re.compile(r"\([^()\n]*\)?")
_SEVERAL = re.compile(r"[,:&—–]|\b(?:and|or|vs|versus|with|for|in|of|to)\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,:;]\s|(?<!\bof)(?<!\bin)(?<!\bon)(?<!\bto)(?<!\bfor)(?<!\bwith)\s(?:an?|the)\s", re.I
)
"""Where the subject of a sentence begins behind something else: "In ROS 2, a topic", "Under the surface an action"."""


def term_asked_for(question: str) -> Name:
    """The terms of what a question wants explained; empty when it asks for something else."""
    asked = _ASKS.match(question)
    terms = frozenset(content_terms(asked.group(1))) if asked else Name()
    return terms if len(terms) <= MOST_TERMS else Name()


def head_of(question: str) -> Name:
    """The last word of what is to be explained: the "topic" of a "ROS 2 topic".

    "The default port" is one among several: what a port is does not answer.
    """
    asked = None if _SELECTS.match(question) else _ASKS.match(question)
    terms = content_terms(asked.group(1)) if asked else []
    return frozenset(terms[-1:]) if 1 < len(terms) <= MOST_TERMS else Name()


def introduces(text: str, section: str, names: Collection[Name]) -> bool:
    """Whether a passage is where a term is explained: emphasised, spelled out, named by the heading, or "a … is"."""
    if not names:
        return False
    heading = content_terms(section)
    if any(name <= set(heading) and len(heading) <= len(name) + 2 for name in names):
        return True
    return any(
        defines(line, names) or is_headed_by(heading_in(line), names)
        for line in _SENTENCE_END.split(text)
    )


def defines(sentence: str, names: Collection[Name]) -> bool:
    """Whether a sentence says what a term is, or what a longer one is that contains it."""
    opening = _opening(sentence)
    if opening is not None:
        terms = set(content_terms(opening))
        if any(name <= terms for name in names):
            return True
    return defines_exactly(sentence, names)


def defines_exactly(sentence: str, names: Collection[Name]) -> bool:
    """Whether a sentence says what the very term is: emphasises it, spells it out, or opens with it alone."""
    if not names:
        return False
    opening = _opening(sentence)
    if opening is not None and _subject(opening) in names:
        return True
    return (
        any(_emphasises(sentence, name) for name in names)
        or _explains(sentence, names)
        or _apposes(sentence, names)
    )


def heading_in(line: str) -> str:
    """What a line says as a heading; nothing where it is none."""
    found = _HEADING.fullmatch(line)
    return found[1] if found else ""


def is_headed_by(heading: str, names: Collection[Name]) -> bool:
    """Whether a heading is the very term: "Kalman Filter", "SLAM (Simultaneous Localization and Mapping)"."""
    plain = frozenset(content_terms(_BRACKETED.sub(" ", heading)))
    return plain in names or frozenset(content_terms(heading)) in names


def is_headed_by_longer(heading: str, names: Collection[Name]) -> bool:
    """Whether a heading is another term that contains this one: "Extended Kalman Filter", but no "Filters and Maps"."""
    terms = frozenset(content_terms(heading))
    longer = any(name < terms for name in names)
    return longer and not is_headed_by(heading, names) and not _SEVERAL.search(heading)


def defines_head(sentence: str, head: Name) -> bool:
    """The same for the head of a longer term, which must stand alone: no "Gazebo topics" for a "topic"."""
    opening = _opening(sentence)
    if head and opening is not None and head == frozenset(content_terms(opening)):
        return True
    return _emphasises(sentence, head)


def names_kind(sentence: str, term: Name, head: Name) -> bool:
    """Whether a sentence about the head emphasises what sets the term apart: the "prismatic" of a prismatic joint."""
    return head <= set(content_terms(sentence)) and _emphasises(sentence, term - head)


def _opening(sentence: str) -> str | None:
    """What a sentence says something about; what something is not defines nothing."""
    found = _OPENING.match(sentence)
    return None if found is None or _NEGATED.match(sentence, found.end()) else found.group(1)


def _subject(opening: str) -> Name:
    """The terms of the subject itself; none of one that ends in an empty word, as a "topic name" does."""
    words = _CLAUSE.split(_BRACKETED.sub(" ", opening))[-1].split()
    return (
        frozenset(content_terms(" ".join(words))) if content_terms("".join(words[-1:])) else Name()
    )


def _emphasises(sentence: str, term: Name) -> bool:
    found = _EMPHASISED.finditer(sentence)
    return bool(term) and any(frozenset(content_terms(m.group(2))) == term for m in found)


def _explains(sentence: str, names: Collection[Name]) -> bool:
    """Whether a sentence spells an abbreviation out: that is where a book introduces it."""
    return any(_is_of(gloss, names) for gloss in glosses_in(sentence))


def _is_of(gloss: Gloss, names: Collection[Name]) -> bool:
    return gloss.short in names and gloss.long in names


def _apposes(sentence: str, names: Collection[Name]) -> bool:
    found = _APPOSED.match(sentence)
    return (
        found is not None
        and frozenset(content_terms(found["described"] or found["named"])) in names
    )
