"""The formulas against cases worked out by hand, and against the libraries everyone trusts."""

import math
import random

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, R, Success, nDCG
from sklearn.metrics import roc_auc_score  # pyright: ignore[reportMissingTypeStubs]  # it ships none

from askbook.evaluation.metrics import (
    area_under_risk,
    auroc,
    ece,
    hit,
    ndcg,
    page_hit,
    prior_weights,
    recall,
    reciprocal_rank,
    reliability,
    risk_coverage,
    span_overlap,
    token_f1,
)


def test_ndcg_of_a_graded_ranking_worked_out_by_hand() -> None:
    ranked, grades = ["b", "x", "a"], {"a": 3, "b": 1}
    ideal = 3 + 1 / math.log2(3)
    assert ndcg(ranked, grades, 10) == pytest.approx((1 + 3 / 2) / ideal)
    assert ndcg(ranked, grades, 1) == pytest.approx(1 / 3)


def test_a_page_counts_when_it_or_its_neighbour_is_found() -> None:
    found = [("a.pdf", 3, 4), ("b.pdf", 9, 9), ("a.pdf", 20, 21)]
    assert page_hit(found, [("a.pdf", 5)], 5) == 1.0
    assert page_hit(found, [("a.pdf", 2)], 5) == 1.0
    assert page_hit(found, [("a.pdf", 6), ("b.pdf", 4)], 5) == 0.0
    assert page_hit(found, [("b.pdf", 3)], 5) == 0.0
    assert page_hit(found, [("a.pdf", 20)], 2) == 0.0


def test_rank_metrics_worked_out_by_hand() -> None:
    ranked, grades = ["x", "a", "y", "b"], {"a": 1, "b": 1, "c": 1, "d": 1}
    assert recall(ranked, grades, 3) == 0.25
    assert hit(ranked, grades, 1) == 0.0
    assert hit(ranked, grades, 2) == 1.0
    assert reciprocal_rank(ranked, grades, 10) == 0.5
    assert reciprocal_rank(ranked, {"z": 1}, 10) == 0.0


def test_rank_metrics_agree_with_ir_measures() -> None:
    chance = random.Random(3)
    documents = [f"d{i}" for i in range(40)]
    for _ in range(50):
        ranked = chance.sample(documents, 10)
        grades = {d: chance.randint(1, 4) for d in chance.sample(documents, chance.randint(1, 12))}
        qrels = [ir_measures.Qrel("q", d, g) for d, g in grades.items()]
        run = [ir_measures.ScoredDoc("q", d, 100.0 - i) for i, d in enumerate(ranked)]
        expected = ir_measures.calc_aggregate([nDCG @ 10, R @ 5, Success @ 5, RR @ 10], qrels, run)
        assert ndcg(ranked, grades, 10) == pytest.approx(expected[nDCG @ 10])
        assert recall(ranked, grades, 5) == pytest.approx(expected[R @ 5])
        assert hit(ranked, grades, 5) == pytest.approx(expected[Success @ 5])
        assert reciprocal_rank(ranked, grades, 10) == pytest.approx(expected[RR @ 10])


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.booleans()), min_size=2))
def test_auroc_agrees_with_scikit_learn_also_with_ties(rows: list[tuple[float, bool]]) -> None:
    scores, labels = [s for s, _ in rows], [label for _, label in rows]
    found = auroc(scores, labels)
    if len(set(labels)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(roc_auc_score(labels, scores))


def test_rows_are_weighted_to_the_prior() -> None:
    weights = prior_weights([True, False, False, False], 0.85)
    assert weights.tolist() == pytest.approx([0.85, 0.05, 0.05, 0.05])
    assert prior_weights([True, True], 0.85).tolist() == [0.5, 0.5]


def test_calibration_error_worked_out_by_hand() -> None:
    # At a prior of one half each row weighs a quarter: bins 0.9 (both answerable) and 0.1 (neither).
    assert ece([0.9, 0.9, 0.1, 0.1], [True, True, False, False], 0.5) == pytest.approx(0.1)
    # Always saying the prior is perfectly calibrated, and useless.
    assert ece([0.85] * 4, [True, False, True, False], 0.85) == pytest.approx(0.0)
    assert ece([0.9, 0.9], [True, True], 0.85) is None


def test_confidence_one_belongs_to_the_last_bin() -> None:
    [only] = reliability([1.0, 0.95], [True, False], 0.5)
    assert (only.weight, only.answerable) == (1.0, 0.5)


def test_risk_rises_as_coverage_does_when_the_order_is_perfect() -> None:
    points = risk_coverage([0.9, 0.8, 0.2, 0.1], [True, True, False, False], 0.5)
    assert points == [(0.25, 0.0), (0.5, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5)]
    assert area_under_risk(points) == pytest.approx(0.25 * (1 / 3 + 0.5))


def test_span_overlap_counts_characters_once() -> None:
    found = [("d", 0, 10), ("d", 5, 20), ("e", 0, 100)]
    gold = [("d", 15, 25), ("f", 0, 10)]
    found_share, overlap = span_overlap(found, gold)
    assert found_share == pytest.approx(5 / 20)
    assert overlap == pytest.approx(5 / (120 + 20 - 5))


@pytest.mark.parametrize(
    ("answer", "golds", "expected"),
    [
        ("The Normans", ["normans"], 1.0),
        ("in France, of course", ["France", "Paris"], 2 * (1 / 4) * 1 / (1 / 4 + 1)),
        ("nothing alike", ["other words"], 0.0),
        ("", [""], 1.0),
    ],
)
def test_token_f1_is_that_of_squad(answer: str, golds: list[str], expected: float) -> None:
    assert token_f1(answer, golds) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.data())
def test_calibration_error_stays_between_zero_and_one(
    scores: list[float], data: st.DataObject
) -> None:
    labels = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    found = ece(scores, labels, 0.85)
    assert found is None or 0 <= found <= 1 + 1e-9
    assert np.isclose(prior_weights(labels, 0.85).sum(), 1.0)
