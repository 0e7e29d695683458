"""Makes a follow-up complete for retrieval: words that earlier questions said and this one leaves out. Pure.

A reader may also change the subject, so the question alone always keeps its say: both readings of it are searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.retrieval.history import Message
from askbook.retrieval.pointing import FEW_TERMS, read_as
from askbook.retrieval.terms import content_terms, content_words, stem

QUESTIONS = 3
"""So many of the reader's last questions are looked at, the newest first."""
WORDS = 8
LONGEST_WORD = 40
COMPLETE = 3.0
"""What a complete reading counts beside a question that says little alone."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with what it leaves out; `weight` is what that reading counts beside the question alone."""

    text: str
    weight: float


def rewritten(text: str) -> FollowUp:
    """A follow-up that somebody else made complete."""
    return FollowUp(text, COMPLETE)


def follow_up(question: str, history: Sequence[Message]) -> FollowUp | None:
    """The question with words of earlier ones; none when they add nothing."""
    if (read := read_as(question, history)) is not None:
        return FollowUp(read, COMPLETE)
    carried = carried_words(question, history)
    if not carried:
        return None
    weight = COMPLETE if is_elliptical(question) else 1.0
    return FollowUp(f"{question} {' '.join(carried)}", weight)


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
