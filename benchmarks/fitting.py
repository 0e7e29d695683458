"""Fits logistics on labelled sets; a set is scored by a fit that saw none of its folders."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from askbook.retrieval.calibration import Calibration
from folders import Kind

PRIOR = 0.85
PENALTY = 0.3
"""Inverse strength of the ridge penalty, on standardised features."""
FEATURES = {
    ("built-in", True): ("best", "answerability", "introduced"),
    ("built-in", False): ("best", "best_coverage"),
    ("calibrated", True): ("place", "relevance", "answerability", "introduced"),
    ("calibrated", False): ("place", "best_coverage"),
    ("any", True): ("relevance", "answerability", "introduced"),
    ("any", False): ("standing", "best_coverage", "agreement"),
}
"""Few on purpose: with more, folds score better on their own kind of question and worse on others. Cosines
mean something for the embedder they were fitted with only; where they lie between a book's anchors, for any."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question whose answer is known to be in the book or not; `found`: its gold was retrieved."""

    name: str
    kind: Kind
    folder: str
    answerable: bool
    found: bool
    values: dict[str, float]


class Fitting:
    """Labelled rows as numbers, and the fits made of them.

    Sets count equally (see `_weights`), and within each the answerable rows weigh as much as the prior says.
    """

    def __init__(self, rows: Sequence[Labelled], features: tuple[str, ...]) -> None:
        self.rows = rows
        self.features = features
        self.matrix = np.array([[row.values[f] for f in features] for row in rows])
        self.labels = np.array([row.answerable for row in rows])
        self.standard: list[float] = []

    def fit(self, chosen: Sequence[int]) -> Calibration:
        """A logistic on standardised features, with the standardisation folded into its weights."""
        index = np.array(chosen)
        weights = self._weights(index)
        index, weights = index[weights > 0], weights[weights > 0]
        x, y = self.matrix[index], self.labels[index]
        mean = np.average(x, axis=0, weights=weights)
        spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weights))
        model = LogisticRegression(C=PENALTY, max_iter=1000)
        model.fit((x - mean) / spread, y, sample_weight=weights * len(index))
        self.standard = model.coef_[0].tolist()
        folded = model.coef_[0] / spread
        intercept = float(np.asarray(model.intercept_)[0] - folded @ mean)
        return Calibration(None, self.features, tuple(map(float, folded)), intercept, PRIOR)

    def fit_without(self, name: str) -> Calibration:
        """A fit on the rows of all folders but those of this set, its corpus and its question lists alike."""
        mine = {row.folder for row in self.rows if row.name == name}
        return self.fit([i for i, row in enumerate(self.rows) if row.folder not in mine])

    def _weights(self, index: np.ndarray) -> np.ndarray:
        """Sets count equally, but foreign questions, which share their list and not their books, as the root of
        their number; answerable rows are a set's prior share; a set with one kind only is left out."""
        weights = np.zeros(len(index))
        off_topic = {self.rows[i].name for i in index if self.rows[i].kind == "off_topic"}
        for name in {self.rows[i].name for i in index}:
            mine = np.array([self.rows[i].name == name for i in index])
            yes, no = mine & self.labels[index], mine & ~self.labels[index]
            if yes.any() and no.any():
                share = len(off_topic) ** -0.5 if name in off_topic else 1.0
                weights[yes] = share * PRIOR / yes.sum()
                weights[no] = share * (1 - PRIOR) / no.sum()
        return weights / weights.sum()
