"""Whether a sentence denies what the passage says, or says what it denies. Pure."""

import re
from collections.abc import Iterable, Sequence

from askbook.agent.evidence import Evidence
from askbook.agent.facts import Token
from askbook.agent.vocabulary import CONTRAST, NEGATORS, OPPOSITES

REACH = 4
_DENIAL = re.compile(rf"\b(?:{'|'.join(sorted(NEGATORS))}|cannot)\b|n['’]t\b", re.IGNORECASE)
_NOT_DENYING = frozenset("only just merely simply longer more matter doubt".split())


def flipped(
    claim: Sequence[Token], window: Sequence[Evidence], units: Sequence[Evidence]
) -> Iterable[str]:
    """A denial must be denied in the passage too, and a denial there must not be left out."""
    best = window[0]
    norms = {token.norm for token in claim}
    theirs = {norm for unit in window for norm in unit.norms}
    for denied in _denials(claim):
        first = next((norm for norm in denied if norm in theirs), None)
        near = {norm for unit in window for norm in _contrasted(unit.tokens, claim)}
        denied_there = first in near if first else _deny(window, claim)
        if not denied_there and not _denied_alike(denied, units):
            yield "It denies something the passage does not deny."
    if not contrasts(claim, best.tokens):
        for denied in _denials(best.tokens):
            if denied and norms.issuperset(denied):
                yield "The passage denies this."
    if not norms & NEGATORS and best.unit.kind != "code":
        for token in claim:
            opposites = OPPOSITES.get(token.norm, frozenset())
            if token.norm not in theirs and opposites & best.norms and not opposites & norms:
                yield f"It says “{token.raw}” where the passage says the opposite."


def denies(text: str) -> bool:
    """Whether a text holds any word of denial, be it a single "no"."""
    return bool(_DENIAL.search(text))


def negates(tokens: Sequence[Token]) -> bool:
    return any(token.norm in NEGATORS for token in tokens)


def contrasts(tokens: Iterable[Token], others: Iterable[Token]) -> bool:
    """Whether something is denied here, if only by a prefix ("unsafe" beside "safe")."""
    plain = {token.norm for token in others}
    return any(token.norm in CONTRAST or _stripped(token.norm) in plain for token in tokens)


def _stripped(norm: str) -> str | None:
    for prefix in ("un", "in", "im", "ir", "dis", "non", "a"):
        if norm.startswith(prefix) and len(norm) > len(prefix) + 2:
            return norm.removeprefix(prefix)
    return None


def _deny(window: Sequence[Evidence], claim: Sequence[Token]) -> bool:
    return any(contrasts(unit.tokens, claim) for unit in window)


def _denied_alike(denied: list[str], units: Sequence[Evidence]) -> bool:
    """Whether some unit denies just these words."""
    return len(denied) > 1 and any(
        set(denied) <= set(there) for unit in units for there in _denials(unit.tokens)
    )


def _denials(tokens: Sequence[Token]) -> list[list[str]]:
    """For each negator, the telling words it reaches."""
    found: list[list[str]] = []
    for i, token in enumerate(tokens):
        if token.norm not in NEGATORS:
            continue
        after = tokens[i + 1 : i + 1 + REACH]
        if after and after[0].raw.casefold() in _NOT_DENYING:
            continue
        found.append([t.norm for t in after if t.is_content][:2])
    return found


def _contrasted(tokens: Sequence[Token], claim: Sequence[Token]) -> set[str]:
    """Telling words near any word of contrast or denial."""
    found: set[str] = set()
    for i, token in enumerate(tokens):
        if contrasts([token], claim):
            around = tokens[max(0, i - REACH) : i + 2 + REACH]
            found.update(t.norm for t in around if t.is_content)
    return found
