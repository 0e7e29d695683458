"""Where an embedder's cosines stand in one book: what foreign questions find there, and what its own do. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median, quantiles

NARROWEST = 0.005
FARTHEST = 6.0
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

    def place(self, cosine: float) -> float:
        """How far a cosine lies above the middle between the two, in units of their spread.

        No embedder's scale is left in it, and one that tells the two kinds badly apart counts for little.
        """
        middle = (self.foreign + self.own) / 2
        return min(FARTHEST, max(-FARTHEST, (cosine - middle) / self.spread))


def _spread(values: Sequence[float]) -> float:
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    return (upper - lower) / DEVIATIONS_BETWEEN_QUARTILES
