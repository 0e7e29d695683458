"""Answers without a language model: picks the passages that answer and quotes them word for word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from askbook.agent.passages import Unit, cut_into_units
from askbook.agent.response import Citation, cite
from askbook.book import Book
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchResult
from askbook.retrieval.terms import content_terms

MODEL = "extractive"
RESULTS_READ = 3
UNITS_JUDGED = 48
MAX_UNITS = 4
MAX_ANSWER = 900
COMPANY_LENGTH = 400
CLOSE = 1.0
"""Judge logits: a unit this near the best one belongs to the answer too."""
SPAN_BONUS, TERMS_BONUS, DEFINITION_BONUS, RANK_COST = 1.0, 1.5, 1.0, 0.4

_DEFINITION = re.compile(
    r"^\s*(?:what(?:'s| is| are| does)|define|explain|describe)\s+(?:an?\s+|the\s+)?(.+?)"
    r"(?:\s+(?:mean|stand for))?\s*\??\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    text: str
    citations: tuple[Citation, ...]
    cited: tuple[SearchResult, ...]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A unit with its place (rank of its result, position in the chunk) and its score."""

    result: SearchResult
    position: int
    unit: Unit
    score: float

    @property
    def place(self) -> tuple[int, int]:
        return self.result.rank, self.position


async def answer_extractively(
    context: RetrievalContext, book: Book, judge: Judge | None
) -> ExtractiveAnswer | None:
    """The quoted answer, or None when no passage can be quoted."""
    chosen = _choose(await _score(context, judge))
    return _compose(chosen, book) if chosen else None


async def _score(context: RetrievalContext, judge: Judge | None) -> list[_Scored]:
    pieces = [
        (result, position, unit)
        for result in context.results[:RESULTS_READ]
        for position, unit in enumerate(cut_into_units(result.text))
    ][:UNITS_JUDGED]
    cheap = _cheap_scores(context, pieces)
    if judge is not None:
        judged = await judge.judge(
            context.query, [f"{result.section}: {unit.text}" for result, _, unit in pieces]
        )
        cheap = [
            j.relevance + 0.25 * j.answerability + score
            for j, score in zip(judged, cheap, strict=True)
        ]
    return [
        _Scored(*piece, score - RANK_COST * (piece[0].rank - 1))
        for piece, score in zip(pieces, cheap, strict=True)
    ]


def _cheap_scores(
    context: RetrievalContext, pieces: Sequence[tuple[SearchResult, int, Unit]]
) -> list[float]:
    """What needs no model: the question's rarer words, the judge's span in the chunk, a definition's form."""
    terms = [set(content_terms(unit.text)) for _, _, unit in pieces]
    wanted = content_terms(context.query)
    rarity = {t: log(1 + len(terms) / (1 + sum(t in own for own in terms))) for t in wanted}
    total = sum(rarity.values()) or 1.0
    asked = _DEFINITION.match(context.query)
    defined = set(content_terms(asked.group(1))) if asked else set[str]()
    return [
        TERMS_BONUS * sum(rarity[t] for t in wanted if t in own) / total
        + SPAN_BONUS * _holds_span(context, result, unit)
        + DEFINITION_BONUS * _defines(unit.text, defined)
        for (result, _, unit), own in zip(pieces, terms, strict=True)
    ]


def _holds_span(context: RetrievalContext, result: SearchResult, unit: Unit) -> bool:
    """Whether the judge, reading the whole chunk, saw the answer in this unit."""
    judgement = dict(zip(context.results, context.judgements, strict=False)).get(result)
    if judgement is None:
        return False
    # The judge read the breadcrumb and a line break before the text.
    shift = len(result.chunk.embedded_text) - len(result.text)
    middle = (judgement.span_start + judgement.span_end) // 2 - shift
    return unit.start <= middle < unit.end


def _defines(text: str, defined: set[str]) -> bool:
    """Whether a sentence opens with the thing asked for and says what it is."""
    opening = re.match(r"\W*(?:an?\s+|the\s+)?(.{1,60}?)\W+(?:is|are|means|stands)\b", text, re.I)
    return bool(defined and opening and defined <= set(content_terms(opening.group(1))))


