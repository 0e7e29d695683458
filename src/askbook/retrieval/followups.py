"""Makes a follow-up complete for retrieval: words that earlier questions said and this one leaves out. Pure.

A reader may also change the subject, so the question alone always keeps its say: both readings of it are searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askbook.retrieval.history import Message
from askbook.retrieval.items import points_at_an_item, with_item_named
from askbook.retrieval.pointing import (
    FEW_TERMS,
    QUESTIONS,
    WORDS,
    asks_of_its_own,
    new_words,
    read_as,
    says_something,
    with_it_named,
)
from askbook.retrieval.spelling import respelt
from askbook.retrieval.terms import content_terms

COMPLETE = 3.0
"""What a complete reading counts beside a question that says little alone."""
FULL_QUESTIONS = 2
"""So far back the words of one that says enough are looked for: it may have left the subject."""
STANDS_FOR = 9.0
"""The same beside one that says "it" or "the second one": alone it means nothing."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with what it leaves out; `weight` is what that reading counts beside the question alone."""

    text: str
    weight: float
    asked: str | None = None
    """The question that is to be answered, where the reader's only points at it."""

    def respelt(self, spellings: Mapping[str, str]) -> "FollowUp":
        """The same with a book's words in the place of misspelt ones."""
        asked = None if self.asked is None else respelt(self.asked, spellings)
        return FollowUp(respelt(self.text, spellings), self.weight, asked)


def rewritten(text: str) -> FollowUp:
    """A follow-up that somebody else made complete."""
    return FollowUp(text, COMPLETE, asked=text)


def follow_up(question: str, history: Sequence[Message]) -> FollowUp | None:
    """The question with words of earlier ones; none when they add nothing."""
    if (read := read_as(question, history)) is not None:
        return FollowUp(read, STANDS_FOR, _asked(question, read, history))
    carried = carried_words(question, history)
    if not carried:
        return None
    weight = COMPLETE if is_elliptical(question) else 1.0
    return FollowUp(f"{question} {' '.join(carried)}", weight)


def _asked(question: str, read: str, history: Sequence[Message]) -> str:
    """What is to be found: what the question says of its subject, or, where that is nothing, the subject."""
    if points_at_an_item(question):
        return with_item_named(question, history) or read
    if asks_of_its_own(question):
        return with_it_named(question, history) or read
    return read.removesuffix(question).strip() if content_terms(question) else read


def carried_words(question: str, history: Sequence[Message]) -> list[str]:
    """What the reader's last questions were about and this one does not repeat, the newest first; who says only
    "yes" asked nothing."""
    asked = [message.content for message in history if message.role == "user"]
    telling = [text for text in reversed(asked) if says_something(text)]
    looked_at = QUESTIONS if is_elliptical(question) else FULL_QUESTIONS
    return new_words(question, telling[:looked_at])[:WORDS]


def is_elliptical(question: str) -> bool:
    """Whether a question lives on what was said before, as in "tell me more" or "the second one?"."""
    return len(content_terms(question)) <= FEW_TERMS
