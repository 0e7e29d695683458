"""How different the chunks that were found are."""

import numpy as np
import pytest

from askbook.retrieval.search import _diversity


@pytest.mark.parametrize("count", [2, 5, 40])
def test_it_is_one_less_the_mean_cosine_of_all_pairs(count: int) -> None:
    drawn = np.abs(np.random.default_rng(count).normal(size=(count, 384))).astype(np.float32)
    vectors = list(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    cosines = [float(a @ b) for i, a in enumerate(vectors) for b in vectors[:i]]
    assert _diversity(vectors) == pytest.approx(1 - sum(cosines) / len(cosines), abs=1e-5)


def test_one_chunk_or_the_same_twice_is_no_diversity() -> None:
    vector = np.eye(1, 384, dtype=np.float32)[0]
    assert _diversity([vector]) == 0.0
    assert _diversity([vector, vector]) == pytest.approx(0.0)
