"""Scores the units of the retrieved chunks by how well each answers the question: cheap signs first, then the judge."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import log

from askbook.agent.passages import Unit, cut_into_units
from askbook.agent.tasks import asks_for_tasks, lessons_that_ask, sets_a_task
from askbook.retrieval.abbreviations import Name, glosses_in, initials_in, with_other_names
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.definitions import (
    defines,
    defines_exactly,
    defines_head,
    head_of,
    heading_in,
    introduces,
    is_headed_by,
    is_headed_by_longer,
    names_asked_for,
    names_kind,
    term_asked_for,
)
from askbook.retrieval.enumerations import cells_of
from askbook.retrieval.judging import Judge, Judgement
from askbook.retrieval.query import SearchResult
from askbook.retrieval.terms import content_terms, term_set

RESULTS_READ = 3
UNITS_JUDGED = 16
"""Units the judge reads, the most promising by their cheap signs; more cost time and add nothing."""
WEIGHTS = {
    "terms": 3.0,
    "span": 1.0,
    "definition": 12.0,
    "length": 0.5,
    "rank": -0.6,
    "lead": -1.5,
    "fragment": -3.0,
    "lesson": 1.0,
    "relevance": 0.7,
    "answerability": 0.15,
    "margin": 0.15,
}
"""What each sign of a good unit counts. Weights fitted on other folders do no better (docs/decisions/0007). A
definition counts more than the judge can object: asked what something is, the book's own introduction of it answers."""
HEADED = 0.25
"""What the first sentence under the very term as a heading counts of a definition: a section may begin with something else."""
LONGER = 0.5
"""What the definition of a longer term counts beside one of the very term: the judge may still prefer it."""
SIDE = 0.4
"""What saying what one of two compared things is counts, where the other is told too: what speaks of both says more."""
FULL_LENGTH = 25
"""Words from which a unit is no fuller for being longer."""

_LISTS_WORKS = re.compile(
    r"\W*(?:\d[\d.]*\s+)?(?:references?|bibliography|works cited|literature|see also|"
    r"(?:(?:further|additional|recommended|suggested|more)\s+)?(?:readings?|resources))\W*",
    re.I,
)
_ASKS_FOR_WORKS = re.compile(
    r"\b(?:references?|bibliography|literature|read(?:ings?)?|resources?|books?|papers?|articles?|authors?|wrote|"
    r"written|publish\w*|sources?|links?|sites?|websites?|courses?|tutorials?|cite[ds]?|learn more|find out more)\b",
    re.I,
)
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
    """The units of the best results, of those that introduce what is asked for, and of the lesson that asks it too, in
    reading order."""
    names = frozenset[Name]().union(*_asked_for(context))
    teaching = lessons_that_ask(context)
    texts = _read_in(context)
    glosses = initials_in(context.query, texts).union(*map(glosses_in, texts))
    return [
        Placed(
            result,
            position,
            unit,
            with_other_names(term_set(_spelled_out(unit, result.text)), glosses),
        )
        for result in context.results
        if result.rank <= RESULTS_READ
        or result.chunk.metadata.parent_doc_id in teaching
        or introduces(result.text, result.section, names)
        for position, unit in enumerate(cut_into_units(result.text))
    ]


def _asked_for(context: RetrievalContext) -> list[frozenset[Name]]:
    """What is to be explained, also as the passages abbreviate it or spell it out."""
    return names_asked_for(context.query, _read_in(context))


def _read_in(context: RetrievalContext) -> list[str]:
    """The passages with the headings they stand under."""
    return [result.chunk.embedded_text for result in context.results]


async def score_units(
    context: RetrievalContext, placed: Sequence[Placed], judge: Judge | None
) -> list[Scored]:
    """The most promising units with their scores, best first."""
    telling = [p for p in placed if _tells(p, context.query)] or placed
    cheap = [weigh(signs) for signs in signs_of(context, telling)]
    scored = sorted(map(Scored, telling, cheap), key=lambda s: -s.score)[:UNITS_JUDGED]
    if judge is None:
        return scored
    judged = await judge.judge(context.query, [read_with(s.placed, placed) for s in scored])
    whole = [
        Scored(s.placed, s.score + weigh(judged_signs(j)))
        for s, j in zip(scored, judged, strict=True)
    ]
    return sorted(whole, key=lambda s: -s.score)


