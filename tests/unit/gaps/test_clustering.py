"""Grouping questions: alike ones together whatever the embedder's scale, the most asked first."""

from datetime import date
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from askbook.book import Vector
from askbook.gaps.clustering import grouped
from askbook.gaps.listing import clustered
from askbook.storage.gaps import Gap

DIMENSION = 32


def directions(seed: int, count: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, DIMENSION)).astype(np.float32)


def subjects(sizes: list[int], *, seed: int = 1, common: float = 0.0) -> list[Vector]:
    """Vectors around one direction per subject; `common` is what all texts share for some embedders."""
    centres = np.repeat(directions(seed, len(sizes)), sizes, axis=0)
    noise = 0.2 * directions(seed + 1, sum(sizes))
    return list(centres + noise + common)


@pytest.mark.parametrize("common", [0.0, 1.0, 2.0])
def test_subjects_are_found_whatever_cosines_mean(common: float) -> None:
    vectors = subjects([3, 1, 4, 2], common=common)
    unrelated = list(directions(9, 12) + common)
    assert grouped(vectors, unrelated) == [[0, 1, 2], [3], [4, 5, 6, 7], [8, 9]]


def test_a_few_questions_are_told_apart_by_unrelated_ones() -> None:
    vectors = subjects([3, 1])
    assert grouped(vectors, list(directions(9, 12))) == [[0, 1, 2], [3]]


def test_nothing_and_one() -> None:
    assert grouped([], list(directions(9, 3))) == []
    assert grouped([directions(1, 1)[0]], []) == [[0]]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 99), st.randoms())
def test_every_question_is_in_one_group_and_the_order_does_not_matter(
    sizes: list[int], seed: int, random: Random
) -> None:
    vectors = subjects(sizes, seed=seed)
    unrelated = list(directions(seed + 9, 12))
    groups = grouped(vectors, unrelated)
    assert sorted(i for group in groups for i in group) == list(range(len(vectors)))
    assert groups == grouped(vectors, unrelated)
    order = list(range(len(vectors)))
    random.shuffle(order)
    shuffled = grouped([vectors[i] for i in order], unrelated)
    assert {frozenset(order[i] for i in g) for g in shuffled} == {frozenset(g) for g in groups}


def gap(question: str, confidence: float, count: int = 1, day: int = 2) -> Gap:
    asked = date(2026, 1, day)
    return Gap(question=question, last_asked=asked, confidence=confidence, count=count)


def test_the_most_asked_come_first_then_the_nearest_to_the_book() -> None:
    gaps = [
        gap("weather", 0.01),
        gap("welding, how", 0.2, count=1),
        gap("how to weld", 0.1, count=2, day=3),
        gap("grippers", 0.5),
    ]
    vectors = subjects([1, 2, 1])
    clusters = clustered(gaps, vectors, list(directions(9, 12)))
    assert [c.question for c in clusters] == ["how to weld", "grippers", "weather"]
    first = clusters[0]
    assert (first.count, first.other_wordings) == (3, ("welding, how",))
    assert (first.nearest.confidence, first.last_asked) == (0.2, date(2026, 1, 3))
