"""Scores an answer: words against gold, cited documents against gold, and whether each sentence is supported."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askbook.agent.contradictions import NOTE
from askbook.agent.extractive import MODEL, unescape_marks
from askbook.agent.grounding import check_support
from askbook.agent.likeness import Likeness
from askbook.agent.passages import cut_into_units, without_quote_marks
from askbook.agent.response import AgentResponse
from askbook.agent.verifying import settle
from askbook.evaluation.datasets import Question
from askbook.evaluation.metrics import token_f1
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchResult

FIRST_SENTENCES = 2
"""What the floor quotes: the opening of the chunk that was found first."""

_MARKS = re.compile(r"\s*((?:\[\d+\]\s?)+)")
_NUMBER = re.compile(r"\[(\d+)\]")
_LEAD = re.compile(r"^\s*(?:-\s+|\|\n)")
_WORD = re.compile(r"\w")
_BARE_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """One answer's scores; a refusal has none but its own."""

    answered: bool
    token_f1: float | None
    citation_precision: float | None
    citation_recall: float | None
    sentences: int
    supported: int
    floor: "AnswerOutcome | None" = None
    """The same question answered with the first sentences of the first chunk, where we answer at all."""


async def read_answer(
    response: AgentResponse,
    question: Question,
    documents: Mapping[str, str],
    disclaimer: str,
    judge: Judge | None = None,
    likeness: Likeness | None = None,
) -> AnswerOutcome:
    """Score a response; `documents` names the document of each chunk.

    Quotations must be word for word; what a model wrote must pass the check it was sent out by.
    """
    if not response.should_answer:
        return _scored(False, "", [], question)
    sources = {
        c.n: s for c in response.citations for s in response.sources if s.chunk_id == c.chunk_id
    }
    said = response.answer.removesuffix(disclaimer).rstrip().removesuffix(NOTE).rstrip()
    sentences = _sentences(said)
    supported = 0
    for sentence, numbers in sentences:
        cited = [sources[n] for n in numbers if n in sources]
        supported += _is_quoted(sentence, cited) or (
            response.model != MODEL
            and await _is_grounded(sentence, cited, question.text, judge, likeness)
        )
    words = " ".join(sentence for sentence, _ in sentences)
    cited = [documents[c.chunk_id] for c in response.citations]
    return _scored(True, words, cited, question, len(sentences), supported)


def read_floor(
    first: SearchResult | None, question: Question, documents: Mapping[str, str], *, answered: bool
) -> AnswerOutcome:
    """Score the first sentences of the best chunk, declined where the answer was."""
    if first is None or not answered:
        return _scored(False, "", [], question)
    units = [unit.text for unit in cut_into_units(first.text)][:FIRST_SENTENCES]
    cited = [documents[first.chunk_id]]
    return _scored(True, " ".join(units), cited, question, len(units), len(units))


def _scored(
    answered: bool,
    words: str,
    cited: Sequence[str],
    question: Question,
    sentences: int = 0,
    supported: int = 0,
) -> AnswerOutcome:
    relevant = {doc for doc, grade in question.grades.items() if grade > 0}
    return AnswerOutcome(
        answered=answered,
        token_f1=token_f1(words, question.answers) if question.answers else None,
        citation_precision=_share(sum(doc in relevant for doc in cited), len(cited))
        if relevant
        else None,
        citation_recall=len(relevant & set(cited)) / len(relevant) if relevant else None,
        sentences=sentences,
        supported=supported,
    )


def _sentences(text: str) -> list[tuple[str, list[int]]]:
    """What stands before each citation mark, with the numbers of the mark; what has no mark comes last."""
    found: list[tuple[str, list[int]]] = []
    position = 0
    for mark in _MARKS.finditer(text):
        sentence = text[position : mark.start()]
        if _WORD.search(sentence):
            numbers = [int(n) for n in _NUMBER.findall(mark.group(1))]
            found.append((_LEAD.sub("", sentence).strip(), numbers))
        position = mark.end()
    rest = text[position:].strip()
    if _WORD.search(rest):
        found.append((rest, []))
    return found


def _is_quoted(sentence: str, cited: Sequence[SearchResult]) -> bool:
    """Word for word in a chunk it cites; line breaks, spaces and bare fences do not count, and rows stand under
    their head."""
    parts = sentence.splitlines() if sentence.startswith("|") else [sentence]
    wanted = [_in_one_line(unescape_marks(part)) for part in parts]
    texts = [
        _in_one_line(text)
        for source in cited
        for text in (source.text, without_quote_marks(source.text))
    ]
    return any(all(part in text for part in wanted) for text in texts)


def _in_one_line(text: str) -> str:
    return " ".join(_BARE_FENCE.sub("", text).split())


async def _is_grounded(
    sentence: str,
    cited: Sequence[SearchResult],
    asked: str,
    judge: Judge | None,
    likeness: Likeness | None,
) -> bool:
    """Whether one of the chunks it cites, or all of them together, says what the sentence says."""
    heading = " ".join(source.chunk.metadata.breadcrumb for source in cited)
    texts = [source.text for source in cited]
    for passage in dict.fromkeys((*texts, "\n\n".join(texts))):
        support = check_support(sentence, passage, heading, asked)
        if (await settle(support, sentence, passage, judge, likeness)).verdict == "supported":
            return True
    return False


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
