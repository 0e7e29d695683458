"""Answers without a language model: picks the passages that answer and quotes them word for word."""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.agent.passages import Unit, cut_into_units
from askbook.agent.response import Citation, cite
from askbook.book import Book
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchResult
from askbook.retrieval.terms import content_terms

MODEL = "extractive"
RESULTS_READ = 3
UNITS_JUDGED = 40
MAX_UNITS = 4
MAX_ANSWER = 900
CLOSE = 1.5
"""Judge logits: a unit this near the best one belongs to the answer too."""


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    text: str
    citations: tuple[Citation, ...]
    cited: tuple[SearchResult, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    result: SearchResult
    position: int
    unit: Unit
    score: float


async def answer_extractively(
    context: RetrievalContext, book: Book, judge: Judge | None
) -> ExtractiveAnswer | None:
    """The quoted answer, or None when no passage can be quoted."""
    scored = await _score(context, judge)
    chosen = _choose(scored)
    if not chosen:
        return None
    return _compose(chosen, book)


async def _score(context: RetrievalContext, judge: Judge | None) -> list[_Scored]:
    pieces = [
        (result, position, unit)
        for result in context.results[:RESULTS_READ]
        for position, unit in enumerate(cut_into_units(result.text))
    ][:UNITS_JUDGED]
    overlap = [_overlap(context.query, unit.text) for _, _, unit in pieces]
    if judge is None:
        scores = [3.0 * share for share in overlap]
    else:
        judgements = await judge.judge(
            context.query, [f"{result.section}: {unit.text}" for result, _, unit in pieces]
        )
        scores = [
            j.relevance + 0.25 * j.answerability + share
            for j, share in zip(judgements, overlap, strict=True)
        ]
    return [
        _Scored(result, position, unit, score - 0.3 * (result.rank - 1))
        for (result, position, unit), score in zip(pieces, scores, strict=True)
    ]


def _choose(scored: Sequence[_Scored]) -> list[_Scored]:
    """The best unit, what belongs to it, and others nearly as good; in reading order."""
    prose = [s for s in scored if s.unit.kind != "code"]
    if not prose:
        return list(scored[:1])
    best = max(prose, key=lambda s: s.score)
    chosen = [best]
    if best.unit.text.rstrip().endswith(":"):
        chosen += _following(best, scored)
    for other in sorted(prose, key=lambda s: -s.score):
        if len(chosen) >= MAX_UNITS or best.score - other.score > CLOSE:
            break
        length = sum(len(s.unit.text) for s in chosen) + len(other.unit.text)
        if other not in chosen and length <= MAX_ANSWER:
            chosen.append(other)
    return sorted(chosen, key=lambda s: (s.result.rank, s.position))


def _following(lead: _Scored, scored: Sequence[_Scored]) -> list[_Scored]:
    """The list or code that a sentence ending in a colon introduces."""
    same = [s for s in scored if s.result is lead.result and s.position > lead.position]
    followers: list[_Scored] = []
    for candidate in sorted(same, key=lambda s: s.position):
        if candidate.unit.kind == "sentence":
            break
        followers.append(candidate)
        if candidate.unit.kind == "code":
            break
    return followers


def _compose(chosen: Sequence[_Scored], book: Book) -> ExtractiveAnswer:
    """Quotes in reading order, each with the number of its citation."""
    cited = list(dict.fromkeys(s.result for s in chosen))
    numbers = {result.chunk_id: n for n, result in enumerate(cited, 1)}
    citations: list[Citation] = []
    lines: list[str] = []
    for result in cited:
        mine = [s.unit for s in chosen if s.result is result]
        start, end = mine[0].start, mine[-1].end
        best = max((s for s in chosen if s.result is result), key=lambda s: s.score).unit
        if end - start > MAX_ANSWER:
            start, end = best.start, best.end
        citations.append(cite(book, result.chunk, numbers[result.chunk_id], start, end))
    for s in chosen:
        lines.append(_rendered(s.unit, numbers[s.result.chunk_id]))
    return ExtractiveAnswer(_joined(chosen, lines), tuple(citations), tuple(cited))


def _rendered(unit: Unit, number: int) -> str:
    if unit.kind == "code":
        return f"{unit.text}\n[{number}]"
    if unit.kind == "item":
        return f"- {unit.text} [{number}]"
    return f"{unit.text} [{number}]"


def _joined(chosen: Sequence[_Scored], lines: Sequence[str]) -> str:
    """Sentences run on; lists and code stand on lines of their own."""
    text = lines[0]
    for before, after, line in zip(chosen, chosen[1:], lines[1:], strict=False):
        if after.unit.kind == before.unit.kind == "sentence":
            text += " " if before.result is after.result else "\n\n"
        elif after.unit.kind == before.unit.kind == "item":
            text += "\n"
        else:
            text += "\n\n"
        text += line
    return text


def _overlap(question: str, text: str) -> float:
    wanted = content_terms(question)
    present = set(content_terms(text))
    return sum(term in present for term in wanted) / len(wanted) if wanted else 0.0
