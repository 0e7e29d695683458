"""When to answer, when to add a disclaimer, when to decline: both policies, every level."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.book import Section
from askbook.config import ConfidenceSettings
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import ConfidenceMetrics, assess
from sample_chunks import make_context, make_result

# Without features the probability is the prior alone: levels can be set exactly.
EMPTY = Calibration(fingerprint=None, features=(), weights=(), intercept=0.0, prior=0.5)


def settings(**given: Any) -> ConfidenceSettings:
    return ConfidenceSettings(**given)


def by_threshold(scores: list[float], **given: Any) -> ConfidenceMetrics:
    top_k = given.pop("top_k", 5)
    chosen = settings(policy="threshold", similarity_threshold=0.0, **given)
    return assess(make_context(scores, top_k=top_k), chosen, EMPTY)


def by_calibration(probability: float, **given: Any) -> ConfidenceMetrics:
    chosen = settings(policy="calibrated", answerable_prior=probability, **given)
    return assess(make_context((0.7, 0.6)), chosen, EMPTY)


@pytest.mark.parametrize(
    ("scores", "level", "answers"),
    [
        ([0.85] * 5, "high", True),
        ([0.99] * 5, "high", True),
        ([0.99] * 4, "medium", True),
        ([0.84] * 5, "medium", True),
        ([0.75] * 3, "medium", True),
        ([0.99] * 2, "low", True),
        ([0.74] * 5, "low", True),
        ([0.60] * 2, "low", True),
        ([0.60] * 3, "low", True),
        ([0.99], "insufficient", False),
        ([0.59] * 5, "insufficient", False),
        ([], "insufficient", False),
    ],
)
def test_the_fixed_numbers_on_raw_cosine(scores: list[float], level: str, answers: bool) -> None:
    metrics = by_threshold(scores)
    assert (metrics.confidence_level, metrics.should_answer) == (level, answers)
    assert metrics.policy == "threshold"


def test_high_needs_no_more_chunks_than_were_asked_for() -> None:
    assert by_threshold([0.9] * 3, top_k=3).confidence_level == "high"
    assert by_threshold([0.9] * 3, top_k=5).confidence_level == "medium"


def test_chunks_below_the_similarity_threshold_do_not_count() -> None:
    chosen = settings(policy="threshold")
    metrics = assess(make_context((0.9, 0.8, 0.7, 0.69, 0.1)), chosen, EMPTY)
    assert metrics.num_chunks == 3
    assert metrics.min_similarity == 0.7
    assert metrics.confidence == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("probability", "level", "answers"),
    [
        (0.86, "high", True),
        (0.84, "medium", True),
        (0.76, "medium", True),
        (0.74, "low", True),
        (0.61, "low", True),
        (0.59, "insufficient", False),
        (0.01, "insufficient", False),
    ],
)
def test_levels_of_a_calibrated_probability(probability: float, level: str, answers: bool) -> None:
    metrics = by_calibration(probability)
    assert metrics.confidence == pytest.approx(probability)
    assert (metrics.confidence_level, metrics.should_answer) == (level, answers)
    assert metrics.policy == "calibrated"


def test_one_chunk_can_hold_the_answer_when_calibrated() -> None:
    metrics = assess(make_context((0.5,)), settings(answerable_prior=0.95), EMPTY)
    assert (metrics.confidence_level, metrics.num_chunks) == ("high", 1)


@pytest.mark.parametrize("policy", ["calibrated", "threshold"])
def test_nothing_found_is_insufficient_with_all_numbers_zero(policy: str) -> None:
    metrics = assess(make_context(), settings(policy=policy, answerable_prior=0.99), EMPTY)
    assert metrics.confidence_level == "insufficient"
    assert metrics.should_answer is False
    assert metrics.num_chunks == 0
    numbers = (metrics.confidence, metrics.chunk_diversity)
    similarities = (metrics.average_similarity, metrics.min_similarity, metrics.max_similarity)
    assert (*numbers, *similarities) == (0.0,) * 5


def test_strict_declines_what_is_only_likely() -> None:
    assert by_threshold([0.7] * 3).should_answer is True
    assert by_threshold([0.7] * 3, strict=True).should_answer is False
    assert by_calibration(0.65, strict=True).should_answer is False
    assert by_calibration(0.8, strict=True).should_answer is True


def test_the_numbers_of_the_levels_are_settings() -> None:
    assert by_threshold([0.5] * 5, high=0.5, medium=0.4, low=0.3).confidence_level == "high"
    assert by_calibration(0.5, high=0.5, medium=0.4, low=0.3).confidence_level == "high"


@given(
    scores=st.lists(st.floats(0, 1), max_size=10),
    policy=st.sampled_from(["calibrated", "threshold"]),
)
def test_numbers_stay_in_their_bounds(scores: list[float], policy: str) -> None:
    chosen = settings(policy=policy, similarity_threshold=0.0)
    metrics = assess(make_context(scores, diversity=0.4), chosen, EMPTY)
    low, mean, high = (
        metrics.min_similarity,
        metrics.average_similarity,
        metrics.max_similarity,
    )
    assert 0.0 <= low <= mean <= high <= 1.0
    assert metrics.num_chunks == len(scores)
    assert 0.0 <= metrics.confidence <= 1.0
    assert metrics.chunk_diversity == (0.4 if len(scores) > 1 else 0.0)
    assert metrics.should_answer == (metrics.confidence_level != "insufficient")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0, 1))
def test_better_scores_never_lower_the_level(scores: list[float], raised: float) -> None:
    order = ["insufficient", "low", "medium", "high"]
    better = [max(score, raised) for score in scores]
    before, after = by_threshold(scores), by_threshold(better)
    assert order.index(after.confidence_level) >= order.index(before.confidence_level)


def test_the_reason_names_the_place_or_what_is_missing() -> None:
    assert "Nodes and topics" in by_calibration(0.9).reason
    context = make_context((0.5,), query="What do zebras eat?")
    declined = assess(context, settings(answerable_prior=0.1), EMPTY)
    assert "zebras" in declined.reason
    assert assess(make_context(), settings(), EMPTY).reason.startswith("Nothing in this part")


def test_the_reason_names_no_section_where_a_passage_has_several() -> None:
    result = make_result(section_title="Topics")
    several = replace(result, chunk=replace(result.chunk, sections=(Section(9, "More", "more"),)))
    alone, among = (
        assess(replace(make_context((0.9,)), results=(each,)), settings(), EMPTY).reason
        for each in (result, several)
    )
    assert "Nodes and topics › Topics" in alone
    assert "Nodes and topics" in among
    assert "Topics”" not in among


def test_metrics_become_json() -> None:
    document = by_threshold([0.9] * 5).to_json()
    assert document["confidence_level"] == "high"
    assert document["should_answer"] is True
    assert document["num_chunks"] == 5


@pytest.mark.parametrize(
    ("question", "level"),
    [
        ("How do nodes exchange messages?", "high"),
        ("How do Newton nodes exchange messages?", "insufficient"),
        ("Who invented nodes and topics?", "insufficient"),
    ],
)
def test_a_name_that_no_passage_has_makes_an_answer_unlikely(question: str, level: str) -> None:
    context = make_context((0.7, 0.6), query=question)
    chosen = settings(policy="calibrated", answerable_prior=0.855)
    assert assess(context, chosen, EMPTY).confidence_level == level
    # One that is all but certain is told all the same.
    certain = settings(policy="calibrated", answerable_prior=0.99)
    assert assess(context, certain, EMPTY).should_answer
