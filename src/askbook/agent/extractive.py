"""Answers without a language model: picks the passages that answer and quotes them word for word."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from askbook.agent.contradictions import opposing
from askbook.agent.listings import (
    announced_by,
    asks_for_several,
    listing_of,
    number_of,
    rows_named,
    without_gaps,
)
from askbook.agent.passages import Unit, without_quote_marks
from askbook.agent.response import Citation, cite
from askbook.agent.scoring import (
    Placed,
    Scored,
    leads_in,
    place_units,
    points_back,
    rarities,
    score_units,
)
from askbook.book import Book
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchResult

MODEL = "extractive"
MAX_UNITS = 4
MAX_ANSWER = 900
COMPANY_LENGTH = 400
STEPS = 3
"""Sentences that may stand between an answer and the code it leads to."""
MAX_CODE = 600
SHORT = 8
"""Words below which a sentence seldom stands on its own."""
FACT_WORDS = 8
"""Words up to which the answer that the judge saw is a single fact."""

CLOSE, ADDING = 1.0, 10.0
"""How far behind the best unit another may be: near it when more than a fact is asked, further the more of the
question it alone speaks to."""
HEARD = 4.0
"""How far behind a unit that was just quoted another may be and still be quoted instead."""
SAME = 0.6
"""Share of a unit's telling words from which it repeats another."""

