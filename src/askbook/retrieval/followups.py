"""Makes a follow-up complete for retrieval: words that earlier questions said and this one leaves out. Pure.

A reader may also change the subject, so the question alone always keeps its say: both readings of it are searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.retrieval.history import Message
from askbook.retrieval.pointing import read_as
from askbook.retrieval.terms import content_terms, content_words, stem

QUESTIONS = 3
"""So many of the reader's last questions are looked at, the newest first."""
WORDS = 8
LONGEST_WORD = 40
FEW_TERMS = 2
"""A question with at most so many terms of its own says too little to be found by itself."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with the words it leaves out; `weight` is what that reading counts beside the question alone."""

    text: str
    weight: float


def follow_up(question: str, history: Sequence[Message]) -> FollowUp | None:
    """The question with words of earlier ones; none when they add nothing."""
    if (read := read_as(question, history)) is not None:
        return FollowUp(read, 3.0)
    carried = carried_words(question, history)
    if not carried:
        return None
    return FollowUp(f"{question} {' '.join(carried)}", 3.0 if is_elliptical(question) else 1.0)


def carried_words(question: str, history: Sequence[Message]) -> list[str]:
    """What the reader's last questions were about and this one does not repeat."""
    asked = [message.content for message in history if message.role == "user"]
    known = set(content_terms(question))
    carried: list[str] = []
    for earlier in reversed(asked[-QUESTIONS:]):
        for word in content_words(earlier):
            term = stem(word.lower())
            if term not in known and len(word) <= LONGEST_WORD:
                known.add(term)
                carried.append(word)
    return carried[:WORDS]


def is_elliptical(question: str) -> bool:
    """Whether a question lives on what was said before, as in "tell me more" or "the second one?"."""
    return len(content_terms(question)) <= FEW_TERMS
