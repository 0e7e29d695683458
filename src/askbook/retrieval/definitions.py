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
_EMPHASISED = re.compile(r"(?<![\w*])(\*\*|__|\*|_)(?=\S)([^*_\n]{2,60}?)(?<=\S)\1(?![\w*])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_OPENING = re.compile(r"\W*(?:an?\s+|the\s+)?(.{1,60}?)\W+(?:is|are|means|stands)\b", re.IGNORECASE)


def term_asked_for(question: str) -> frozenset[str]:
    """The terms of what a question wants explained; empty when it asks for something else."""
    asked = _ASKS.match(question)
    terms = frozenset(content_terms(asked.group(1))) if asked else frozenset[str]()
    return terms if len(terms) <= MOST_TERMS else frozenset()


def introduces(text: str, section: str, term: frozenset[str]) -> bool:
    """Whether a passage is where a term is explained: emphasised, named by the heading, or "a … is"."""
    if not term:
        return False
    heading = content_terms(section)
    return (
        (term <= set(heading) and len(heading) <= len(term) + 2)
        or any(frozenset(content_terms(m.group(2))) == term for m in _EMPHASISED.finditer(text))
        or any(defines(sentence, term) for sentence in _SENTENCE_END.split(text))
    )


def defines(sentence: str, term: frozenset[str]) -> bool:
    """Whether a sentence opens with the term and says what it is."""
    opening = _OPENING.match(sentence)
    return bool(term and opening and term <= set(content_terms(opening.group(1))))
