"""From one retrieval to the probability that it answers. Pure."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.anchors import Anchors
from askbook.retrieval.calibration import (
    Calibration,
    choose_calibration,
    describe_calibration,
    features_of,
    shipped_calibrations,
)
from askbook.retrieval.judging import Judgement
from sample_chunks import make_context

BUILTIN = "askbook-embed/384/d15060f81062/query: "


def calibration(weight: float = 1.0, intercept: float = 0.0, prior: float = 0.5) -> Calibration:
    return Calibration(
        fingerprint=None, features=("x",), weights=(weight,), intercept=intercept, prior=prior
    )


def judgement(relevance: float, answerability: float = -2.0, margin: float = 0.5) -> Judgement:
    return Judgement(relevance, answerability, 0, 5, margin)


def test_the_probability_is_logistic() -> None:
    assert calibration().probability({"x": 0.0}, 0.5) == pytest.approx(0.5)
    assert calibration(2.0, -1.0).probability({"x": 1.5}, 0.5) == pytest.approx(
        1 / (1 + math.exp(-2.0))
    )


@given(prior=st.floats(0.01, 0.99), expected=st.floats(0.01, 0.99))
def test_with_no_evidence_the_expected_share_is_the_probability(
    prior: float, expected: float
) -> None:
    """Intercept = the fitted share's own log-odds: what remains is the expected share."""
    intercept = math.log(prior / (1 - prior))
    fitted = calibration(0.0, intercept, prior)
    assert fitted.probability({"x": 3.0}, expected) == pytest.approx(expected, abs=1e-6)


@given(
    st.floats(-5, 5),
    st.floats(-5, 5),
    st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)),
)
def test_more_evidence_and_a_larger_share_give_more(
    one: float, other: float, priors: tuple[float, float]
) -> None:
    low, high = sorted((one, other))
    fewer, more = sorted(priors)
    fitted = calibration()
    assert fitted.probability({"x": low}, 0.5) <= fitted.probability({"x": high}, 0.5)
    assert fitted.probability({"x": one}, fewer) <= fitted.probability({"x": one}, more)


@given(st.floats(-1e9, 1e9))
def test_no_evidence_is_too_strong(value: float) -> None:
    assert 0.0 <= calibration().probability({"x": value}, 0.85) <= 1.0


def test_features_hold_the_best_of_the_judgements() -> None:
    context = make_context(
        (0.8, 0.7, 0.6), judgements=[judgement(1.0, -3.0), judgement(2.5, -1.0), judgement(0.5)]
    )
    features = features_of(context)
    assert features["relevance"] == 2.5
    assert features["answerability"] == -1.0
    assert features["best"] == 0.8


def test_the_best_cosine_is_that_of_the_whole_search() -> None:
    features = features_of(make_context((0.7,), background=(0.9, *(0.5,) * 40)))
    assert features["best"] == 0.9


@pytest.mark.parametrize(
    ("question", "passage", "expected"),
    [
        ("What is a watchdog?", "A **watchdog** prevents this: it keeps a timer.", 1.0),
        ("What is a watchdog?", "Timers and watchdogs help here.", 0.0),
        ("define watchdog", "Timers help. A watchdog is a timer that stops the motor.", 1.0),
        ("What are nodes and topics?", "Nothing else than the heading says it.", 1.0),
        ("What is a VLM?", "A vision-language model (VLM) takes images and text.", 1.0),
        ("What is the difference between a VLM and a VLA?", "A **VLM** sees. A **VLA** acts.", 1.0),
        ("What is the difference between a VLM and a VLA?", "A **VLM** sees. A robot acts.", 0.0),
        ("What does GPU stand for?", "A GPU is a processor for pictures.", 0.0),
        ("what is rt-2", "The model RT-2, published in 2023, writes actions as text.", 1.0),
        ("Why does the watchdog bark?", "A **watchdog** prevents this.", 0.0),
    ],
)
def test_a_term_is_introduced_where_the_book_says_what_it_is(
    question: str, passage: str, expected: float
) -> None:
    context = make_context((0.6,), texts=(passage,), query=question)
    assert features_of(context)["introduced"] == expected


