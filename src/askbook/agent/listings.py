"""Quotes tables and lists as wholes where a question asks for several things. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from askbook.agent.scoring import Placed
from askbook.retrieval.enumerations import cells_of
from askbook.retrieval.terms import term_set

MAX_MEMBERS = 12
MAX_LENGTH = 900
"""Rows or items, and characters, up to which a table or list is quoted."""

_PLURAL = (
    r"(?:(?!(?:does|was|has|this|its|always|makes|causes|means|happens|needs)\b)"
    r"[a-z-]{2,}(?<![sui])s|people|children|criteria)\b"
)
_BETWEEN = (
    r"(?:(?!(?:is|are|was|were|does|do|did|can|should|would|could|will|happens|if|when|of|for|to|in|"
    r"on|with|between|than|that|and|or)\b)[\w-]+\s+)"
)
_SEVERAL = re.compile(
    r"(?i:^\W*(?:please\s+)?(?:list|enumerate)\b)"
    rf"|(?i:^\W*(?:please\s+)?name)\s+{_BETWEEN}{{0,4}}?{_PLURAL}"
    r"|(?i:\b(?:what|which)\s+(?:are|were)\s+(?:the|all|some|its|their|your|my|our|common|main|"
    r"typical|usual|different|possible|two|three|four|five|six|seven|eight|nine|ten|\d+))"
    rf"\s+{_BETWEEN}{{0,3}}?{_PLURAL}"
    rf"|(?i:\bwhich)\s+{_PLURAL}"
    rf"|(?i:\b(?:what|which))\s+{_BETWEEN}{{0,2}}?{_PLURAL}"
    r"\s+(?:are|were|do|did|can|could|should|must|may|might|will|would|have|exist)\b"
)
_STEPS = re.compile(
    r"\bwhat\s+(?:should|must|shall|can|do|does|did|to)\s+(?:(?:i|we|you|one)\s+)?(?:have to\s+)?do\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<!\S)(\d{1,9}[.)])\s+$")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.:!][\"'”’)*_]*$")
_ANNOUNCING = re.compile(
    r"\b(?:these|following|below|two|three|four|five|six|seven|eight|nine|ten|several)\b",
    re.IGNORECASE,
)
_ITEM_NAME = re.compile(r"\*\*(.{1,60}?)\*\*|([^:—–]{1,60}?)\s*[:—–]")


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows or items of one table or list, in order; `goes_on` says that there was no room for the rest."""

    members: tuple[Placed, ...]
    goes_on: bool = False


def asks_for_several(question: str, best: Placed) -> bool:
    """Whether a question wants all there are of something: "what are the …s", "which …s", "list …".

    Who asks what to do wants all steps, where the best unit is one of them.
    """
    is_step = best.unit.kind == "item" and number_of(best) is not None
    return bool(_SEVERAL.search(question) or (is_step and _STEPS.search(question)))


def listing_of(best: Placed, placed: Sequence[Placed], question: str) -> Listing | None:
    """What to quote of the best unit's table or list; None where the question names that unit alone."""
    if best.unit.kind == "row":
        return _rows(best, placed, question)
    if best.unit.kind != "item" or _is_named(best, question):
        return None
    items = _list_of(best, placed)
    lead = _lead_in(items[0], placed)
    return _within_bounds([*lead, *items], best) if len(items) > 1 else None


def announced_by(chosen: Sequence[Placed], placed: Sequence[Placed]) -> Listing | None:
    """The table or list after a quoted sentence that says that several things come."""
    for sentence in chosen:
        place = (sentence.result.rank, sentence.position + 1)
        first = next((p for p in placed if p.place == place), None)
        if first is None or not _announces(sentence, first):
            continue
        rest = _table_of(first, placed) if first.unit.kind == "row" else _list_of(first, placed)
        return _within_bounds(rest, first)
    return None


def rows_named(best: Placed, placed: Sequence[Placed], question: str) -> list[Placed]:
    """Rows of the best one's table that the question names: "the categories 0, 1 and 2"."""
    words = " ".join(["", *re.findall(r"\w+", question.lower()), ""])
    return [row for row in _table_of(best, placed) if f" {_first_cell(row)} " in words]


def number_of(item: Placed) -> str | None:
    """The number of an item in the book: "1."."""
    found = _NUMBER.search(item.result.text, max(0, item.unit.start - 16), item.unit.start)
    return found[1] if found else None


