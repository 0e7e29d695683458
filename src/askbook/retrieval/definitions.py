"""Questions that ask what something is, and passages that introduce it. Pure."""

import re

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
_OPENING = re.compile(r"\W*(?:an?\s+|the\s+)?(.{1,60}?)\W+(?:is|are|means|stands)\b", re.IGNORECASE)


def term_asked_for(question: str) -> frozenset[str]:
    """The terms of what a question wants explained; empty when it asks for something else."""
    asked = _ASKS.match(question)
    terms = frozenset(content_terms(asked.group(1))) if asked else frozenset[str]()
    return terms if len(terms) <= MOST_TERMS else frozenset()


def head_of(question: str) -> frozenset[str]:
    """The last word of what is to be explained: the "topic" of a "ROS 2 topic".

    "The default port" is one among several: what a port is does not answer.
    """
    asked = None if _SELECTS.match(question) else _ASKS.match(question)
    terms = content_terms(asked.group(1)) if asked else []
    return frozenset(terms[-1:]) if 1 < len(terms) <= MOST_TERMS else frozenset()


def introduces(text: str, section: str, term: frozenset[str]) -> bool:
    """Whether a passage is where a term is explained: emphasised, named by the heading, or "a … is"."""
    if not term:
        return False
    heading = content_terms(section)
    if term <= set(heading) and len(heading) <= len(term) + 2:
        return True
    return any(defines(sentence, term) for sentence in _SENTENCE_END.split(text))


def defines(sentence: str, term: frozenset[str]) -> bool:
    """Whether a sentence emphasises the term, or opens with it and says what it is."""
    opening = _OPENING.match(sentence)
    if term and opening is not None and term <= set(content_terms(opening.group(1))):
        return True
    return _emphasises(sentence, term)


def defines_head(sentence: str, head: frozenset[str]) -> bool:
    """The same for the head of a longer term, which must stand alone: no "Gazebo topics" for a "topic"."""
    opening = _OPENING.match(sentence)
    if head and opening is not None and head == frozenset(content_terms(opening.group(1))):
        return True
    return _emphasises(sentence, head)


def names_kind(sentence: str, term: frozenset[str], head: frozenset[str]) -> bool:
    """Whether a sentence about the head emphasises what sets the term apart: the "prismatic" of a prismatic joint."""
    return head <= set(content_terms(sentence)) and _emphasises(sentence, term - head)


def _emphasises(sentence: str, term: frozenset[str]) -> bool:
    found = _EMPHASISED.finditer(sentence)
    return bool(term) and any(frozenset(content_terms(m.group(2))) == term for m in found)
