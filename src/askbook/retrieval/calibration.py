"""Turns one retrieval into the probability that it answers the question: a few features, one logistic.

Raw cosines mean something else for every embedder, so a calibration that reads them is bound to the
fingerprint of the embedder it was fitted with. For embedders it does not know the shipped file holds
one that reads where a cosine lies between a book's anchors, and one that reads no cosine at all.
"""

import json
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from askbook.retrieval.anchors import Anchors
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.definitions import introduces, names_asked_for
from askbook.retrieval.query import SearchResult
from askbook.retrieval.terms import content_terms, held

SHIPPED = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True, slots=True)
class Calibration:
    """A fitted logistic over named features, for a stated share of answerable questions."""

    fingerprint: str | None
    features: tuple[str, ...]
    weights: tuple[float, ...]
    intercept: float
    prior: float

    def probability(self, values: dict[str, float], prior: float) -> float:
        """The probability of an answer, moved from the fitted share to the expected one."""
        logit = self.intercept + sum(
            weight * values[name] for name, weight in zip(self.features, self.weights, strict=True)
        )
        shift = _logit(prior) - _logit(self.prior)
        return 1.0 / (1.0 + math.exp(-max(-40.0, min(40.0, logit + shift))))


def rated(context: RetrievalContext, fingerprint: str) -> tuple[SearchResult, ...]:
    """The results with their relevance: the probability of an answer if each were all that was found."""
    judgements = context.judgements or (None,) * len(context.results)
    ratings: list[SearchResult] = []
    for result, judgement in zip(context.results, judgements, strict=True):
        alone = replace(
            context,
            results=(result,),
            judgements=(judgement,),
            background=(result.score, *context.background[1:]),
        )
        calibration = calibration_for(alone, fingerprint)
        values = features_of(alone, calibration.features)
        relevance = calibration.probability(values, calibration.prior)
        ratings.append(replace(result, relevance=relevance))
    return tuple(ratings)


def features_of(
    context: RetrievalContext, names: Collection[str] | None = None
) -> dict[str, float]:
    """What is known of one retrieval, as numbers: all of it, or these features."""
    return {name: _FEATURES[name](context) for name in (_FEATURES if names is None else names)}


def _best(context: RetrievalContext) -> float:
    return next(iter(context.background or context.scores), 0.0)


def _place(context: RetrievalContext) -> float:
    return context.anchors.place(_best(context)) if context.anchors else 0.0


def _relevance(context: RetrievalContext) -> float:
    return max((j.relevance for j in context.judgements if j is not None), default=-5.0)


def _answerability(context: RetrievalContext) -> float:
    return max((j.answerability for j in context.judgements if j is not None), default=-10.0)


def _standing(context: RetrievalContext) -> float:
    """How far the best chunk stands out of the others, in their own spread: no embedder's scale matters."""
    scores = context.background or context.scores
    if len(scores) < 3:
        return 0.0
    mean = sum(scores) / len(scores)
    spread = math.sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    return (scores[0] - mean) / spread if spread > 0 else 0.0


def _best_coverage(context: RetrievalContext) -> float:
    """The share of the question's terms that one result holds alone."""
    wanted = content_terms(context.asked)
    if not wanted:
        return 0.5
    most = max((len(held(wanted, r.chunk.embedded_text)) for r in context.results), default=0)
    return most / len(wanted)


def _agreement(context: RetrievalContext) -> float:
    return context.agreement


def _introduced(context: RetrievalContext) -> float:
    """Whether the question asks what something is, and a result is where the book says it; of a comparison, both."""
    asked = names_asked_for(context.asked, [r.chunk.embedded_text for r in context.results])
    introduced = (
        any(introduces(result.text, result.section, names) for result in context.results)
        for names in asked
    )
    return float(bool(asked) and all(introduced))


_FEATURES: dict[str, Callable[[RetrievalContext], float]] = {
    "best": _best,
    "place": _place,
    "standing": _standing,
    "relevance": _relevance,
    "answerability": _answerability,
    "best_coverage": _best_coverage,
    "agreement": _agreement,
    "introduced": _introduced,
}


@cache
def shipped_calibrations() -> tuple[Calibration, ...]:
    """The calibrations that come with the package, the more specific ones first."""
    return tuple(
        Calibration(
            fingerprint=entry["fingerprint"],
            features=tuple(entry["features"]),
            weights=tuple(entry["weights"]),
            intercept=entry["intercept"],
            prior=entry["prior"],
        )
        for entry in json.loads(SHIPPED.read_text(encoding="utf-8"))["calibrations"]
    )


def calibration_for(context: RetrievalContext, fingerprint: str) -> Calibration:
    """The calibration that reads what this retrieval has."""
    return choose_calibration(fingerprint, judged=context.was_judged, anchors=context.anchors)


def choose_calibration(
    fingerprint: str, *, judged: bool, anchors: Anchors | None = None
) -> Calibration:
    """The shipped calibration for this embedder; else, with a book's anchors, the one that reads them; else
    the one that fits any."""
    is_clear = anchors is not None and anchors.are_clear(judged=judged)
    for calibration in shipped_calibrations():
        reads_judge = "answerability" in calibration.features
        readable = is_clear or "place" not in calibration.features
        if calibration.fingerprint in (fingerprint, None) and reads_judge == judged and readable:
            return calibration
    raise LookupError("The shipped calibrations cover every case.")


def is_shipped_for(fingerprint: str) -> bool:
    """Whether a calibration was fitted with this very embedder."""
    return any(each.fingerprint == fingerprint for each in shipped_calibrations())


def describe_calibration(
    fingerprint: str,
    anchors: Anchors | None,
    made_at: datetime | None,
    *,
    judged: bool,
    is_old: bool = False,
) -> str:
    """Which calibration a book is judged by, in words; `made_at` is when its anchors were measured, and
    `is_old` that the book changed since."""
    if is_shipped_for(fingerprint):
        return "shipped for this embedder"
    if anchors is None:
        return "shipped for any embedder: run `askbook calibrate`"
    if anchors.are_clear(judged=judged):
        old = "; it changed since: run `askbook calibrate` again" if is_old else ""
        return f"calibrated for this book on {made_at:%Y-%m-%d}{old}"
    return f"shipped for any embedder: cosines tell less than the judge here ({made_at:%Y-%m-%d})"


def _logit(p: float) -> float:
    return math.log(p / (1.0 - p))
