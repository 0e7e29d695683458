"""Where an embedder's cosines stand in one book: what foreign questions find there, and what its own do. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median, quantiles

NARROWEST = 0.005
FARTHEST = 6.0
LEAST_DISTANCE = 1.0
"""In spreads; where own and foreign questions are nearer, there is no scale to measure."""
CLEAR_DISTANCE = 3.0
"""Readers' questions lie between the two; where these are nearer, an answerable one looks foreign too often for a
cosine to stand beside the judge. Without the judge it still helps (`benchmarks/embedder_swap.py`)."""
DEVIATIONS_BETWEEN_QUARTILES = 1.349


@dataclass(frozen=True, slots=True)
class Anchors:
    """The usual best cosine of questions the book knows nothing of and of questions made from it, and how
    far either kind scatters."""

    foreign: float
    own: float
    spread: float

    @classmethod
    def of(cls, foreign: Sequence[float], own: Sequence[float]) -> "Anchors":
        """Medians and quartiles: a cookery book is not misjudged by the few foreign questions about cooking."""
        spread = sqrt((_spread(foreign) ** 2 + _spread(own) ** 2) / 2)
        return cls(median(foreign), median(own), max(NARROWEST, spread))

    @property
    def distance(self) -> float:
        """How many spreads lie between the two."""
        return (self.own - self.foreign) / self.spread

    def are_clear(self, *, judged: bool) -> bool:
        """Whether cosines tell enough in this book to be read, beside the judge or without it."""
        return self.distance >= (CLEAR_DISTANCE if judged else LEAST_DISTANCE)

    def place(self, cosine: float) -> float:
        """How far a cosine lies above the middle between the two, in units of their spread.

        No embedder's scale is left in it.
        """
        middle = (self.foreign + self.own) / 2
        return min(FARTHEST, max(-FARTHEST, (cosine - middle) / self.spread))


def _spread(values: Sequence[float]) -> float:
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    return (upper - lower) / DEVIATIONS_BETWEEN_QUARTILES
