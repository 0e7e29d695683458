"""Choose where chunks end: the cheapest way to cut a lesson's atoms, found by dynamic programming."""

from collections.abc import Sequence
from dataclasses import dataclass

from askbook.book import Block, Heading

_SMALL = 100
_TOO_SMALL_COST = 6.0
_BREAK_IN_SECTION = 0.30
_NEW_SECTION = 0.12
_SUBSECTION = 0.04
_OVER_TARGET = 1.5


@dataclass(frozen=True, slots=True)
class Atom:
    """Blocks that stay together; `tokens` is their size, `overhead` that of the breadcrumb before them."""

    blocks: tuple[Block, ...]
    tokens: int
    overhead: int
    path: tuple[Heading, ...]

    @property
    def heading(self) -> Heading | None:
        return self.blocks[0].heading

    def joined_with(self, other: "Atom") -> "Atom":
        return Atom(
            (*self.blocks, *other.blocks), self.tokens + other.tokens, self.overhead, self.path
        )


def pack(atoms: Sequence[Atom], target: int, maximum: int) -> list[list[Atom]]:
    """Consecutive groups of atoms: near the target, ending where sections end, none needlessly small.

    The cost of a group is its distance from the target plus what it mixes; cutting inside a section
    costs extra. An atom that alone exceeds the maximum stands alone.
    """
    count = len(atoms)
    best: list[float] = [0.0] * (count + 1)
    previous: list[int] = [0] * (count + 1)
    mixing = [
        _mixing(atom, atoms[index - 1] if index else None) for index, atom in enumerate(atoms)
    ]
    for end in range(1, count + 1):
        cheapest, chosen = float("inf"), end - 1
        tokens, mixed = 0, 0.0
        for start in range(end - 1, -1, -1):
            atom = atoms[start]
            tokens += atom.tokens
            size = tokens + atom.overhead
            if size > maximum and start < end - 1:
                # Overheads differ a little between starts; far beyond the maximum none will fit.
                if tokens > maximum:
                    break
                mixed += mixing[start]
                continue
            broken = _BREAK_IN_SECTION if start and atom.heading is None else 0.0
            cost = best[start] + _size_cost(size, tokens, target, maximum) + mixed + broken
            if cost < cheapest:
                cheapest, chosen = cost, start
            mixed += mixing[start]
        best[end], previous[end] = cheapest, chosen
    groups: list[list[Atom]] = []
    end = count
    while end > 0:
        groups.append(list(atoms[previous[end] : end]))
        end = previous[end]
    return groups[::-1]


def _mixing(atom: Atom, before: Atom | None) -> float:
    """What it costs to go on over the start of this atom inside one chunk."""
    heading = atom.heading
    if heading is None or before is None:
        return 0.0
    current = before.path[-1].level if before.path else 0
    return _SUBSECTION if heading.level > current else _NEW_SECTION


def _size_cost(size: int, tokens: int, target: int, maximum: int) -> float:
    if size <= target:
        short = (target - size) / target
        return short * short + (_TOO_SMALL_COST if tokens < _SMALL else 0.0)
    over = (size - target) / max(1, maximum - target)
    return _OVER_TARGET * over * over
