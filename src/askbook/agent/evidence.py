"""What a passage offers as evidence: its units as tokens, and the few that speak to a sentence. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from askbook.agent.facts import Token, read_tokens
from askbook.agent.guardrails import orders_in
from askbook.agent.passages import Unit, cut_into_units

WINDOW = 3
"""Units of a passage that together may support one sentence."""
LONG = 60
"""Words from which a unit without full stops is cut at its lines: pages often lose their marks, not their lines."""
_LINE = re.compile(r"\n\s*(?=[^\sa-z])")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A unit of a passage with its tokens."""

    unit: Unit
    tokens: tuple[Token, ...]
    norms: frozenset[str]


@lru_cache(maxsize=256)
def read_evidence(passage: str) -> tuple[Evidence, ...]:
    """The units that may support a sentence: what gives orders to an assistant is no evidence."""
    barred = orders_in(passage)
    found: list[Evidence] = []
    for unit in (part for whole in cut_into_units(passage) for part in _short(whole)):
        if any(unit.start < end and start < unit.end for start, end in barred):
            continue
        text = unit.text if unit.head is None else f"{passage[slice(*unit.head)]} {unit.text}"
        tokens = read_tokens(text)
        found.append(Evidence(unit, tokens, frozenset(token.norm for token in tokens)))
    return tuple(found)


def _short(unit: Unit) -> Iterator[Unit]:
    if unit.kind not in ("sentence", "item") or len(unit.text.split()) < LONG:
        yield unit
        return
    begin = 0
    for end in (*(match.end() for match in _LINE.finditer(unit.text)), len(unit.text)):
        text = unit.text[begin:end].rstrip()
        if text:
            yield Unit(unit.kind, text, unit.start + begin, unit.start + begin + len(text))
        begin = end


def choose_window(
    claim: Sequence[Token], above: set[str], units: Sequence[Evidence]
) -> list[Evidence]:
    """The unit that shares most with the sentence, then those that add most to it.

    What the heading says needs no unit. Of units that share the same telling words, the one that is worded
    more alike goes first, and the shorter one.
    """
    telling = {token.norm for token in claim if token.is_content} - above
    every = {token.norm for token in claim}
    window: list[Evidence] = []
    missing = set(telling)
    while len(window) < WINDOW:
        rest = [unit for unit in units if unit not in window]
        if not rest:
            break
        best = max(
            rest,
            key=lambda unit: (
                len(missing & unit.norms),
                len(telling & unit.norms),
                len(every & unit.norms),
                -len(unit.tokens),
            ),
        )
        if window and not missing & best.norms:
            break
        window.append(best)
        missing -= best.norms
        if not missing:
            break
    return window


def span_of(window: Sequence[Evidence], telling: set[str]) -> tuple[int, int]:
    """The best unit, and its neighbours of the window when they stand close by."""
    best = window[0].unit
    start, end = best.start, best.end
    for other in window[1:]:
        near = other.unit.start - end < 80 and start - other.unit.end < 80
        if near and len(other.norms & telling) >= 2:
            start, end = min(start, other.unit.start), max(end, other.unit.end)
    return start, end
