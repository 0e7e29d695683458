"""Whether a word stands where the passage has it: among the same words, or in another's place. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from askbook.agent.evidence import Evidence
from askbook.agent.facts import Token

NEIGHBOURS = 2
"""Telling words on each side that are a word's company in a sentence."""
REACH = 4
"""Telling words on each side in which the passage must have them."""
SLOT = 2
"""Words of the passage that one word may stand for."""


@dataclass(frozen=True, slots=True)
class Place:
    """A telling word of a sentence and what the passage has in its place."""

    token: Token
    is_known: bool
    """Some form of the word stands in the passage."""
    company: int
    """How many of its neighbours stand near it there too."""
    alone: bool
    """It has no neighbours to be known by."""
    instead: tuple[str, ...]
    """What stands between its neighbours in the passage where it does not."""


def places(claim: Sequence[Token], units: Sequence[Evidence]) -> Iterator[Place]:
    """The place of each telling word of a sentence."""
    ground = _ground(tuple(units))
    told = [token for token in claim if token.is_content]
    for i, token in enumerate(told):
        before = told[max(0, i - NEIGHBOURS) : i]
        after = told[i + 1 : i + 1 + NEIGHBOURS]
        forms = ground.forms(token.norm)
        around = [ground.forms(other.norm) for other in (*before, *after)]
        instead = _instead(forms, before, after, ground)
        yield Place(token, bool(forms), _company(forms, around, ground), not around, instead)


@dataclass(frozen=True, slots=True)
class _Ground:
    """The telling words of each unit in order, where each stands, and the words that begin alike."""

    rows: tuple[tuple[Token, ...], ...]
    where: dict[str, list[tuple[int, int]]]
    alike: dict[str, list[str]]

    def forms(self, norm: str) -> frozenset[str]:
        """The words of the passage that are this word in some form."""
        found = {norm} if norm in self.where else set[str]()
        found.update(other for other in self.alike.get(norm[:4], ()) if same_root(norm, other))
        return frozenset(found)


@lru_cache(maxsize=256)
def _ground(units: tuple[Evidence, ...]) -> _Ground:
    rows = tuple(tuple(t for t in unit.tokens if t.is_content) for unit in units)
    where: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, row in enumerate(rows):
        for j, token in enumerate(row):
            where[token.norm].append((i, j))
    alike: dict[str, list[str]] = defaultdict(list)
    for norm in where:
        alike[norm[:4]].append(norm)
    return _Ground(rows, dict(where), dict(alike))


def _company(forms: frozenset[str], around: Sequence[frozenset[str]], ground: _Ground) -> int:
    most = 0
    for form in forms:
        for i, j in ground.where[form]:
            row = ground.rows[i]
            near = {t.norm for t in (*row[max(0, j - REACH) : j], *row[j + 1 : j + 1 + REACH])}
            most = max(most, sum(not near.isdisjoint(other) for other in around))
    return most


def _instead(
    forms: frozenset[str], before: Sequence[Token], after: Sequence[Token], ground: _Ground
) -> tuple[str, ...]:
    """What the passage has between the word's neighbours, where it is not the word itself."""
    if not before or not after:
        return ()
    left, right = ground.forms(before[-1].norm), ground.forms(after[0].norm)
    shortest: tuple[Token, ...] = ()
    for form in left:
        for i, j in ground.where[form]:
            row = ground.rows[i]
            for k in range(j + 1, min(len(row), j + 2 + SLOT)):
                between = row[j + 1 : k]
                if row[k].norm not in right or any(t.norm in forms for t in between):
                    continue
                if between and (not shortest or len(between) < len(shortest)):
                    shortest = between
    return tuple(token.raw for token in shortest)


def same_root(one: str, other: str) -> bool:
    """Whether two words are forms of one: they begin alike and differ in a short ending."""
    short, long = sorted((one, other), key=len)
    kept = max(4, len(short) - 2)
    return len(short) >= 4 and short.isalpha() and long[:kept] == short[:kept]
