"""Scores an answer: words against gold, cited documents against gold, and whether each sentence is supported. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from askbook.agent.response import AgentResponse
from askbook.evaluation.datasets import Question
from askbook.evaluation.metrics import token_f1

_MARKS = re.compile(r"\s*((?:\[\d+\]\s?)+)")
_NUMBER = re.compile(r"\[(\d+)\]")
_LEAD = re.compile(r"^\s*-\s+")


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """One answer's scores; a refusal has none but its own."""

    answered: bool
    token_f1: float | None
    citation_precision: float | None
    citation_recall: float | None
    sentences: int
    supported: int


def read_answer(
    response: AgentResponse, question: Question, documents: Mapping[str, str], disclaimer: str
) -> AnswerOutcome:
    """Score a response; `documents` names the document of each cited chunk."""
    answered = response.should_answer
    cited = [documents[c.chunk_id] for c in response.citations] if answered else []
    relevant = {doc for doc, grade in question.grades.items() if grade > 0}
    text = response.answer.removesuffix(disclaimer).rstrip()
    sentences = _sentences(text) if answered else []
    chunks = {
        c.n: s.text
        for c in response.citations
        for s in response.sources
        if s.chunk_id == c.chunk_id
    }
    words = " ".join(sentence for sentence, _ in sentences)
    return AnswerOutcome(
        answered=answered,
        token_f1=token_f1(words, question.answers) if question.answers else None,
        citation_precision=_share(sum(doc in relevant for doc in cited), len(cited))
        if relevant
        else None,
        citation_recall=len(relevant & set(cited)) / len(relevant) if relevant else None,
        sentences=len(sentences),
        supported=sum(_is_supported(sentence, numbers, chunks) for sentence, numbers in sentences),
    )


def _sentences(text: str) -> list[tuple[str, list[int]]]:
    """What stands before each citation mark, with the numbers of the mark; what has no mark comes last."""
    found: list[tuple[str, list[int]]] = []
    position = 0
    for mark in _MARKS.finditer(text):
        sentence = text[position : mark.start()]
        if sentence.strip():
            numbers = [int(n) for n in _NUMBER.findall(mark.group(1))]
            found.append((_LEAD.sub("", sentence).strip(), numbers))
        position = mark.end()
    rest = text[position:].strip()
    if rest:
        found.append((rest, []))
    return found


def _is_supported(sentence: str, numbers: list[int], chunks: Mapping[int, str]) -> bool:
    """Quoted word for word in a chunk it cites; line breaks and spaces do not count."""
    wanted = " ".join(sentence.split())
    return any(wanted in " ".join(chunks.get(n, "").split()) for n in numbers)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
