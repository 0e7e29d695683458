"""Scores the units of the retrieved chunks by how well each answers the question: cheap signs first, then the judge."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from askbook.agent.passages import Unit, cut_into_units
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.definitions import defines, defines_head, head_of, introduces, term_asked_for
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchResult
from askbook.retrieval.terms import content_terms, term_set

RESULTS_READ = 3
UNITS_JUDGED = 16
"""Units the judge reads, the most promising by their cheap signs; more cost time and add nothing."""
RELEVANCE, ANSWERABILITY, MARGIN = 0.7, 0.15, 0.15
TERMS, SPAN, LENGTH = 3.0, 1.0, 0.5
RANK_COST, LEAD_COST, FRAGMENT_COST = 0.6, 1.5, 3.0
"""Weights chosen on the development data."""
DEFINITION = 12.0
"""More than the judge can object: asked what something is, the book's own introduction of it answers."""
FULL_LENGTH = 25
"""Words from which a unit is no fuller for being longer."""

_POINTS_BACK = re.compile(
    r"\W*(?:(?:it|its|this|that|these|those|they|them|their|he|she|both|neither|such|"
    r"(?:an?|the)?\s*(?:other|latter|former|same)|otherwise|then|so|therefore|here|there)\b"
    r"|(?:[\w-]+\s+){1,4}(?:them|this|these|those|the two|the latter|the former)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit with its place: its result and its position in the chunk."""

    result: SearchResult
    position: int
    unit: Unit
    terms: frozenset[str]

    @property
    def place(self) -> tuple[int, int]:
        return self.result.rank, self.position


@dataclass(frozen=True, slots=True)
class Scored:
    """A placed unit and how well it answers."""

    placed: Placed
    score: float


def place_units(context: RetrievalContext) -> list[Placed]:
    """The units of the best results, and of those that introduce what is asked for, in reading order."""
    asked = term_asked_for(context.query)
    return [
        Placed(result, position, unit, frozenset(term_set(unit.text)))
        for result in context.results
        if result.rank <= RESULTS_READ or introduces(result.text, result.section, asked)
        for position, unit in enumerate(cut_into_units(result.text))
    ]


async def score_units(
    context: RetrievalContext, placed: Sequence[Placed], judge: Judge | None
) -> list[Scored]:
    """The most promising units with their scores, best first."""
    telling = [p for p in placed if _tells(p, context.query)] or placed
    cheap = zip(telling, _cheap_scores(context, telling), strict=True)
    scored = sorted((Scored(*pair) for pair in cheap), key=lambda s: -s.score)[:UNITS_JUDGED]
    if judge is None:
        return scored
    judged = await judge.judge(context.query, [_read(s.placed, placed) for s in scored])
    whole = [
        Scored(
            s.placed,
            s.score
            + RELEVANCE * j.relevance
            + ANSWERABILITY * j.answerability
            + MARGIN * j.span_margin,
        )
        for s, j in zip(scored, judged, strict=True)
    ]
    return sorted(whole, key=lambda s: -s.score)


def _tells(placed: Placed, question: str) -> bool:
    """Whether a unit says more than the question: it is none itself, and brings a word or number of its own."""
    if not question.rstrip().endswith("?"):
        return True
    if placed.unit.text.rstrip().endswith("?"):
        return False
    asked = set(re.findall(r"\d+", question))
    news = placed.terms.difference(content_terms(question))
    return bool(news) or not asked.issuperset(re.findall(r"\d+", placed.unit.text))


def points_back(unit: Unit) -> bool:
    """Whether a unit opens with a word that only the one before it explains."""
    return bool(_POINTS_BACK.match(unit.text))


def _read(scored: Placed, placed: Sequence[Placed]) -> str:
    """What the judge reads: the section, the unit before where this one points back to it, and the unit."""
    before = next((p for p in placed if p.place == (scored.result.rank, scored.position - 1)), None)
    lead = f"{before.unit.text} " if before is not None and points_back(scored.unit) else ""
    return f"{scored.result.section}: {lead}{scored.unit.text}"


def rarities(question: str, placed: Sequence[Placed]) -> dict[str, float]:
    """The question's telling words; those in few units tell most."""
    return {
        term: log(1 + len(placed) / (1 + sum(term in p.terms for p in placed)))
        for term in content_terms(question)
    }


def _cheap_scores(context: RetrievalContext, placed: Sequence[Placed]) -> list[float]:
    rarity = rarities(context.query, placed)
    total = sum(rarity.values()) or 1.0
    asked, head = term_asked_for(context.query), head_of(context.query)
    return [
        TERMS * sum(rarity[term] for term in p.terms & rarity.keys()) / total
        + SPAN * _span_share(context, p)
        + DEFINITION * (defines(p.unit.text, asked) or defines_head(p.unit.text, head))
        + LENGTH * log(1 + min(FULL_LENGTH, len(p.unit.text.split())))
        - RANK_COST * (p.result.rank - 1)
        - LEAD_COST * p.unit.text.rstrip().endswith(":")
        - FRAGMENT_COST * _is_fragment(p.unit)
        for p in placed
    ]


def _is_fragment(unit: Unit) -> bool:
    """A line of prose without a full stop: a menu, a caption, a title."""
    return unit.kind == "sentence" and not re.search(r"[.!?:;][\"'”’)\]*_`]*$", unit.text)


def _span_share(context: RetrievalContext, placed: Placed) -> float:
    """How much of the answer that the judge saw, reading the whole chunk, stands in this unit."""
    judgement = dict(zip(context.results, context.judgements, strict=False)).get(placed.result)
    if judgement is None or judgement.span_end <= judgement.span_start:
        return 0.0
    # The judge read the breadcrumb and a line break before the text.
    shift = len(placed.result.chunk.embedded_text) - len(placed.result.text)
    start, end = judgement.span_start - shift, judgement.span_end - shift
    return max(0, min(end, placed.unit.end) - max(start, placed.unit.start)) / (end - start)
