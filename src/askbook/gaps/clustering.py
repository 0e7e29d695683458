"""Groups questions that ask the same in other words. Pure; the same questions always give the same groups."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from askbook.book import Vector

NEARNESS = 0.5
"""How far from unrelated (0) to the same (1) two groups must be alike to become one."""

UNRELATED = (
    "What is the capital of Australia?",
    "How long do I have to boil an egg?",
    "Who painted the Mona Lisa?",
    "How do I reset my password?",
    "What are the side effects of aspirin?",
    "When does the next train leave?",
    "How do I write a loop in Python?",
    "What is the difference between weather and climate?",
    "Can you recommend a novel for the holidays?",
    "How much does the subscription cost?",
    "Why is the sky blue?",
    "Which muscles does swimming train?",
)
"""Questions about everything, so that a few gaps, too, show how alike an embedder sees the unrelated."""


def grouped(vectors: Sequence[Vector], unrelated: Sequence[Vector]) -> list[list[int]]:
    """Positions of the vectors in groups, merged from the most alike on while alike enough.

    Cosines of unrelated texts differ between embedders; what counts as alike is measured from the median
    of all cosines, among these vectors and to the unrelated ones.
    """
    if not vectors:
        return []
    matrix = _unit(vectors)
    cosines = matrix @ matrix.T
    others = [cosines[np.triu_indices(len(matrix), k=1)]]
    if unrelated:
        others.append((matrix @ _unit(unrelated).T).ravel())
    pool = np.concatenate(others)
    base = float(np.median(pool)) if pool.size else 0.0
    return _merged(cosines, base + NEARNESS * (1.0 - base))


def _unit(vectors: Sequence[Vector]) -> NDArray[np.float64]:
    matrix = np.stack(vectors).astype(np.float64)
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)


def _merged(alike: NDArray[np.float64], least: float) -> list[list[int]]:
    """Average linkage: two groups are as alike as their members are on average."""
    groups = {position: [position] for position in range(len(alike))}
    np.fill_diagonal(alike, -np.inf)
    everyone = np.arange(len(alike))
    best = alike.argmax(axis=1)
    while len(groups) > 1:
        nearness = alike[everyone, best]
        first = int(nearness.argmax())
        if nearness[first] < least:
            break
        one, two = sorted((first, int(best[first])))
        sizes = len(groups[one]), len(groups[two])
        mean = (sizes[0] * alike[one] + sizes[1] * alike[two]) / sum(sizes)
        mean[one] = -np.inf
        alike[one], alike[:, one] = mean, mean
        alike[two], alike[:, two] = -np.inf, -np.inf
        groups[one] += groups.pop(two)
        # A mean is never above the better of the two: only who preferred one of them looks again.
        again = (best == one) | (best == two)
        again[one] = True
        best[again] = alike[again].argmax(axis=1)
    return [sorted(group) for group in groups.values()]
