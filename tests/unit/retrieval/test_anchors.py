"""Where a cosine lies between a book's anchors. Pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.anchors import FARTHEST, Anchors

FOREIGN = [0.60 + 0.001 * n for n in range(64)]
OWN = [0.75 + 0.001 * n for n in range(100)]


def test_the_middle_is_zero_and_the_anchors_are_as_far_on_either_side() -> None:
    anchors = Anchors.of(FOREIGN, OWN)
    assert anchors.place((anchors.foreign + anchors.own) / 2) == pytest.approx(0.0)
    assert anchors.place(anchors.own) == pytest.approx(-anchors.place(anchors.foreign))
    assert anchors.place(anchors.own) > 0


@given(
    cosine=st.floats(0.5, 1.0),
    scale=st.floats(0.5, 1.0),
    shift=st.floats(-0.4, 0.0),
)
def test_no_embedders_scale_is_left(cosine: float, scale: float, shift: float) -> None:
    def moved(values: list[float]) -> list[float]:
        return [scale * value + shift for value in values]

    here, there = Anchors.of(FOREIGN, OWN), Anchors.of(moved(FOREIGN), moved(OWN))
    assert here.place(cosine) == pytest.approx(there.place(scale * cosine + shift), abs=1e-6)


def test_an_embedder_that_scatters_more_counts_for_less() -> None:
    steady = Anchors.of(FOREIGN, OWN)
    shaky = Anchors.of([f + 0.2 * (f - 0.63) * 20 for f in FOREIGN], OWN)
    assert abs(shaky.place(shaky.own)) < abs(steady.place(steady.own))


def test_anchors_that_nearly_touch_are_not_clear() -> None:
    assert Anchors(0.60, 0.80, 0.05).are_clear(judged=True)
    assert not Anchors(0.60, 0.70, 0.05).are_clear(judged=True)
    assert Anchors(0.60, 0.70, 0.05).are_clear(judged=False)
    assert not Anchors(0.70, 0.60, 0.01).are_clear(judged=False)


def test_a_few_foreign_questions_that_the_book_answers_hardly_matter() -> None:
    """A cookery book among questions of which some are about cooking."""
    usual = Anchors.of(FOREIGN, OWN)
    cookery = Anchors.of([*FOREIGN[:56], *(0.9,) * 8], OWN)
    assert cookery.foreign == pytest.approx(usual.foreign, abs=0.01)
    assert cookery.place(0.62) < 0 < cookery.place(0.80)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_place_stays_within_bounds(value: float, cosine: float) -> None:
    assert abs(Anchors.of([value] * 5, [value] * 5).place(cosine)) <= FARTHEST
