"""Questions that only point at what was said: "tell me more", "why?", "what does the second one do?". Pure.

They are read as the question they stand for. Nothing is guessed: "the second one" needs a clear enumeration.
"""

import re
from collections.abc import Sequence

from askbook.retrieval.history import Message
from askbook.retrieval.items import points_at_an_item, with_item_named
from askbook.retrieval.terms import content_terms

LONGEST_SUBJECT = 300
QUESTIONS = 3
FEW_TERMS = 2
"""A question with at most so many terms of its own says too little to be found by itself."""
_REQUEST = re.compile(r"\b(?:more|why|how|what|else|explain|go on|continue)\b", re.IGNORECASE)
"""A reader who says only "no" or "yes" answers and asks nothing."""
_NAME = re.compile(r"[^\w\s?.!,;:'’…-]")
"""C++ and the like are too short for terms, and yet a subject."""
_LEANING = re.compile(r"\b(?:it|its|they|them|their|that|this|those|these|one)\b", re.IGNORECASE)


def read_as(question: str, history: Sequence[Message]) -> str | None:
    """The question that one which only points stands for; none for a question with a subject of its own."""
    if points_at_an_item(question):
        return with_item_named(question, history)
    if content_terms(question) or _NAME.search(question) or not _REQUEST.search(question):
        return None
    subject = _subject([message.content for message in history if message.role == "user"])
    return f"{subject} {question}" if 0 < len(subject) <= LONGEST_SUBJECT else None


def leans_on_what_was_said(question: str) -> bool:
    """Whether a question says "it" before it names anything, or hardly says anything of its own."""
    leaning = _LEANING.search(question)
    named = content_terms(question[: leaning.start()] if leaning else question)
    return len(named) <= (1 if leaning else FEW_TERMS) or len(content_terms(question)) <= FEW_TERMS


def _subject(asked: Sequence[str]) -> str:
    """The last question with a subject, and those before it that it leans on itself."""
    chosen: list[str] = []
    for text in reversed(asked):
        if content_terms(text):
            chosen.insert(0, text)
            if not _LEANING.search(text) or len(chosen) == QUESTIONS:
                break
    return " ".join(chosen)