def _choose(scored: Sequence[_Scored]) -> list[_Scored]:
    """The best unit, what belongs to it, and others nearly as good; in reading order."""
    prose = [s for s in scored if s.unit.kind != "code"]
    if not prose:
        return list(scored[:1])
    best = max(prose, key=lambda s: s.score)
    chosen = [best, *_company(best, scored)]
    if best.unit.text.rstrip().endswith(":"):
        chosen += _following(best, scored)
    for other in sorted(prose, key=lambda s: -s.score):
        if len(chosen) >= MAX_UNITS or best.score - other.score > CLOSE:
            break
        length = sum(len(s.unit.text) for s in chosen) + len(other.unit.text)
        if other not in chosen and length <= MAX_ANSWER:
            chosen.append(other)
    return sorted(chosen, key=lambda s: s.place)


def _company(best: _Scored, scored: Sequence[_Scored]) -> list[_Scored]:
    """The sentences around the best one without which it would stand alone in mid-thought."""
    if best.unit.kind != "sentence":
        return []
    beside = {s.position: s for s in scored if s.result is best.result}
    before, after = beside.get(best.position - 1), beside.get(best.position + 1)
    company: list[_Scored] = []
    length = len(best.unit.text)
    if before is not None and _POINTS_BACK.match(best.unit.text):
        wanted = (before, after)
    else:
        wanted = (after,)
    for neighbour in wanted:
        if neighbour is None or neighbour.unit.kind != "sentence":
            continue
        length += len(neighbour.unit.text)
        near = min(
            abs(neighbour.unit.start - best.unit.end), abs(best.unit.start - neighbour.unit.end)
        )
        if length <= COMPANY_LENGTH and near <= 1:
            company.append(neighbour)
    return company


_POINTS_BACK = re.compile(
    r"\W*(?:it|its|this|that|these|those|they|them|their|he|she|both|neither|such|"
    r"(?:an?|the)?\s*(?:other|latter|former|same)|otherwise|then|so|therefore|here|there)\b",
    re.IGNORECASE,
)


def _following(lead: _Scored, scored: Sequence[_Scored]) -> list[_Scored]:
    """The list, table or code that a sentence ending in a colon introduces."""
    followers: list[_Scored] = []
    same = [s for s in scored if s.result is lead.result and s.position > lead.position]
    for candidate in sorted(same, key=lambda s: s.position):
        if candidate.unit.kind == "sentence":
            break
        followers.append(candidate)
        if candidate.unit.kind == "code":
            break
    return followers


def _compose(chosen: Sequence[_Scored], book: Book) -> ExtractiveAnswer:
    """Quotes in reading order; units that stand together share one citation."""
    runs: list[list[_Scored]] = []
    for s in chosen:
        before = runs[-1][-1] if runs else None
        if before is not None and before.place == (s.result.rank, s.position - 1):
            runs[-1].append(s)
        else:
            runs.append([s])
    citations = tuple(
        cite(book, run[0].result.chunk, n, run[0].unit.start, run[-1].unit.end)
        for n, run in enumerate(runs, 1)
    )
    text = "\n\n".join(_rendered(run, n) for n, run in enumerate(runs, 1))
    return ExtractiveAnswer(text, citations, tuple(dict.fromkeys(s.result for s in chosen)))


def _rendered(run: Sequence[_Scored], number: int) -> str:
    """One run as Markdown: sentences run on, items and rows stand on lines of their own."""
    text = ""
    head: tuple[int, int] | None = None
    for before, s in zip([None, *run], run, strict=False):
        unit, marker = s.unit, f"[{number}]"
        together = before is not None and before.unit.kind == unit.kind
        if before is not None:
            text += {"sentence": " ", "code": "\n\n"}.get(unit.kind, "\n") if together else "\n\n"
        if unit.kind == "row" and unit.head is not None and unit.head != head:
            head = unit.head
            text += s.result.text[slice(*head)] + "\n"
        if unit.kind == "row":
            text += re.sub(r"\s*\|?\s*$", f" {marker} |", unit.text, count=1)
        elif unit.kind == "code":
            text += f"{unit.text if _FENCED.match(unit.text) else _fenced(unit.text)}\n{marker}"
        else:
            text += f"{'- ' if unit.kind == 'item' else ''}{unit.text} {marker}"
    return text


_FENCED = re.compile(r"\s*(```|~~~)")


def _fenced(code: str) -> str:
    return f"```\n{code}\n```" if "```" not in code else f"~~~\n{code}\n~~~"
