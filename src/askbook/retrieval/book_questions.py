"""Makes questions that a book answers from the book itself, and holds some that hardly any book does. Pure.

Nobody has labelled a user's book. Its headings, its definitions and its sentences stand for what readers
ask of it; they are easier than readers' questions, so they show an embedder's scale and nothing more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from askbook.book import DocumentChunk
from askbook.retrieval.terms import content_terms

QuestionKind: TypeAlias = Literal["heading", "definition", "sentence"]
ASKED_CHUNKS = 150
MOST_QUESTIONS = 150
FEWEST_TERMS = 2
SHORTEST, LONGEST = 40, 200
FOREIGN = Path(__file__).with_name("foreign_questions.txt")

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_NO_PROSE = re.compile(r"^\s*(?:#|\||<|>|[-*+]\s|\d+[.)]\s|:::|!\[|import\s|export\s)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'“‘(*_`]*[A-Z])")
_DEFINITION = re.compile(
    r"[*_]*(?:(?:An?|The)\s+)?(?P<term>[\w`*+-]+(?:\s[\w`*+-]+){0,3})\s+(?:is|are)\s+(?:an?|the)\s"
)
_WHOLE = re.compile(r"[\"'“‘(]*[A-Z].*[.!?][\"'”’)]*")
_POINTS_BACK = re.compile(
    r"[\"'“‘(]*(?:this|that|these|those|it|its|they|he|she|we|you|i|here|there|what|which|who|where|when|"
    r"one|all|so|once|now|then|but|and|or|if|as|another|each|both|first|next|finally)\b",
    re.IGNORECASE,
)
"""What only makes sense after what was said before."""
_EMPHASIS = re.compile(r"[*_`]{1,3}(?=\w)|(?<=\w)[*_`]{1,3}(?!\w)")


@dataclass(frozen=True, slots=True)
class BookQuestion:
    """A question, and the chunk it was made from."""

    kind: QuestionKind
    text: str
    chunk: DocumentChunk


def choose_chunks(chunk_ids: Iterable[str], most: int = ASKED_CHUNKS) -> list[str]:
    """The chunks to make questions of: as good as drawn by lot, but the same ones for the same book."""
    return sorted(chunk_ids, key=_lot)[:most]


def make_questions(
    chunks: Sequence[DocumentChunk], most: int = MOST_QUESTIONS
) -> tuple[BookQuestion, ...]:
    """At most so many different questions; the kinds take turns while they last."""
    waiting = [_from_headings(chunks), _from_definitions(chunks), _from_sentences(chunks)]
    made: dict[str, BookQuestion] = {}
    while waiting and len(made) < most:
        kind = waiting.pop(0)
        question = next(kind, None)
        if question is not None:
            made.setdefault(question.text.casefold(), question)
            waiting.append(kind)
    return tuple(made.values())


@cache
def foreign_questions() -> tuple[str, ...]:
    """Questions of kitchen, law, sport, history …: a book is about few of these at most."""
    return tuple(FOREIGN.read_text(encoding="utf-8").splitlines())


def _from_headings(chunks: Sequence[DocumentChunk]) -> Iterator[BookQuestion]:
    """Headings that name one lesson only; what several share ("Further reading") asks for none of them."""
    lessons: dict[str, set[str]] = {}
    for chunk in chunks:
        lessons.setdefault(_heading(chunk), set()).add(chunk.metadata.parent_doc_id)
    for chunk in chunks:
        heading = _heading(chunk)
        if len(lessons[heading]) == 1 and len(content_terms(heading)) >= FEWEST_TERMS:
            yield BookQuestion("heading", heading, chunk)


def _from_definitions(chunks: Sequence[DocumentChunk]) -> Iterator[BookQuestion]:
    """ "A topic is a …" answers "What is topic?" """
    for chunk in chunks:
        for sentence in _sentences(chunk.text):
            defined = _DEFINITION.match(sentence)
            term = _EMPHASIS.sub("", defined["term"]) if defined else ""
            if content_terms(term) and not _POINTS_BACK.match(term):
                yield BookQuestion("definition", f"What is {term}?", chunk)
                break


def _from_sentences(chunks: Sequence[DocumentChunk]) -> Iterator[BookQuestion]:
    """A sentence that says something by itself."""
    for chunk in chunks:
        telling = [
            plain
            for sentence in _sentences(chunk.text)
            if SHORTEST <= len(plain := _EMPHASIS.sub("", sentence)) <= LONGEST
            and _WHOLE.fullmatch(plain)
            and len(content_terms(plain)) >= FEWEST_TERMS
            and not _POINTS_BACK.match(plain)
        ]
        if telling:
            yield BookQuestion("sentence", min(telling, key=_lot), chunk)


def _heading(chunk: DocumentChunk) -> str:
    return (chunk.metadata.section_title or chunk.metadata.page_title).strip()[:LONGEST]


def _sentences(text: str) -> Iterator[str]:
    """The sentences of the prose; code, lists, tables and headings have none."""
    for paragraph in re.split(r"\n\s*\n", _FENCED.sub("\n\n", text)):
        if not _NO_PROSE.match(paragraph):
            yield from _SENTENCE_END.split(" ".join(paragraph.split()))


def _lot(text: str) -> str:
    return sha256(text.encode()).hexdigest()
