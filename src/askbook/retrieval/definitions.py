"""Questions that ask what something is, and passages that introduce it. Pure.

A term may have several names, its abbreviation and what that stands for: one that is defined defines the term.
"""

import re
from collections.abc import Collection, Sequence

from askbook.retrieval.abbreviations import Gloss, Name, glosses_in, initials_in, names_of
from askbook.retrieval.terms import content_terms

MOST_TERMS = 3
"""What is asked for by name is short; a longer subject is a description, and no passage opens with it."""

_ASKS = re.compile(
    r"^\s*(?:what(?:'s| is| are| does)|define|explain|describe)\s+(?:an?\s+|the\s+)?(.+?)"
    r"(?:\s+(?:mean|stand for))?\s*\??\s*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"^(?:purpose|role|function|idea|meaning|definition|concept|notion|point|job|goal)\s+(?:of|behind)\s+(?:an?\s+|the\s+)?",
    re.IGNORECASE,
)
"""What is asked of a thing where its definition answers: "the purpose of a watchdog"."""
_PART = re.compile(
    r"\b(?:of|for|in|on|to|with|from|between|behind|about|when|if|than)\b", re.IGNORECASE
)
"""What is asked for is something else of the last word: "the advantages of chunking"."""
_SPELLS = re.compile(r"\bstands? for\b", re.IGNORECASE)
_SIDE = r"(?:an?\s+|the\s+)?(.+?)"
_COMPARES = re.compile(
    r"^\s*(?:what(?:'s| is| are)|explain|describe|tell me)\s+the\s+(?:\w+\s+)?differences?\s+between\s+"
    rf"{_SIDE}\s+and\s+{_SIDE}\s*\??\s*$"
    rf"|^\s*(?:please\s+)?compare\s+{_SIDE}\s+(?:and|with|to)\s+{_SIDE}\s*[.?]?\s*$"
    rf"|^\s*how\s+(?:does|do|is|are)\s+{_SIDE}\s+(?:differ|different)\s+from\s+{_SIDE}\s*\??\s*$",
    re.IGNORECASE,
)
_SELECTS = re.compile(
    r"^\s*what(?:'s| is| are)\s+the\s+(?:default|best|worst|only|same|right|correct|wrong|current|usual|typical|total|"
    r"average|exact|latest|newest|oldest|recommended|preferred|max(?:imum)?|min(?:imum)?|"
    r"(?:larg|small|long|short|fast|slow|high|low|bigg|great|strong|weak)est)\b",
    re.IGNORECASE,
)
_EMPHASISED = re.compile(r"(?<![\w*])(\*\*|__|\*|_)(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?![\w*])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*(?:[#|>*+-]|\d{1,3}[.)]\s))")
"""A line that ends in the middle of a paragraph ends no sentence."""
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.+)")
_OPENING = re.compile(r"\W*(?:an?\s+|the\s+)?(.{1,60}?)\W+(?:is|are|means|stands)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|while|because|since|although|unless|where|once|until|whether|that|as)\b[^,;:]*$",
    re.IGNORECASE,
)
"""What opens a clause that says when, not what: "If the GPU is full"."""
_NEGATED = re.compile(
    r"[\s*_]+(?:(?:therefore|thus|hence|usually|often|also|still|generally|really|simply|strictly|alone)[\s*_]+)?"
    r"(?:not|never|no longer)\b|n['’]t\b",
    re.IGNORECASE,
)
_APPOSED = re.compile(
    r"\W*(?:(?:[Aa]n?|[Tt]he)\s+)?(?P<described>[^,;:\n]{2,60}),\s+(?:an?|the|one)\s+[^,;\n]{3,100},\s"
    r"|\W*[Tt]he\s+[a-z-]+\s+(?P<named>[A-Z][\w.+-]*),\s"
)
""" "OpenVLA, an open model with 7 billion parameters, …" and "The model RT-2, published in 2023, …"."""
_BRACKETED = re.compile(r"\([^()\n]*\)?")
_SEVERAL = re.compile(r"[,:&—–]|\b(?:and|or|vs|versus|with|for|in|of|to)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,:;]\s")
_ARTICLE = re.compile(r"\s(?:an?|the)\s", re.IGNORECASE)
_LEADING = re.compile(
    r"(?:in|on|under|at|for|with|by|from|within|inside|during|after|before|to)\b", re.IGNORECASE
)
"""Where the subject of a sentence begins behind something else: "In ROS 2, a topic", "Under the surface an action"."""


def term_asked_for(question: str) -> Name:
    """The terms of what a question wants explained; empty when it asks for something else."""
    return _short(_explained(question))


def names_asked_for(question: str, texts: Sequence[str]) -> list[frozenset[Name]]:
    """The terms a question wants explained, each by all its names: one, or both sides of a comparison.

    What letters stand for is explained only where they are spelled out.
    """
    sides = _sides(question) or [term_asked_for(question)]
    spelled = initials_in(question, texts) if any(sides) else set[Gloss]()
    asked = [names for term in sides if (names := names_of(term, texts, spelled))]
    return [names for names in asked if len(names) > 1] if _SPELLS.search(question) else asked


def head_of(question: str) -> Name:
    """The last word of what is to be explained: the "topic" of a "ROS 2 topic".

    "The default port" is one among several: what a port is does not answer.
    """
    asked = _explained(question)
    if _SELECTS.match(question) or _PART.search(asked):
        return Name()
    terms = content_terms(asked)
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
    sentence = " ".join(sentence.split())
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
    sentence = " ".join(sentence.split())
    opening = _opening(sentence)
    if opening is not None and _subject(opening) in names:
        return True
    return (
        any(_emphasises(sentence, name) for name in names)
        or _explains(sentence, names)
        or _apposes(sentence, names)
    )


def heading_in(line: str) -> str:
    """What the first line says as a heading; nothing where it is none."""
    found = _HEADING.match(line)
    return found[1].rstrip(" \t#") if found else ""


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


def _explained(question: str) -> str:
    """The words for what a question wants explained; none for another question, or one that compares."""
    asked = None if _COMPARES.search(question) else _ASKS.match(question)
    return _ABOUT.sub("", asked.group(1)) if asked else ""


def _sides(question: str) -> list[Name]:
    """The two terms that a question compares; none where one of them is a description."""
    found = _COMPARES.search(question)
    sides = [_short(side) for side in found.groups() if side] if found else []
    return sides if len(sides) == 2 and all(sides) else []


def _short(words: str) -> Name:
    terms = frozenset(content_terms(words))
    return terms if len(terms) <= MOST_TERMS else Name()


def _opening(sentence: str) -> str | None:
    """What a sentence says something about; what something is not defines nothing."""
    found = _OPENING.match(sentence)
    if found is None or _NEGATED.match(sentence, found.end()) or _CONDITION.search(found.group(1)):
        return None
    return found.group(1)


def _subject(opening: str) -> Name:
    """The terms of the subject itself, whosever it is; none of one that ends in an empty word, as a "topic name" does."""
    clause = _CLAUSE.split(_BRACKETED.sub(" ", opening))[-1].strip()
    words = (_ARTICLE.split(clause)[-1] if _LEADING.match(clause) else clause).split()
    while len(words) > 1 and re.search(r"['’]s$", words[0]):
        words.pop(0)
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
