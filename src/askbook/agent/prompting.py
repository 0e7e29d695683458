"""What a model is given to read: its instructions, the question, and the book's text as marked data."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askbook.agent.sources import Sources
from askbook.agent.tools import TOOL_NAME, format_tool_response
from askbook.agent.verifying import Rejected
from askbook.book import Book
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.history import Message, newest_that_fit
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.topic import topic_summary

INSTRUCTIONS = Path(__file__).with_name("instructions.md")
REPAIR = Path(__file__).with_name("repair.md")
FIRST_CALL = "call_first"
LEVELS = {
    "A1": "The reader is a beginner: short, plain sentences, and the book's own explanation of each term.",
    "A2": "The reader knows the basics: plain sentences, terms as the book explains them.",
    "B1": "The reader has some experience: direct sentences, the book's terms.",
    "B2": "The reader is experienced: compact sentences, the book's terms.",
    "C1": "The reader is an expert: compact and technical, as the book puts it.",
    "C2": "The reader is an expert: compact and technical, as the book puts it.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with all that may be used to answer it."""

    query: SearchQuery
    book: Book
    context: RetrievalContext
    history: Sequence[Message] = ()
    selection: str | None = None

    @property
    def question(self) -> str:
        return self.query.text


def instructions_for(asked: Asked, boundary: str, searches: int) -> str:
    """The tutor's rules for this book, this reader and this turn's boundary."""
    levels = asked.query.proficiency_levels or ()
    return filled(
        INSTRUCTIONS.read_text(encoding="utf-8"),
        title=asked.book.title,
        searches=str(searches),
        refusal=asked.book.refusal,
        boundary=boundary,
        level=LEVELS[max(levels)] if levels else "Write for a reader who is learning this.",
    )


def secrets_of(instructions: str, boundary: str) -> tuple[str, ...]:
    """What no answer shows: the boundary, and lines of the instructions that none repeats by chance."""
    lines = (line.strip("- ") for line in instructions.splitlines() if len(line) > 60)
    return (boundary, *lines)


def first_input(asked: Asked, sources: Sources, boundary: str, turns: int) -> list[Any]:
    """At most `turns` earlier exchanges, the question, and the first retrieval as a tool call with its result."""
    items: list[Any] = [
        {"role": message.role, "content": _unmarked(message.content)}
        for message in newest_that_fit(asked.history, turns=turns)
    ]
    question = f"USER QUESTION: {asked.question}"
    if topic := topic_summary(asked.history):
        question = (
            f"The conversation so far was about:\n<<{boundary}\n{topic}\n{boundary}>>\n\n{question}"
        )
    if asked.selection:
        question = f"The reader marked this passage:\n<<{boundary}\n{asked.selection}\n{boundary}>>\n\n{question}"
    items.append({"role": "user", "content": question})
    arguments = {"query": asked.question, "top_k": asked.query.limit}
    items.append(
        {
            "type": "function_call",
            "call_id": FIRST_CALL,
            "name": TOOL_NAME,
            "arguments": json.dumps(arguments, ensure_ascii=False),
        }
    )
    found = format_tool_response(asked.question, list(sources), boundary=boundary)
    items.append({"type": "function_call_output", "call_id": FIRST_CALL, "output": found})
    return items


def repair_prompt(
    asked: Asked, sources: Sources, boundary: str, refused: Sequence[Rejected]
) -> str:
    """Asks for refused sentences again, with the reasons and all sources."""
    return filled(
        REPAIR.read_text(encoding="utf-8"),
        sentences="\n".join(f"- {r.claim.text} ({' '.join(r.reasons)})" for r in refused),
        refusal=asked.book.refusal,
        boundary=boundary,
        context=_formatted(sources, boundary),
        question=asked.question,
    )


def _formatted(sources: Sources, boundary: str) -> str:
    lines: list[str] = []
    for number, result in sources:
        text = result.text.replace(boundary, "")
        lines += [
            f"[{number}] Source: {result.url}",
            f"    Score: {result.score:.2f}",
            f"    Content: {text}",
            "",
        ]
    return "\n".join(lines)


def filled(template: str, **values: str) -> str:
    """A prompt with its blanks filled; braces inside a value are left alone."""
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m.group(1), m.group()), template)


def _unmarked(text: str) -> str:
    return re.sub(r"\s?\[\d{1,3}\]", "", text)
