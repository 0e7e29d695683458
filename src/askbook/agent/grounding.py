"""Decides whether a passage of the book supports a sentence, and shows where. Pure.

Cheap and exact checks come first: numbers with their units, identifiers, names, negations, and which
words the passage shares with the sentence. Only where they leave doubt is a judge worth its time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

from askbook.agent.facts import CONTRAST, NEGATORS, OPPOSITES, Token, identifiers, read_tokens
from askbook.agent.guardrails import orders_in
from askbook.agent.passages import Unit, cut_into_units

Verdict: TypeAlias = Literal["supported", "unsupported", "doubtful"]

FULL = 0.7
"""Share of a sentence's telling words that a passage must contain to need no second look."""
LEAST = 0.34
"""Share below which a sentence speaks of something else."""
QUOTED = 0.7
"""Share of words in the same order from which a sentence counts as a quotation, to be compared word by word."""
WINDOW = 3
"""Units of a passage that together may support one sentence."""
NEGATION_REACH = 4


@dataclass(frozen=True, slots=True)
class Support:
    """What a check found: the verdict, why not, and the span of the passage that speaks to the sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]
    overlap: float
    start: int
    end: int


def check_support(sentence: str, passage: str, heading: str = "", asked: str = "") -> Support:
    """Whether `passage` (under `heading`) says what `sentence` says.

    A name that only the question (`asked`) brought in may be repeated, but leaves doubt.
    """
    claim = read_tokens(sentence)
    telling = {token.norm for token in claim if token.is_content}
    units = _evidence(passage)
    if not telling or not units:
        reason = "It states nothing that can be checked." if units else "The passage is empty."
        return Support("unsupported", (reason,), 0.0, 0, 0)
    above = {token.norm for token in read_tokens(heading)}
    window = _window(telling - above, units)
    start, end = _span(window, telling)
    shown = above.union(*(unit.norms for unit in window))
    overlap = sum(norm in shown for norm in telling) / len(telling)
    repeated = {token.norm for token in read_tokens(asked) if token.is_content} - shown
    reasons = [
        *_foreign_identifiers(sentence, passage, f"{heading} {asked}"),
        *_foreign_numbers(claim, window),
        *_foreign_names(claim, above | repeated, units),
        *_changed_words(claim, window, shown, repeated),
        *_flipped(claim, window),
    ]
    if reasons:
        return Support("unsupported", tuple(dict.fromkeys(reasons)), overlap, start, end)
    if overlap < LEAST:
        return Support("unsupported", ("The passage speaks of other things.",), overlap, start, end)
    if overlap < FULL or any(t.is_name and t.norm in repeated for t in claim):
        missing = ", ".join(t.raw for t in claim if t.is_content and t.norm not in shown)
        return Support("doubtful", (f"Not in the passage: {missing}.",), overlap, start, end)
    return Support("supported", (), overlap, start, end)


@dataclass(frozen=True, slots=True)
class _Evidence:
    unit: Unit
    tokens: tuple[Token, ...]
    norms: frozenset[str]


@lru_cache(maxsize=256)
def _evidence(passage: str) -> tuple[_Evidence, ...]:
    """The units that may support a sentence: what gives orders to an assistant is no evidence."""
    barred = orders_in(passage)
    found: list[_Evidence] = []
    for unit in cut_into_units(passage):
        if any(unit.start < end and start < unit.end for start, end in barred):
            continue
        text = unit.text if unit.head is None else f"{passage[slice(*unit.head)]} {unit.text}"
        tokens = read_tokens(text)
        found.append(_Evidence(unit, tokens, frozenset(token.norm for token in tokens)))
    return tuple(found)


def _window(telling: set[str], units: Sequence[_Evidence]) -> list[_Evidence]:
    """The unit that shares most with the sentence, then those that add most to it."""
    window: list[_Evidence] = []
    missing = set(telling)
    while len(window) < WINDOW:
        rest = [unit for unit in units if unit not in window]
        if not rest:
            break
        best = max(rest, key=lambda unit: (len(missing & unit.norms), len(telling & unit.norms)))
        if window and not missing & best.norms:
            break
        window.append(best)
        missing -= best.norms
        if not missing:
            break
    return window


def _span(window: Sequence[_Evidence], telling: set[str]) -> tuple[int, int]:
    """The best unit, and its neighbours of the window when they stand close by."""
    best = window[0].unit
    start, end = best.start, best.end
    for other in window[1:]:
        near = other.unit.start - end < 80 and start - other.unit.end < 80
        if near and len(other.norms & telling) >= 2:
            start, end = min(start, other.unit.start), max(end, other.unit.end)
    return start, end


def _foreign_identifiers(sentence: str, passage: str, heading: str) -> Iterable[str]:
    source = _squeezed(f"{heading} {passage}")
    for item in identifiers(sentence):
        wanted = _squeezed(item)
        if wanted not in source and wanted.rstrip("()") not in source:
            yield f"The passage does not contain “{item}”."


def _foreign_numbers(claim: Sequence[Token], window: Sequence[_Evidence]) -> Iterable[str]:
    """Each number must stand in the passage with the same unit and among some of the same words."""
    written = {pair for unit in window for pair in _quantities(unit.tokens)}
    numbers = {number for number, _ in written}
    for number, unit in _quantities(claim):
        if number not in numbers:
            yield f"The passage does not say {_shown(number)}."
        elif unit and (number, unit) not in written:
            yield f"The passage does not say {_shown(number)} {unit.removeprefix('unit:')}."
        elif not _in_company(number, claim, window):
            yield f"The passage says {_shown(number)} of something else."


def _in_company(number: str, claim: Sequence[Token], window: Sequence[_Evidence]) -> bool:
    ours = _company(number, claim, 4)
    if not ours:
        return True
    for unit in window:
        if unit.unit.kind in ("row", "code") and number in unit.norms:
            return True
        theirs = _company(number, unit.tokens, 6)
        if any(a == b or _same_root(a, b) for a in ours for b in theirs):
            return True
    return False


def _company(number: str, tokens: Sequence[Token], reach: int) -> set[str]:
    """The telling words around a number."""
    near: set[str] = set()
    for i, token in enumerate(tokens):
        if token.norm == number:
            around = (*tokens[max(0, i - reach) : i], *tokens[i + 1 : i + 1 + reach])
            near.update(t.norm for t in around if t.is_content and t.kind != "unit")
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


def _foreign_names(
    claim: Sequence[Token], given: set[str], units: Sequence[_Evidence]
) -> Iterable[str]:
    """A name must stand in the passage or be given; a name of several words, together."""
    anywhere = given.union(*(unit.norms for unit in units))
    anywhere |= {a.norm + b.norm for unit in units for a, b in pairwise(unit.tokens)}
    for token in claim:
        if token.is_name and token.norm not in anywhere:
            yield f"The passage does not name “{token.raw}”."
    for one, other in pairwise(claim):
        if not (one.is_name and other.is_name and other.is_joined) or other.raw.isupper():
            continue
        if not {one.norm, other.norm} & given and not any(
            _together(one.norm, other.norm, unit.tokens) for unit in units
        ):
            yield f"The passage does not name “{one.raw} {other.raw}”."


def _together(one: str, other: str, tokens: Sequence[Token]) -> bool:
    return any(
        token.norm == one and any(t.norm == other for t in tokens[i + 1 : i + 4])
        for i, token in enumerate(tokens)
    )


def _changed_words(
    claim: Sequence[Token], window: Sequence[_Evidence], shown: set[str], repeated: set[str]
) -> Iterable[str]:
    """A sentence that is nearly a quotation must not differ from it in a telling word or a negation."""
    matcher, source = _aligned(claim, window[0].tokens), window[0].tokens
    merges = False
    if _share(matcher, claim) < QUOTED:
        ordered = sorted(window, key=lambda unit: unit.unit.start)
        source = tuple(token for unit in ordered for token in unit.tokens)
        matcher, merges = _aligned(claim, source), True
        if _share(matcher, claim) < QUOTED:
            return
    for tag, a, b, c, d in matcher.get_opcodes():
        ours, theirs = claim[a:b], source[c:d]
        said = [t for t in ours if t.is_content]
        meant = [t for t in theirs if t.is_content]
        if not any(t.is_name for t in meant):
            said = [t for t in said if not (t.is_name and t.norm in repeated)]
        if merges and _stand_together(said, claim[:a], claim[b:], source):
            continue
        if tag == "replace" and said and meant and not _akin(said, meant):
            yield f"It says “{_raw(ours)}” where the passage says “{_raw(theirs)}”."
        added = [t for t in said if t.norm not in shown]
        if tag == "delete" and len(added) > 1:
            yield f"It adds “{_raw(added)}” to what the passage says."
        if tag != "equal" and _negates(ours) != _negates(theirs):
            inside = a > 0 and b < len(claim)
            if _negates(ours) and not _contrasts(theirs, claim):
                yield "It denies what the passage says."
            elif _negates(theirs) and not _contrasts(ours, source) and inside and len(meant) <= 1:
                yield "It says what the passage denies."


def _stand_together(
    said: Sequence[Token], before: Sequence[Token], after: Sequence[Token], source: Sequence[Token]
) -> bool:
    """Whether words that a sentence put elsewhere keep the company they have in the passage."""
    left = [token for token in before if token.is_content][-1:]
    right = [token for token in after if token.is_content][:1]
    pairs = pairwise([*left, *said, *right])
    return bool(said) and any(_together(a.norm, b.norm, source) for a, b in pairs)


def _aligned(claim: Sequence[Token], source: Sequence[Token]) -> SequenceMatcher[str]:
    ours, theirs = [t.norm for t in claim], [t.norm for t in source]
    return SequenceMatcher(None, ours, theirs, autojunk=False)


def _share(matcher: SequenceMatcher[str], claim: Sequence[Token]) -> float:
    return sum(block.size for block in matcher.get_matching_blocks()) / len(claim)


def _negates(tokens: Sequence[Token]) -> bool:
    return any(token.norm in NEGATORS for token in tokens)


def _contrasts(tokens: Iterable[Token], others: Iterable[Token]) -> bool:
    """Whether something is denied here, if only by a prefix ("unsafe" beside "safe")."""
    plain = {token.norm for token in others}
    return any(token.norm in CONTRAST or _stripped(token.norm) in plain for token in tokens)


def _stripped(norm: str) -> str | None:
    for prefix in ("un", "in", "im", "ir", "dis", "non", "a"):
        if norm.startswith(prefix) and len(norm) > len(prefix) + 2:
            return norm.removeprefix(prefix)
    return None


def _akin(said: Sequence[Token], meant: Sequence[Token]) -> bool:
    """Whether the words of one run are forms of the words of the other, written apart or as one."""
    if "".join(token.norm for token in said) == "".join(token.norm for token in meant):
        return True
    return all(any(a.norm == b.norm or _same_root(a.norm, b.norm) for b in meant) for a in said)


def _same_root(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return (
        len(short) >= 4
        and short.isalpha()
        and long[: max(4, len(short) - 2)] == short[: max(4, len(short) - 2)]
    )


def _flipped(claim: Sequence[Token], window: Sequence[_Evidence]) -> Iterable[str]:
    """A denial must be denied in the passage too, and a denial there must not be left out."""
    best = window[0]
    norms = {token.norm for token in claim}
    theirs = {norm for unit in window for norm in unit.norms}
    for denied in _denials(claim):
        present = denied & theirs
        near = {norm for unit in window for norm in _contrasted(unit.tokens, claim)}
        denied_there = bool(present & near) if present else _deny(window, claim)
        if not denied_there:
            yield "It denies something the passage does not deny."
    if not _contrasts(claim, best.tokens):
        for denied in _denials(best.tokens):
            if denied and denied <= norms:
                yield "The passage denies this."
    if not norms & NEGATORS:
        for token in claim:
            if token.norm not in theirs and OPPOSITES.get(token.norm, frozenset()) & best.norms:
                yield f"It says “{token.raw}” where the passage says the opposite."


def _deny(window: Sequence[_Evidence], claim: Sequence[Token]) -> bool:
    return any(_contrasts(unit.tokens, claim) for unit in window)


def _denials(tokens: Sequence[Token]) -> list[set[str]]:
    """For each negator, the telling words it reaches."""
    found: list[set[str]] = []
    for i, token in enumerate(tokens):
        if token.norm not in NEGATORS:
            continue
        after = tokens[i + 1 : i + 1 + NEGATION_REACH]
        if after and after[0].raw.casefold() in _NOT_DENYING:
            continue
        found.append({t.norm for t in [t for t in after if t.is_content][:2]})
    return found


def _contrasted(tokens: Sequence[Token], claim: Sequence[Token]) -> set[str]:
    """Telling words near any word of contrast or denial."""
    found: set[str] = set()
    for i, token in enumerate(tokens):
        if _contrasts([token], claim):
            around = tokens[max(0, i - NEGATION_REACH) : i + 2 + NEGATION_REACH]
            found.update(t.norm for t in around if t.is_content)
    return found


_NOT_DENYING = frozenset("only just merely simply longer more matter doubt".split())


def _raw(tokens: Sequence[Token]) -> str:
    return " ".join(token.raw for token in tokens)


def _shown(number: str) -> str:
    return number.lstrip("x#")


def _squeezed(text: str) -> str:
    return " ".join(text.replace("`", " ").replace("\\", "").split()).casefold()
