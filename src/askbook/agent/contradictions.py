"""Finds sentences of the book that say the same thing with another number or the other way round. Pure."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from askbook.agent.facts import Token, read_tokens
from askbook.agent.guardrails import orders_in
from askbook.agent.passages import cut_into_units
from askbook.agent.response import Citation
from askbook.agent.scoring import Placed
from askbook.agent.vocabulary import CONTRAST, NEGATORS

ALIKE = 0.8
"""Share of telling words that two sentences must have in common to be about the same thing."""
LEAST = 4
"""Telling words in common below which sentences are alike by chance."""
NOTE = "The book says different things about this; both are quoted, each with its place."


def opposing(said: str, lesson: str, placed: Iterable[Placed]) -> Placed | None:
    """The first sentence of another lesson that disagrees with one said in `lesson`."""
    return next(
        (
            p
            for p in placed
            if p.result.chunk.metadata.parent_doc_id != lesson
            and p.unit.kind in ("sentence", "item")
            and disagree(said, p.unit.text)
            and not _is_ordered(p)
        ),
        None,
    )


def is_divided(quotes: Sequence[Citation]) -> bool:
    """Whether quotations of different chunks disagree with each other."""
    return any(
        disagree(ours.text, theirs.text)
        for one, other in combinations(quotes, 2)
        if one.chunk_id != other.chunk_id
        for ours in cut_into_units(one.quote)
        for theirs in cut_into_units(other.quote)
    )


def disagree(one: str, other: str) -> bool:
    """Whether two sentences are about the same thing and differ in one number or in a denial."""
    ours, theirs = read_tokens(one), read_tokens(other)
    if not _are_alike(ours, theirs):
        return False
    return _differ_in_one_number(ours, theirs) or _denies(ours) != _denies(theirs)


def _is_ordered(placed: Placed) -> bool:
    """Whether a sentence stands in a paragraph that speaks to an assistant instead of to the reader."""
    barred = orders_in(placed.result.text)
    return any(placed.unit.start < end and start < placed.unit.end for start, end in barred)


def _are_alike(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    one, other = _telling(ours), _telling(theirs)
    shared = one & other
    return len(shared) >= LEAST and len(shared) >= ALIKE * len(one | other)


def _telling(tokens: Sequence[Token]) -> set[str]:
    words = (t.norm for t in tokens if t.is_content and t.kind != "number")
    return {word for word in words if word not in CONTRAST}


def _differ_in_one_number(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    one, other = ({t.norm for t in tokens if t.kind == "number"} for tokens in (ours, theirs))
    return len(one - other) == 1 and len(other - one) == 1


def _denies(tokens: Sequence[Token]) -> bool:
    return any(token.norm in NEGATORS for token in tokens)
