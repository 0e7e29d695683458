"""Where an embedder's cosines stand in one book: what foreign questions find there, and what its own do."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

NARROWEST = 1e-3
FARTHEST = 3.0


@dataclass(frozen=True, slots=True)
class Anchors:
    """The usual best cosine of questions the book knows nothing of, and of questions made from it."""

    foreign: float
    own: float

    @classmethod
    def between(cls, foreign: Sequence[float], own: Sequence[float]) -> "Anchors":
        """Medians, so that a cookery book is not misjudged by the few foreign questions about cooking."""
        return cls(median(foreign), median(own))

    def place(self, cosine: float) -> float:
        """Where a cosine lies from foreign (0) to own (1); it means the same for every embedder."""
        width = max(self.own - self.foreign, NARROWEST)
        return min(FARTHEST, max(-FARTHEST, (cosine - self.foreign) / width))