def test_features_of_nothing_are_finite() -> None:
    for value in features_of(make_context()).values():
        assert math.isfinite(value)


def test_coverage_is_the_share_of_the_questions_terms() -> None:
    def covered(question: str, *passages: str) -> float:
        scores = [0.5] * len(passages)
        return features_of(make_context(scores, texts=passages, query=question))["best_coverage"]

    # The sample chunks' breadcrumb says "Robots › ROS 2 › Nodes and topics".
    assert covered("Which gears drive wheels?", "The gear drives a wheel.") == pytest.approx(1.0)
    assert covered("Which gears drive zebras?", "The gear drives it all.") == pytest.approx(2 / 3)
    assert covered("Which zebras eat grass?", "Nothing about that here.") == 0.0


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("fingerprint", [BUILTIN, "some-other-embedder/1024/x"])
def test_a_calibration_is_shipped_for_every_case(fingerprint: str, judged: bool) -> None:
    chosen = choose_calibration(fingerprint, judged=judged)
    assert chosen.fingerprint in (fingerprint, None)
    assert ("answerability" in chosen.features) == judged


def test_the_shipped_calibrations_read_features_that_exist() -> None:
    known = set(features_of(make_context((0.5,))))
    for shipped in shipped_calibrations():
        assert set(shipped.features) <= known
        assert len(shipped.features) == len(shipped.weights)
        assert 0 < shipped.prior < 1


@pytest.mark.parametrize("judged", [True, False])
def test_the_embedders_own_calibration_goes_before_anchors_and_these_before_none(
    judged: bool,
) -> None:
    anchors = Anchors(0.2, 0.4, 0.05)
    own = choose_calibration(BUILTIN, judged=judged, anchors=anchors)
    assert own == choose_calibration(BUILTIN, judged=judged)
    assert own.fingerprint == BUILTIN
    assert "place" in choose_calibration("other", judged=judged, anchors=anchors).features
    assert "place" not in choose_calibration("other", judged=judged).features


def test_beside_the_judge_anchors_must_lie_clearly_apart() -> None:
    near = Anchors(0.2, 0.3, 0.05)
    assert "place" not in choose_calibration("other", judged=True, anchors=near).features
    assert "place" in choose_calibration("other", judged=False, anchors=near).features


def test_which_calibration_is_in_use_is_told() -> None:
    day, near, far = (
        datetime(2026, 1, 2, tzinfo=UTC),
        Anchors(0.2, 0.3, 0.05),
        Anchors(0.2, 0.4, 0.05),
    )
    assert describe_calibration(BUILTIN, far, day, judged=True) == "shipped for this embedder"
    assert "run `askbook calibrate`" in describe_calibration("other", None, None, judged=True)
    own = "calibrated for this book on 2026-01-02"
    assert describe_calibration("other", far, day, judged=True) == own
    assert describe_calibration("other", near, day, judged=False) == own
    assert "tell less than the judge" in describe_calibration("other", near, day, judged=True)
    old = describe_calibration("other", far, day, judged=True, is_old=True)
    assert old == f"{own}; it changed since: run `askbook calibrate` again"


def test_the_place_is_read_where_there_are_anchors() -> None:
    context = make_context((0.3,))
    assert features_of(context)["place"] == 0.0
    anchored = replace(context, anchors=Anchors(0.2, 0.4, 0.05))
    assert features_of(anchored)["place"] == pytest.approx(0.0)
    assert features_of(replace(anchored, background=(0.4,)))["place"] == pytest.approx(2.0)


def test_a_calibration_for_any_embedder_reads_no_cosine() -> None:
    for shipped in shipped_calibrations():
        if shipped.fingerprint is None:
            assert "best" not in shipped.features
