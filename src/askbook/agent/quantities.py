"""Whether the numbers of a sentence stand in the passage, with their units and among the same words. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from askbook.agent.evidence import Evidence
from askbook.agent.facts import Token
from askbook.agent.places import same_root

OURS = 4
"""Telling words on each side of a number in a sentence, one of which the passage must have beside it."""
THEIRS = 4
"""Telling words on each side of it in the passage."""
NEAR = 2
"""Telling words among which a number counts as said of a word."""
FAR = 8
"""Words of any kind beyond which even a telling one is no company."""


def foreign_numbers(
    claim: Sequence[Token],
    window: Sequence[Evidence],
    units: Sequence[Evidence],
    title: Sequence[Token],
) -> Iterable[str]:
    """Each number must stand in the passage with the same unit and among some of the same words."""
    texts = [title, *(unit.tokens for unit in units)]
    written = {pair for tokens in texts for pair in _quantities(tokens)}
    numbers = {number for number, _ in written}
    for number, unit in _quantities(claim):
        if number not in numbers:
            yield f"The passage does not say {_shown(number)}."
        elif unit and (number, unit) not in written:
            yield f"The passage does not say {_shown(number)} {unit.removeprefix('unit:')}."
        elif not _in_company(number, claim, window, units, title):
            yield f"The passage says {_shown(number)} of something else."
    yield from _said_of_others(claim, [_told(tokens) for tokens in texts])


def _said_of_others(claim: Sequence[Token], rows: Sequence[Sequence[Token]]) -> Iterable[str]:
    """A number must not stand right beside a word beside which the passage has other numbers, and never this one."""
    beside = {pair for row in rows for pair in _pairs(row, 1)}
    near = {(word, number) for row in rows for _, word, number in _pairs(row, NEAR)}
    counted = {(side, word) for side, word, _ in beside}
    told = _told(claim)
    for i, token in enumerate(told):
        if token.kind != "number":
            continue
        ours = [p for p in _pairs(told[max(0, i - 1) : i + 2], 1) if p[2] == token.norm]
        if any((word, token.norm) in near for _, word, _ in ours):
            continue
        if any((side, word) in counted for side, word, _ in ours):
            yield f"The passage says {_shown(token.norm)} of something else."


def _told(tokens: Sequence[Token]) -> list[Token]:
    return [token for token in tokens if token.is_content]


def _pairs(row: Sequence[Token], reach: int) -> Iterator[tuple[str, str, str]]:
    """Each word with a number at most `reach` telling words before or after it."""
    for i, token in enumerate(row):
        if token.kind == "unit":
            continue
        for number in row[i + 1 : i + 1 + reach]:
            if number.kind == "number":
                yield "before", token.norm, number.norm
        for number in row[max(0, i - reach) : i]:
            if number.kind == "number" and token.kind == "word":
                yield "after", token.norm, number.norm


def _in_company(
    number: str,
    claim: Sequence[Token],
    window: Sequence[Evidence],
    units: Sequence[Evidence],
    title: Sequence[Token],
) -> bool:
    ours = _company(number, claim, OURS)
    if not ours or any(token.norm == number for token in title):
        return True
    for unit in units:
        if number not in unit.norms:
            continue
        if unit.unit.kind in ("row", "code") and unit in window:
            return True
        theirs = _company(number, unit.tokens, THEIRS)
        if any(a == b or same_root(a, b) for a in ours for b in theirs):
            return True
    return False


def _company(number: str, tokens: Sequence[Token], reach: int) -> set[str]:
    """The telling words around a number."""
    near: set[str] = set()
    for i, token in enumerate(tokens):
        if token.norm == number:
            for side in (tokens[max(0, i - FAR) : i][::-1], tokens[i + 1 : i + 1 + FAR]):
                told = [t.norm for t in side if t.is_content and t.kind != "unit"]
                near.update(told[:reach])
    return near - {number}


def _quantities(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for i, token in enumerate(tokens):
        if token.kind != "number":
            continue
        after = next((t for t in tokens[i + 1 : i + 3] if t.kind != "number"), None)
        before = tokens[i - 1] if i else None
        unit = ""
        if after is not None and after.kind == "unit":
            unit = after.norm
        elif before is not None and before.kind == "unit" and before.raw in "$€£":
            unit = before.norm
        found.append((token.norm, unit))
    return found


def _shown(number: str) -> str:
    return number.lstrip("x#")