def weigh(signs: Mapping[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in signs.items())


def _tells(placed: Placed, question: str) -> bool:
    """Whether a unit says more than the question: it is none itself, brings a word or number of its own, and does
    not only say where more can be read."""
    if not question.rstrip().endswith("?"):
        return True
    if placed.unit.text.rstrip().endswith("?"):
        return False
    if sets_a_task(placed.unit.text, _heading_of(placed)) and not asks_for_tasks(question):
        return False
    if _LISTS_WORKS.fullmatch(_heading_of(placed)) and not _ASKS_FOR_WORKS.search(question):
        return False
    asked = set(re.findall(r"\d+", question))
    news = placed.terms.difference(content_terms(question))
    return bool(news) or not asked.issuperset(re.findall(r"\d+", placed.unit.text))


def _heading_of(placed: Placed) -> str:
    return placed.result.chunk.section_at(placed.unit.start).title


def points_back(unit: Unit) -> bool:
    """Whether a unit opens with a word that only the one before it explains."""
    return bool(_POINTS_BACK.match(unit.text))


def leads_in(unit: Unit) -> bool:
    """Whether a unit only announces what comes after it."""
    return unit.text.rstrip().endswith(":")


def read_with(scored: Placed, placed: Sequence[Placed]) -> str:
    """What the judge reads: the section, the unit before where this one points back to it, and the unit."""
    before = next((p for p in placed if p.place == (scored.result.rank, scored.position - 1)), None)
    lead = f"{before.unit.text} " if before is not None and points_back(scored.unit) else ""
    return f"{scored.result.section}: {lead}{_spelled_out(scored.unit, scored.result.text)}"


def _spelled_out(unit: Unit, text: str) -> str:
    """A unit as it is to be understood: the cells of a row with the heads of their columns."""
    if unit.kind != "row" or unit.head is None:
        return unit.text
    heads = cells_of(text[slice(*unit.head)].splitlines()[0])
    named = zip_longest(heads, cells_of(unit.text), fillvalue="")
    return "; ".join(f"{head}: {cell}" if head else cell for head, cell in named if cell)


def rarities(question: str, placed: Sequence[Placed]) -> dict[str, float]:
    """The question's telling words; those in few units tell most."""
    return {
        term: log(1 + len(placed) / (1 + sum(term in p.terms for p in placed)))
        for term in content_terms(question)
    }


def signs_of(context: RetrievalContext, placed: Sequence[Placed]) -> list[dict[str, float]]:
    """What can be told of each unit without the judge."""
    rarity = rarities(context.query, placed)
    total = sum(rarity.values()) or 1.0
    defining, teaching = _definitions(context, placed), lessons_that_ask(context)
    return [
        {
            "terms": sum(rarity[term] for term in p.terms & rarity.keys()) / total,
            "span": _span_share(context, p),
            "definition": share,
            "length": log(1 + min(FULL_LENGTH, len(p.unit.text.split()))),
            "rank": float(p.result.rank - 1),
            "lead": float(leads_in(p.unit)),
            "fragment": float(_is_fragment(p.unit)),
            "lesson": float(p.result.chunk.metadata.parent_doc_id in teaching),
        }
        for p, share in zip(placed, defining, strict=True)
    ]


def _definitions(context: RetrievalContext, placed: Sequence[Placed]) -> list[float]:
    """How far each unit says what the term asked for is; that of the very term goes before that of a longer one."""
    sides = _asked_for(context)
    if len(sides) != 1:
        return _of_sides(sides, placed)
    [names], term, head = sides, term_asked_for(context.query), head_of(context.query)
    near = [_near(p.unit.text, names, term, head) for p in placed]
    exact = [
        1.0 if defines_exactly(p.unit.text, names) else HEADED * _headed(p, names) for p in placed
    ]
    most = max(exact, default=0.0)
    if most <= 0.0:
        return [float(is_near) for is_near in near]
    longer = HEADED if most == HEADED else LONGER
    return [
        share if share == 1.0 else share + longer * is_near
        for share, is_near in zip(exact, near, strict=True)
    ]


def _of_sides(sides: Sequence[Collection[Name]], placed: Sequence[Placed]) -> list[float]:
    """Of two things that are compared, what says what one is, if that is said of both."""
    defined = [[defines_exactly(p.unit.text, names) for p in placed] for names in sides]
    worth = SIDE if all(any(each) for each in defined) else 0.0
    return [worth * any(of_unit) for of_unit in zip(*defined, strict=True)] or [0.0] * len(placed)


def _near(text: str, names: Collection[Name], term: Name, head: Name) -> bool:
    """Whether a unit defines a longer term, the head of the term, or what sets the term apart."""
    return defines(text, names) or defines_head(text, head) or names_kind(text, term, head)


def _headed(placed: Placed, names: Collection[Name]) -> int:
    """Whether a unit stands directly under the very term (1), or under a longer one that contains it (-1)."""
    heading = heading_in(placed.result.text[: placed.unit.start].rstrip().rsplit("\n", 1)[-1])
    return is_headed_by(heading, names) - is_headed_by_longer(heading, names)


def judged_signs(judgement: Judgement) -> dict[str, float]:
    """What the judge says of a unit."""
    return {
        "relevance": judgement.relevance,
        "answerability": judgement.answerability,
        "margin": judgement.span_margin,
    }


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
