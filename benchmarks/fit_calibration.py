"""Fits the shipped calibrations on the labelled development folders and says how they do on folders they never saw."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from askbook.config import Settings, load_settings
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.evaluation.corpus import cache_beside
from askbook.evaluation.metrics import auroc, ece
from askbook.retrieval.calibration import SHIPPED, Calibration, features_of
from collecting import Row, anchored, anchors_of, collect
from fitting import FEATURES, PRIOR, Fitting, Labelled
from folders import DATA, REPOSITORY, folder_of, refusal_sets

LEVEL = 0.60
LIMITS = {"adversarial": 100, "near_miss": 150, "off_topic": 110}


def main() -> None:
    options = _options()
    settings = load_settings(data_dir=options.data_dir)
    rows = asyncio.run(_collect(settings, options.data))
    fingerprint = str(BuiltinEmbedder().fingerprint)
    entries: list[dict[str, object]] = []
    for (embedder, judged), features in FEATURES.items():
        fitting = Fitting(labelled(rows, judged), features)
        print(f"\n## {embedder} embedder, {'with' if judged else 'without'} judge\n")
        _print_report(fitting)
        fitted = fitting.fit(range(len(rows)))
        entries.append(_entry(fingerprint if embedder == "built-in" else None, fitted))
        print(
            "\nWeights: "
            + ", ".join(f"{f} {w:+.2f}" for f, w in zip(features, fitting.standard, strict=True))
        )
    if options.write:
        lines = ",\n ".join(json.dumps(entry) for entry in entries)
        SHIPPED.write_text('{"calibrations": [\n ' + lines + "\n]}\n", encoding="utf-8")
        print(f"\nWritten to {SHIPPED.relative_to(REPOSITORY)}.")


def labelled(rows: Sequence[Row], judged: bool) -> list[Labelled]:
    """The rows as a fit reads them, with or without the judge."""
    return [
        Labelled(
            name=row.name,
            kind=row.kind,
            folder=folder_of(row.name, row.kind, answerable=row.answerable),
            answerable=row.answerable,
            found=row.found,
            values=features_of(row.judged if judged else row.unjudged),
        )
        for row in rows
    ]


def _print_report(fitting: Fitting) -> None:
    print(
        "| set | n | AUROC | cosine | ECE | refused answerable | refused found | answered unanswerable |"
    )
    print("|---|---|---|---|---|---|---|---|")
    pooled: dict[str, list[bool]] = {"found": [], "off_topic": [], "near_miss": []}
    for name in dict.fromkeys(row.name for row in fitting.rows):
        mine = [row for row in fitting.rows if row.name == name]
        calibration = fitting.fit_without(name)
        scores = [calibration.probability(row.values, PRIOR) for row in mine]
        labels = [row.answerable for row in mine]
        refused = list(zip(mine, (score < LEVEL for score in scores), strict=True))
        yes = [r for row, r in refused if row.answerable]
        no = [r for row, r in refused if not row.answerable]
        found = [r for row, r in refused if row.answerable and row.found]
        if mine[0].kind != "adversarial":
            pooled["found"] += found
            pooled[mine[0].kind] += no
        cells = (
            auroc(scores, labels),
            auroc([row.values["best"] for row in mine], labels),
            ece(scores, labels, PRIOR),
            _share(yes),
            _share(found),
            1 - _share(no),
        )
        print(f"| {name} | {len(mine)} | " + " | ".join(f"{c:.3f}" for c in cells) + " |")
    shares = ", ".join(f"{name} {100 * _share(values):.1f} %" for name, values in pooled.items())
    print(f"\nRefused, pooled without the adversarial set: {shares}.")


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
