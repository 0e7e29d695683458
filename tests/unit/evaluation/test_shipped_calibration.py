"""The calibrations that come with the package: complete, sane, and bound to the embedder they were fitted with."""

from typing import Any

import pytest

from askbook.retrieval.calibration import choose_calibration, features_of, shipped_calibrations
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judgement

COSINE = {"best"}
JUDGED = {"relevance", "answerability"}
FITTED = str(shipped_calibrations()[0].fingerprint)


def retrieval(background: tuple[float, ...], judged: float | None = None) -> RetrievalContext:
    judgement = None if judged is None else Judgement(judged, judged, 0, 1, judged)
    return RetrievalContext(
        query="what is a node",
        results=(),
        query_time_ms=1.0,
        judgements=(judgement,) if judgement else (),
        background=background,
    )


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("fingerprint", [FITTED, "another/384/1"])
def test_every_embedder_has_a_calibration_with_and_without_judge(
    fingerprint: str, judged: bool
) -> None:
    chosen = choose_calibration(fingerprint, judged=judged)
    assert bool(JUDGED & set(chosen.features)) == judged
    assert chosen.fingerprint in (fingerprint, None)
    assert set(chosen.features) <= set(features_of(retrieval((0.9, 0.5, 0.4))))


def test_no_calibration_for_unknown_embedders_reads_a_cosine() -> None:
    for chosen in shipped_calibrations():
        if chosen.fingerprint is None:
            assert not COSINE & set(chosen.features)


def test_the_scale_of_an_embedder_does_not_matter_to_an_unknown_ones_calibration() -> None:
    wide = tuple(0.9 - 0.01 * i for i in range(50))
    narrow = tuple(0.5 + score / 10 for score in wide)
    chosen = choose_calibration("another/384/1", judged=True)
    first, second = (
        chosen.probability(features_of(retrieval(scores, judged=1.0)), 0.85)
        for scores in (wide, narrow)
    )
    assert first == pytest.approx(second)


@pytest.mark.parametrize("scores", [(), (0.5,), (0.5, 0.5, 0.5)])
def test_features_of_little_or_nothing_are_finite(scores: tuple[float, ...]) -> None:
    values: dict[str, Any] = features_of(retrieval(scores))
    assert all(abs(value) < 100 for value in values.values())


def test_a_judge_that_likes_a_passage_raises_the_probability() -> None:
    scores = tuple(0.8 - 0.005 * i for i in range(50))
    chosen = choose_calibration(FITTED, judged=True)
    low, high = (
        chosen.probability(features_of(retrieval(scores, judged=value)), 0.85)
        for value in (-6.0, 4.0)
    )
    assert low < high


def test_a_higher_prior_raises_the_probability() -> None:
    chosen, values = (
        choose_calibration(FITTED, judged=True),
        features_of(retrieval((0.7, 0.6, 0.5), 0.0)),
    )
    assert (
        chosen.probability(values, 0.5)
        < chosen.probability(values, 0.85)
        < chosen.probability(values, 0.95)
    )
