"""Fits how units are scored on questions with gold answers and says how that does on folders it never saw.

Beside it stand the answerer as it is, with other constants, and what could be had with the gold answer at hand.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.optimize import minimize  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from askbook.agent import extractive
from askbook.agent.extractive import answer_extractively
from askbook.agent.passages import cut_into_units
from askbook.agent.scoring import (
    WEIGHTS,
    Placed,
    judged_signs,
    place_units,
    read_with,
    signs_of,
)
from askbook.config import load_settings
from askbook.evaluation.answers import FIRST_SENTENCES
from askbook.evaluation.corpus import cache_beside
from askbook.evaluation.datasets import load_dataset
from askbook.evaluation.metrics import token_f1
from collecting_answers import KeptJudge, Row, collect
from folders import DATA, REPOSITORY, WITH_ANSWERS

LIMIT = 60
PENALTY = 1e-3
LONGEST_WINDOW = 4
VARIANTS: dict[str, dict[str, Any]] = {
    "company 200": {"COMPANY_LENGTH": 200},
    "company 250": {"COMPANY_LENGTH": 250},
    "company 600": {"COMPANY_LENGTH": 600},
    "close 0": {"CLOSE": 0.0},
    "close 2": {"CLOSE": 2.0},
    "adding 5": {"ADDING": 5.0},
    "adding 14": {"ADDING": 14.0},
    "fact 20": {"FACT_WORDS": 20},
}
Folder = Sequence["Asked"]


@dataclass(slots=True)
class Asked:
    """A question with its units as numbers: signs of each, and token-F1 of each alone."""

    row: Row
    placed: list[Placed]
    signs: np.ndarray
    alone: np.ndarray

    def f1(self, chosen: Sequence[int]) -> float:
        return token_f1(
            " ".join(self.placed[i].unit.text for i in sorted(chosen)), self.row.question.answers
        )


def main() -> None:
    options = _options()
    rows = asyncio.run(_collect(options))
    folders = {name: [read(row) for row in mine] for name, mine in rows.items()}
    fitted = {name: _fit_without(name, folders) for name in folders}
    shipped = np.array(list(WEIGHTS.values()))
    columns: dict[str, Callable[[str, Asked], float]] = {
        "floor": lambda _, a: _floor(a),
        "answerer": lambda _, a: answered_f1(a),
        "one unit, shipped": lambda _, a: a.alone[_best(a, shipped)],
        "one unit, fitted": lambda name, a: a.alone[_best(a, fitted[name])],
        "length at hand": lambda _, a: _best_window(a, _best(a, shipped)),
        "unit at hand": lambda _, a: a.alone.max(),
        "set at hand": lambda _, a: _best_set(a),
    }
    print("\n## The answerer, a fit that never saw the folder, and the ceilings\n")
    _print_table(_measured(folders, columns))
    print("\n## The answerer with other constants\n")
    varied = {"answerer": _measured(folders, {"answerer": columns["answerer"]})["answerer"]}
    for name, changed in VARIANTS.items():
        with patch.multiple(extractive, **changed):
            varied[name] = _measured(folders, {name: columns["answerer"]})[name]
    _print_table(varied)
    _print_differences(varied)
    everything = [a for mine in folders.values() for a in mine]
    pairs = zip(WEIGHTS, fit(everything), strict=True)
    print("\nFitted on all: " + ", ".join(f"{name} {w:+.2f}" for name, w in pairs))


def read(row: Row) -> Asked:
    """The units of a row with what the scoring reads of them; a declined one has none."""
    placed = place_units(row.context) if row.answered else []
    judged = [judged_signs(row.judgements[row.context.query, read_with(p, placed)]) for p in placed]
    signs = [
        [(cheap | more)[name] for name in WEIGHTS]
        for cheap, more in zip(signs_of(row.context, placed), judged, strict=True)
    ]
    alone = [token_f1(p.unit.text, row.question.answers) for p in placed]
    return Asked(row, placed, np.array(signs).reshape(-1, len(WEIGHTS)), np.array(alone))


def fit(asked: Sequence[Asked]) -> np.ndarray:
    """Weights under which the unit taken, drawn by its score, has the most token-F1; folders count equally."""
    asked = [a for a in asked if a.placed]
    per = {name: sum(a.row.name == name for a in asked) for name in {a.row.name for a in asked}}
    shares = np.array([1 / (per[a.row.name] * len(per)) for a in asked])
    sizes = [len(a.placed) for a in asked]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    owner = np.repeat(np.arange(len(asked)), sizes)
    signs = np.vstack([a.signs for a in asked])
    spread = signs.std(axis=0) + 1e-9
    signs, gain = signs / spread, np.concatenate([a.alone for a in asked])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = signs @ weights
        chances = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        chances /= np.add.reduceat(chances, starts)[owner]
        expected = np.add.reduceat(chances * gain, starts)
        slope = (shares[owner] * chances * (gain - expected[owner])) @ signs
        value = float(shares @ expected - PENALTY * weights @ weights)
        return -value, -(slope - 2 * PENALTY * weights)

    first = np.array(list(WEIGHTS.values())) * spread
    found: Any = minimize(loss, first, jac=True, method="L-BFGS-B")
    return found.x / spread


def answered_f1(asked: Asked) -> float:
    """Token-F1 of what the answerer makes of the kept judgements."""
    row = asked.row
    answer = asyncio.run(answer_extractively(row.context, row.book, KeptJudge(row)))
    if answer is None:
        return 0.0
    texts = {r.chunk_id: r.text for r in row.context.results}
    quotes = (texts[c.chunk_id][c.quote_start : c.quote_end] for c in answer.citations)
    return token_f1(" ".join(quotes), row.question.answers)


def _fit_without(name: str, folders: Mapping[str, Folder]) -> np.ndarray:
    return fit([a for other, mine in folders.items() if other != name for a in mine])


def _best(asked: Asked, weights: np.ndarray) -> int:
    scores = asked.signs @ weights
    code = np.array([p.unit.kind == "code" for p in asked.placed])
    return int(np.argmax(np.where(code, -np.inf, scores) if not code.all() else scores))


def _floor(asked: Asked) -> float:
    units = cut_into_units(asked.row.context.results[0].text)[:FIRST_SENTENCES]
    return token_f1(" ".join(unit.text for unit in units), asked.row.question.answers)


def _best_window(asked: Asked, best: int) -> float:
    """The best run of units around the chosen one: what knowing the right length is worth."""
    return max(asked.f1(window) for window in _windows(asked, best))


def _windows(asked: Asked, best: int) -> Iterator[range]:
    for size in range(1, LONGEST_WINDOW + 1):
        for start in range(max(0, best - size + 1), best + 1):
            window = range(start, start + size)
            if window.stop <= len(asked.placed) and all(
                asked.placed[i].result is asked.placed[best].result for i in window
            ):
                yield window


def _best_set(asked: Asked) -> float:
    """Units taken one by one while they help, with the gold answer at hand."""
    chosen: list[int] = []
    reached = 0.0
    while len(chosen) < extractive.MAX_UNITS:
        left = [i for i in range(len(asked.placed)) if i not in chosen]
        gain, unit = max(((asked.f1([*chosen, i]), i) for i in left), default=(0.0, 0))
        if gain <= reached:
            break
        reached = gain
        chosen.append(unit)
    return reached


def _measured(
    folders: Mapping[str, Folder], columns: Mapping[str, Callable[[str, Asked], float]]
) -> dict[str, dict[str, np.ndarray]]:
    """Per column and folder the value of every question; a declined one has none of anything."""
    return {
        column: {
            name: np.array([value(name, a) if a.placed else 0.0 for a in mine])
            for name, mine in folders.items()
        }
        for column, value in columns.items()
    }


def _print_table(columns: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    first = next(iter(columns.values()))
    print("| folder | n | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for name, values in first.items():
        cells = " | ".join(f"{by[name].mean():.3f}" for by in columns.values())
        print(f"| {name} | {len(values)} | {cells} |")
    means = [np.mean([v.mean() for v in by.values()]) for by in columns.values()]
    print("| mean | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    if "floor" in columns:
        print("| × | | " + " | ".join(f"{mean / means[0]:.2f}" for mean in means) + " |")


def _print_differences(columns: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Each against the answerer, question by question: the mean over folders and its standard error."""
    print()
    for column, by in columns.items():
        pairs = [by[name] - base for name, base in columns["answerer"].items()]
        error = sum(d.var() / len(d) for d in pairs) ** 0.5 / len(pairs)
        mean, worst = np.mean([d.mean() for d in pairs]), min(d.mean() for d in pairs)
        print(f"- {column}: {mean:+.4f} ± {error:.4f}, worst folder {worst:+.4f}")


async def _collect(options: argparse.Namespace) -> dict[str, list[Row]]:
    settings = load_settings(data_dir=options.data_dir)
    kept = cache_beside(settings.storage.data_dir) / "answers"
    rows: dict[str, list[Row]] = {}
    for name in WITH_ANSWERS:
        print(f"{name} …", file=sys.stderr, flush=True)
        dataset = load_dataset(options.data / name)
        rows[name] = [row async for row in collect(settings, dataset, LIMIT, kept)]
    return rows


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--data-dir", type=Path, default=REPOSITORY / ".askbook")
    return parser.parse_args()


if __name__ == "__main__":
    main()
