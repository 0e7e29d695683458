"""A follow-up made complete by the model, for searching only: what it is asked for, and what of its reply is used."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from askbook.agent.guardrails import gives_orders
from askbook.agent.prompting import filled
from askbook.retrieval.history import Message, newest_that_fit
from askbook.retrieval.pointing import leans_on_what_was_said
from askbook.retrieval.terms import content_terms, term_set

INSTRUCTIONS = Path(__file__).with_name("rewriting.md")
LONGEST = 400
EXCHANGES = 3
TOKENS = 800
_LABEL = re.compile(r"^\s*(?:(?:rewritten |complete )?question\s*:)?\s*[\"“]?|[\"”]?\s*$", re.I)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A follow-up as the model completed it, if that was any help, and what it took."""

    text: str | None = None
    tokens_used: int = 0
    prompt_tokens: int = 0


def needs_rewriting(question: str, history: Sequence[Message]) -> bool:
    """Whether a question lives on what was said; one that stands by itself is not worth a call."""
    return bool(history) and leans_on_what_was_said(question)


def rewriting_instructions(boundary: str) -> str:
    return filled(INSTRUCTIONS.read_text(encoding="utf-8"), boundary=boundary)


def rewriting_prompt(question: str, history: Sequence[Message], boundary: str) -> str:
    """The last exchanges as data, then the question."""
    said = newest_that_fit(history, tokens=TOKENS, turns=EXCHANGES)
    speakers = {"user": "Reader", "assistant": "Tutor"}
    lines = [f"{speakers[m.role]}: {m.content.replace(boundary, '')}" for m in said]
    return (
        f"<<{boundary}\n"
        + "\n".join(lines)
        + f"\n{boundary}>>\n\nThe reader's question: {question}"
    )


def usable(reply: str, question: str, history: Sequence[Message]) -> str | None:
    """The reply if it is one question made of what was said; none when the model did something else."""
    text = _LABEL.sub("", reply.strip())
    if not text or "\n" in text or len(text) > LONGEST or gives_orders(text):
        return None
    said = term_set(" ".join((question, *(message.content for message in history))))
    terms = content_terms(text)
    if not terms or text.lower() == question.strip().lower():
        return None
    news = [term for term in terms if term not in said]
    return None if 2 * len(news) > len(terms) else text