_FACT = re.compile(
    r"\b(?:who|whom|whose|when|where|which|how (?:many|much|long|often|far|fast|big|large|high|old))\b"
    r"|\bwhat (?!(?:is|are|was|were|do|does|did|happens?|makes?|causes?|would|should|can|could|if)\b)\w+"
    r"|^\s*(?:is|are|was|were|does|do|did|can|could|has|have|had|will|should|may|must)\b(?! you\b)",
    re.IGNORECASE,
)
_WANTS_CODE = re.compile(
    r"\b(?:command|code|example|syntax|snippet|run|install|launch|write|declare|call|import|build)\b"
    r"|\bhow (?:to|(?:do|can|could|should|would) (?:i|you|we|one))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ExtractiveAnswer:
    text: str
    citations: tuple[Citation, ...]
    cited: tuple[SearchResult, ...]


async def answer_extractively(
    context: RetrievalContext, book: Book, judge: Judge | None, said: str = "", heard: str = ""
) -> ExtractiveAnswer | None:
    """The quoted answer, or None when no passage can be quoted.

    `said` is what a reader who asks for more has read: the answer goes on from there, or takes up something else.
    `heard` is what one who asks on has just read: it is quoted again only where it answers clearly best.
    """
    placed = place_units(context)
    if said:
        if more := _continuation(placed, said):
            return _compose(more, book)
        placed = [p for p in placed if _shown(p.unit) not in said] or placed
    scored = _unheard(await score_units(context, placed, judge), heard)
    choice = _choose(context, scored, placed)
    return _compose(choice.quoted, book, choice.cut) if choice.quoted else None


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is quoted, in reading order; `cut` is the last of a table or list that goes on in the book."""

    quoted: Sequence[Placed]
    cut: Placed | None = None


def _unheard(scored: Sequence[Scored], heard: str) -> Sequence[Scored]:
    """The units that were not just quoted, if one of them answers about as well as the best."""
    new = [s for s in scored if _shown(s.placed.unit) not in heard]
    best = next((s for s in new if s.placed.unit.kind != "code"), None)
    return scored if best is None or scored[0].score - best.score > HEARD else new


def _continuation(placed: Sequence[Placed], said: str) -> list[Placed]:
    """What stands after the words that were quoted, in the best chunk that has some."""
    known = [p for p in placed if _shown(p.unit) in said]
    if not known:
        return []
    place = max(p.place for p in known if p.result.rank == known[0].result.rank)
    chosen: list[Placed] = []
    for p in placed:
        if p.result.rank != place[0] or p.place < place or p in known:
            continue
        if len(chosen) == MAX_UNITS or sum(len(c.unit.text) for c in [*chosen, p]) > MAX_ANSWER:
            break
        chosen.append(p)
    return chosen


def _choose(
    context: RetrievalContext, scored: Sequence[Scored], placed: Sequence[Placed]
) -> _Choice:
    """The best unit, what belongs to it, and others that add to it."""
    prose = [s for s in scored if s.placed.unit.kind != "code"]
    if not prose:
        return _Choice(placed[:1])
    best, question = prose[0], context.query
    wants_fact = _asks_for_a_fact(context)
    several = asks_for_several(question, best.placed)
    listing = listing_of(best.placed, placed, question) if several else None
    if listing is not None:
        chosen = list(listing.members)
    else:
        chosen = _with_company(best.placed, placed, question, alone=wants_fact)
        chosen += _rows_named_too(best.placed, placed, question)
        listing = announced_by(chosen, placed) if several else None
        chosen += [p for p in listing.members if p not in chosen] if listing else []
    rarity = rarities(question, placed)
    total = sum(rarity.values()) or 1.0
    for other in prose[1:]:
        missing = rarity.keys() - frozenset[str]().union(*(p.terms for p in chosen))
        if len(chosen) >= MAX_UNITS or best.score - other.score > ADDING:
            break
        gain = sum(rarity[term] for term in other.placed.terms & missing) / total
        reach = max(0.0 if wants_fact else CLOSE, ADDING * gain)
        length = sum(len(p.unit.text) for p in chosen) + len(other.placed.unit.text)
        if (
            best.score - other.score <= reach
            and length <= MAX_ANSWER
            and not leads_in(other.placed.unit)
            and not _repeats(other.placed, chosen)
        ):
            chosen.append(other.placed)
    chosen += without_gaps(chosen, placed, question)
    chosen += _other_sides(chosen, placed)
    cut = listing.members[-1] if listing is not None and listing.goes_on else None
    return _Choice(sorted(chosen, key=lambda p: p.place), cut)


def _other_sides(chosen: Sequence[Placed], placed: Sequence[Placed]) -> list[Placed]:
    """What another lesson says to the contrary."""
    lessons = ((p.unit.text, p.result.chunk.metadata.parent_doc_id) for p in chosen)
    found = (opposing(text, lesson, placed) for text, lesson in lessons)
    return list(dict.fromkeys(p for p in found if p is not None and p not in chosen))


def _asks_for_a_fact(context: RetrievalContext) -> bool:
    """Whether one sentence is enough: by the question's form, or because the judge saw a few words that answer."""
    judgement = next(iter(context.judgements), None)
    if judgement is not None and judgement.span_margin > 0:
        read = context.results[0].chunk.embedded_text
        return len(read[judgement.span_start : judgement.span_end].split()) <= FACT_WORDS
    return bool(_FACT.search(context.query))


def _repeats(placed: Placed, chosen: Sequence[Placed]) -> bool:
    return any(
        placed is other or len(placed.terms & other.terms) > SAME * max(1, len(placed.terms))
        for other in chosen
    )


def _with_company(
    best: Placed, placed: Sequence[Placed], question: str, *, alone: bool
) -> list[Placed]:
    """The best unit and those around it without which it would stand in mid-thought."""
    beside = {p.position: p for p in placed if p.result is best.result}
    before, after = beside.get(best.position - 1), beside.get(best.position + 1)
    if leads_in(best.unit):
        return [best, *_following(best, beside)]
    company = [best]
    if best.unit.kind == "sentence":
        leans = points_back(best.unit) or len(best.unit.text.split()) < SHORT
        if before is not None and leans:
            company += _fitting(best, before)
        if after is not None and not alone and not leads_in(after.unit):
            company += _fitting(best, after)
    if _WANTS_CODE.search(question):
        company += _shown_next(best, company, beside)
    return company


def _shown_next(best: Placed, company: Sequence[Placed], beside: dict[int, Placed]) -> list[Placed]:
    """The code that a text comes to within a few sentences, with what leads to it."""
    nearby = [beside[n] for n in range(best.position + 1, best.position + 2 + STEPS) if n in beside]
    code = next((n for n, p in enumerate(nearby) if p.unit.kind == "code"), None)
    if code is None or len(nearby[code].unit.text) > MAX_CODE:
        return []
    steps = nearby[: code + 1]
    if any(p.unit.kind != "sentence" for p in steps[:-1]):
        return []
    return [p for p in steps if p not in company]


def _rows_named_too(best: Placed, placed: Sequence[Placed], question: str) -> list[Placed]:
    if best.unit.kind != "row":
        return []
    return [row for row in rows_named(best, placed, question) if row is not best]


def _fitting(best: Placed, neighbour: Placed) -> list[Placed]:
    """The neighbour, if it is a sentence of the same paragraph and the two stay short."""
    one, other = sorted((best.unit, neighbour.unit), key=lambda unit: unit.start)
    together = other.start - one.end <= 1 and other.end - one.start <= COMPANY_LENGTH
    return [neighbour] if neighbour.unit.kind == "sentence" and together else []


def _following(lead: Placed, beside: dict[int, Placed]) -> list[Placed]:
    """The list, table or code that a sentence ending in a colon introduces."""
    followers: list[Placed] = []
    position = lead.position + 1
    while position in beside and beside[position].unit.kind != "sentence":
        followers.append(beside[position])
        if beside[position].unit.kind == "code":
            break
        position += 1
    return followers


def _compose(chosen: Sequence[Placed], book: Book, cut: Placed | None = None) -> ExtractiveAnswer:
    """Quotes in reading order; units that stand together share one citation."""
    runs: list[list[Placed]] = []
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
    text = "\n\n".join(_rendered(run, n, goes_on=run[-1] is cut) for n, run in enumerate(runs, 1))
    return ExtractiveAnswer(text, citations, tuple(dict.fromkeys(s.result for s in chosen)))


def _rendered(run: Sequence[Placed], number: int, *, goes_on: bool = False) -> str:
    """One run as Markdown: sentences run on, items and rows stand on lines of their own.

    A table or list that goes on in the book ends in "…", which has no words that could be taken for the book's.
    """
    text = ""
    head: tuple[int, int] | None = None
    listed = sum(s.unit.kind == "item" for s in run) > 1
    for before, s in zip([None, *run], run, strict=False):
        unit, marker = s.unit, f"[{number}]"
        together = before is not None and before.unit.kind == unit.kind
        if before is not None:
            text += {"sentence": " ", "code": "\n\n"}.get(unit.kind, "\n") if together else "\n\n"
        if unit.kind == "row" and unit.head is not None and unit.head != head:
            head = unit.head
            text += s.result.text[slice(*head)] + "\n"
        if unit.kind == "row":
            text += re.sub(r"\s*\|?\s*$", f" {marker} |", escape_marks(unit.text), count=1)
        elif unit.kind == "code":
            text += f"{_as_block(unit.text)}\n{marker}"
        elif unit.kind == "item":
            text += f"{(listed and number_of(s)) or '-'} {_shown(unit)} {marker}"
        else:
            text += f"{_shown(unit)} {marker}"
    return f"{text}\n\n… [{number}]" if goes_on else text


def _shown(unit: Unit) -> str:
    """A sentence or an item as it stands in an answer."""
    return escape_marks(without_quote_marks(unit.text))


def escape_marks(quoted: str) -> str:
    """The book's own numbers in brackets, written so that they are shown but not taken for citations."""
    return re.sub(r"\[(\d{1,3})\](?!\()", r"\\[\1\\]", quoted)


def unescape_marks(shown: str) -> str:
    return re.sub(r"\\\[(\d{1,3})\\\]", r"[\1]", shown)


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_QUOTE_MARK = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)
_QUOTED_FENCE = re.compile(r"^[ \t]{0,3}>[ \t]?(?:`{3,}|~{3,})[ \t]*\Z", re.MULTILINE)


def _as_block(code: str) -> str:
    """Code between two fences; one that stands in another chunk is added, as far indented as its fellow."""
    if _QUOTED_FENCE.search(code):
        code = _QUOTE_MARK.sub("", code)
    lines = code.splitlines()
    opening, closing = _FENCE.match(lines[0]), _FENCE.fullmatch(lines[-1].rstrip())
    if opening is None:
        return f"{closing[0]}\n{code}" if closing else _fenced(code)
    is_closed = closing is not None and len(lines) > 1 and closing[1].startswith(opening[1])
    return code if is_closed else f"{code}\n{opening[0]}"


def _fenced(code: str) -> str:
    return f"```\n{code}\n```" if "```" not in code else f"~~~\n{code}\n~~~"