def without_gaps(chosen: Sequence[Placed], placed: Sequence[Placed], question: str) -> list[Placed]:
    """What else to quote so that no list is left with some of its items: all of it, or those in between."""
    more: list[Placed] = []
    for item in chosen:
        if item.unit.kind != "item" or item in more:
            continue
        items = _list_of(item, placed)
        quoted = [p for p in items if p in chosen]
        if len(quoted) < 2 or all(_is_named(p, question) for p in quoted):
            continue
        first, last = items.index(quoted[0]), items.index(quoted[-1])
        for whole in ([*_lead_in(items[0], placed), *items], items, items[first : last + 1]):
            if _fits(whole):
                more += [p for p in whole if p not in chosen and p not in more]
                break
    return more


def _rows(best: Placed, placed: Sequence[Placed], question: str) -> Listing | None:
    """Rows that have what the question names of the best one; where it names nothing, the whole table."""
    if best.unit.head is None or rows_named(best, placed, question):
        return None
    table = _table_of(best, placed)
    topic = term_set(best.result.text[slice(*best.unit.head)]) | term_set(best.result.section)
    values = (term_set(question) & term_set(best.unit.text)) - topic
    rows = [row for row in table if values <= term_set(row.unit.text)]
    return _within_bounds(rows, best)


def _announces(sentence: Placed, first: Placed) -> bool:
    return (
        sentence.unit.kind == "sentence"
        and first.unit.kind in ("row", "item")
        and bool(_ANNOUNCING.search(sentence.unit.text))
        and not _headed(sentence, first)
    )


def _table_of(best: Placed, placed: Sequence[Placed]) -> list[Placed]:
    return [
        p
        for p in placed
        if p.result is best.result and p.unit.kind == "row" and p.unit.head == best.unit.head
    ]


def _first_cell(row: Placed) -> str:
    return cells_of(row.unit.text)[0].lower()


def _list_of(item: Placed, placed: Sequence[Placed]) -> list[Placed]:
    """The items of a list with what stands indented between them."""
    beside = {p.position: p for p in placed if p.result is item.result}
    members = [item]
    while (before := beside.get(members[0].position - 1)) and _go_together(before, members[0]):
        members.insert(0, before)
    while (after := beside.get(members[-1].position + 1)) and _go_together(members[-1], after):
        members.append(after)
    while members[0].unit.kind != "item":
        members.pop(0)
    return members


def _go_together(one: Placed, other: Placed) -> bool:
    return _is_listed(one) and _is_listed(other) and not _headed(one, other)


def _is_listed(placed: Placed) -> bool:
    """Whether a unit is an item, or stands indented as what belongs to an item does."""
    if placed.unit.kind in ("item", "row"):
        return placed.unit.kind == "item"
    text, start = placed.result.text, placed.unit.start
    return text[text.rfind("\n", 0, start) + 1 :].startswith(("  ", "\t"))


def _headed(one: Placed, other: Placed) -> bool:
    """Whether a heading stands between two units."""
    return bool(_HEADING.search(one.result.text[one.unit.end : other.unit.start]))


def _lead_in(first: Placed, placed: Sequence[Placed]) -> list[Placed]:
    """The sentence before a list, where the list is its own."""
    place = (first.result.rank, first.position - 1)
    before = next((p for p in placed if p.place == place), None)
    if before is None or before.unit.kind != "sentence" or _headed(before, first):
        return []
    return [before] if _SENTENCE_END.search(before.unit.text) else []


def _is_named(item: Placed, question: str) -> bool:
    """Whether a question is about this very item: "the weak spots of a lidar"."""
    name = _ITEM_NAME.match(item.unit.text)
    terms = term_set(name[1] or name[2]) if name else set[str]()
    return bool(terms) and terms <= term_set(question)


def _within_bounds(members: Sequence[Placed], best: Placed) -> Listing:
    """As many as there is room for, from the first on; from the best on if it would be left out."""
    start = 0 if _fits(members[: members.index(best) + 1]) else members.index(best)
    end = start + 1
    while end < len(members) and _fits(members[start : end + 1]):
        end += 1
    return Listing(tuple(members[start:end]), end - start < len(members))


def _fits(members: Sequence[Placed]) -> bool:
    length = sum(len(p.unit.text) for p in members)
    return len(members) <= MAX_MEMBERS and length <= MAX_LENGTH
