"""How sure a number is: seeded bootstrap intervals, and paired differences between two configurations. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Verdict: TypeAlias = Literal["better", "worse", "equal"]
Interval: TypeAlias = tuple[float, float]

ROUNDS = 1000
SEED = 20
OUTER = (2.5, 97.5)
"""Percentiles: a 95 % interval."""


def mean_interval(
    values: Sequence[float], rounds: int = ROUNDS, seed: int = SEED
) -> Interval | None:
    """A 95 % interval of the mean over questions."""
    if len(values) < 2:
        return None
    array = np.asarray(values, np.float64)
    means = array[_draws(len(array), rounds, seed)].mean(axis=1)
    return _outer(means)


def statistic_interval(
    statistic: Callable[[Sequence[int]], float | None],
    size: int,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> Interval | None:
    """A 95 % interval of any statistic of row numbers; draws where it is undefined are left out."""
    if size < 2:
        return None
    drawn = (statistic(row) for row in _draws(size, rounds, seed).tolist())
    values = [value for value in drawn if value is not None]
    return _outer(np.asarray(values)) if len(values) > 1 else None


@dataclass(frozen=True, slots=True)
class Difference:
    """The second configuration against the first, over the same questions."""

    first: float
    second: float
    difference: float
    interval: Interval
    verdict: Verdict
    n: int


def paired_difference(
    first: Sequence[float], second: Sequence[float], rounds: int = ROUNDS, seed: int = SEED
) -> Difference:
    """How much better or worse `second` is; "equal" when the interval holds zero."""
    if len(first) != len(second) or not first:
        raise ValueError("Both configurations must answer the same questions.")
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    gaps = b - a
    low, high = _outer(gaps[_draws(len(gaps), rounds, seed)].mean(axis=1))
    verdict: Verdict = "better" if low > 0 else "worse" if high < 0 else "equal"
    return Difference(
        float(a.mean()), float(b.mean()), float(gaps.mean()), (low, high), verdict, len(gaps)
    )


def _draws(size: int, rounds: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, size, (rounds, size))


def _outer(values: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(values, OUTER)
    return float(low), float(high)
