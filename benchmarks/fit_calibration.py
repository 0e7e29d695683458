"""Fits the shipped calibrations on the labelled development folders and says how they do on folders they never saw.

Sets count equally (see `_weights`), and within each the answerable rows weigh as much as the prior says. A fold leaves out
every row that comes from a folder of the set it is scored on, its corpus and its question lists alike.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from askbook.config import Settings, load_settings
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.evaluation.corpus import cache_beside
from askbook.evaluation.metrics import auroc, ece
from askbook.retrieval.calibration import SHIPPED, Calibration, features_of
from collecting import Row, anchored, anchors_of, collect
from folders import DATA, OFF_TOPIC, REPOSITORY, refusal_sets

PRIOR = 0.85
LEVEL = 0.60
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
LIMITS = {"adversarial": 100, "near_miss": 150, "off_topic": 110}


def main() -> None:
    options = _options()
    settings = load_settings(data_dir=options.data_dir)
    rows = asyncio.run(_collect(settings, options.data))
    fingerprint = str(BuiltinEmbedder().fingerprint)
    entries: list[dict[str, object]] = []
    for (embedder, judged), features in FEATURES.items():
        table = Table(rows, features, judged)
        print(f"\n## {embedder} embedder, {'with' if judged else 'without'} judge\n")
        _print_report(table)
        fitted = table.fit(range(len(rows)))
        entries.append(_entry(fingerprint if embedder == "built-in" else None, fitted))
        print(
            "\nWeights: "
            + ", ".join(f"{f} {w:+.2f}" for f, w in zip(features, table.standard, strict=True))
        )
    if options.write:
        lines = ",\n ".join(json.dumps(entry) for entry in entries)
        SHIPPED.write_text('{"calibrations": [\n ' + lines + "\n]}\n", encoding="utf-8")
        print(f"\nWritten to {SHIPPED.relative_to(REPOSITORY)}.")


class Table:
    """Rows as numbers, and the fits made of them."""

    def __init__(self, rows: Sequence[Row], features: tuple[str, ...], judged: bool) -> None:
        self.rows = rows
        self.features = features
        self.values = [features_of(row.judged if judged else row.unjudged) for row in rows]
        self.matrix = np.array([[value[f] for f in features] for value in self.values])
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

    def _weights(self, index: np.ndarray) -> np.ndarray:
        """Sets count equally, but foreign questions, which share their list and not their books, as the root of
        their number; answerable rows are a set's prior share; a set with one kind only is left out."""
        weights = np.zeros(len(index))
        off_topic = self._off_topic(index)
        for name in {self.rows[i].name for i in index}:
            mine = np.array([self.rows[i].name == name for i in index])
            yes, no = mine & self.labels[index], mine & ~self.labels[index]
            if yes.any() and no.any():
                share = len(off_topic) ** -0.5 if name in off_topic else 1.0
                weights[yes] = share * PRIOR / yes.sum()
                weights[no] = share * (1 - PRIOR) / no.sum()
        return weights / weights.sum()

    def _off_topic(self, index: np.ndarray) -> set[str]:
        return {self.rows[i].name for i in index if self.rows[i].kind == "off_topic"}

    def probabilities(self, calibration: Calibration, chosen: Sequence[int]) -> list[float]:
        return [calibration.probability(self.values[i], PRIOR) for i in chosen]


def _print_report(table: Table) -> None:
    print(
        "| set | n | AUROC | cosine | ECE | refused answerable | refused found | answered unanswerable |"
    )
    print("|---|---|---|---|---|---|---|---|")
    pooled: dict[str, list[bool]] = {"found": [], "off_topic": [], "near_miss": []}
    for name in dict.fromkeys(row.name for row in table.rows):
        mine = [i for i, row in enumerate(table.rows) if row.name == name]
        folders = {folder_of(table.rows[i]) for i in mine}
        rest = [i for i, row in enumerate(table.rows) if folder_of(row) not in folders]
        scores = table.probabilities(table.fit(rest), mine)
        labels = [table.rows[i].answerable for i in mine]
        refused = [score < LEVEL for score in scores]
        yes = [r for r, label in zip(refused, labels, strict=True) if label]
        no = [r for r, label in zip(refused, labels, strict=True) if not label]
        found = [
            r
            for r, i in zip(refused, mine, strict=True)
            if table.rows[i].answerable and table.rows[i].found
        ]
        cosine = auroc([table.values[i]["best"] for i in mine], labels)
        kind = table.rows[mine[0]].kind
        if kind != "adversarial":
            pooled["found"] += found
            pooled[kind] += no
        cells = (
            auroc(scores, labels),
            cosine,
            ece(scores, labels, PRIOR),
            _share(yes),
            _share(found),
            1 - _share(no),
        )
        print(f"| {name} | {len(mine)} | " + " | ".join(f"{c:.3f}" for c in cells) + " |")
    shares = ", ".join(f"{name} {100 * _share(values):.1f} %" for name, values in pooled.items())
    print(f"\nRefused, pooled without the adversarial set: {shares}.")


def folder_of(row: Row) -> str:
    """The folder a row comes from."""
    if row.kind == "off_topic":
        return row.name.split(" × ")[1] if row.answerable else OFF_TOPIC
    return "robotics_course" if row.name == "absent_chapters" else row.name


def _entry(fingerprint: str | None, fitted: Calibration) -> dict[str, object]:
    return {
        "fingerprint": fingerprint,
        "features": list(fitted.features),
        "weights": [round(weight, 4) for weight in fitted.weights],
        "intercept": round(fitted.intercept, 4),
        "prior": fitted.prior,
    }


async def _collect(settings: Settings, data: Path) -> list[Row]:
    kept = cache_beside(settings.storage.data_dir) / "calibration"
    rows: list[Row] = []
    for each in refusal_sets(data):
        print(f"{each.name} …", file=sys.stderr, flush=True)
        anchors = await anchors_of(settings, each)
        rows += [
            anchored(row, anchors) async for row in collect(settings, each, LIMITS[each.kind], kept)
        ]
    return rows


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--data-dir", type=Path, default=REPOSITORY / ".askbook")
    parser.add_argument("--write", action="store_true", help="write the shipped calibrations")
    return parser.parse_args()


if __name__ == "__main__":
    main()
