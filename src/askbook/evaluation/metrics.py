"""The formulas: rankings, refusals, answers. Pure; checked in the tests against ir-measures and scikit-learn."""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Span: TypeAlias = tuple[str, int, int]
"""A document, and from which to which character or page."""

BINS = 10
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


# Rankings --------------------------------------------------------------------------------


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Graded gain over the best possible gain, with linear gains as trec_eval has them."""
    gain = sum(grades.get(doc, 0) / math.log2(i + 2) for i, doc in enumerate(ranked[:k]))
    best = sorted(grades.values(), reverse=True)[:k]
    ideal = sum(grade / math.log2(i + 2) for i, grade in enumerate(best))
    return gain / ideal if ideal else 0.0


def recall(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """The share of the relevant documents among the first k."""
    relevant = {doc for doc, grade in grades.items() if grade > 0}
    return len(relevant & set(ranked[:k])) / len(relevant) if relevant else 0.0


def hit(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 when at least one relevant document is among the first k."""
    return float(any(grades.get(doc, 0) > 0 for doc in ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """1 over the rank of the first relevant document, 0 when it is not among the first k."""
    for rank, doc in enumerate(ranked[:k], 1):
        if grades.get(doc, 0) > 0:
            return 1 / rank
    return 0.0


def span_overlap(found: Sequence[Span], gold: Sequence[Span]) -> tuple[float, float]:
    """The share of the gold characters that was found, and intersection over union."""
    found_length, gold_length = _length(found), _length(gold)
    common = sum(
        max(0, min(end, gold_end) - max(start, gold_start))
        for doc, start, end in _merged(found)
        for gold_doc, gold_start, gold_end in _merged(gold)
        if doc == gold_doc
    )
    union = found_length + gold_length - common
    return (common / gold_length if gold_length else 0.0, common / union if union else 0.0)


def page_hit(found: Sequence[Span], gold: Sequence[tuple[str, int]], k: int) -> float:
    """1 when one of the first k passages touches a gold page or one beside it.

    Whoever marks pages by hand is often one off: an answer begins at the foot of the page before.
    """
    return float(
        any(
            doc == gold_doc and first - 1 <= page <= last + 1
            for doc, first, last in found[:k]
            for gold_doc, page in gold
        )
    )


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for _, start, end in _merged(spans))


def _merged(spans: Sequence[Span]) -> list[Span]:
    """The same characters, each once."""
    merged: list[Span] = []
    for doc, start, end in sorted(spans):
        if merged and merged[-1][0] == doc and start <= merged[-1][2]:
            merged[-1] = (doc, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((doc, start, end))
    return merged


# Refusals --------------------------------------------------------------------------------


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """The chance that an answerable question scores above an unanswerable one; ties count half."""
    values, answerable = np.asarray(scores, np.float64), np.asarray(labels, bool)
    positives, negatives = int(answerable.sum()), int((~answerable).sum())
    if not positives or not negatives:
        return None
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    rank_sum = float(ranks[answerable].sum())
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


def prior_weights(labels: Sequence[bool], prior: float) -> Floats:
    """Row weights, summing to 1, that make the share of answerable rows equal to the prior."""
    answerable = np.asarray(labels, bool)
    positives, negatives = int(answerable.sum()), int((~answerable).sum())
    if not positives or not negatives:
        return np.full(len(answerable), 1 / max(1, len(answerable)))
    return np.where(answerable, prior / positives, (1 - prior) / negatives)


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions of like confidence: how sure we were and how often rightly."""

    weight: float
    confidence: float
    answerable: float


def reliability(scores: Sequence[float], labels: Sequence[bool], prior: float) -> list[Bin]:
    """Ten bins of equal width, rows weighted to the prior; empty bins are left out."""
    values, truth = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    weights = prior_weights(labels, prior)
    index = np.minimum((values * BINS).astype(int), BINS - 1)
    bins: list[Bin] = []
    for number in range(BINS):
        inside = index == number
        weight = float(weights[inside].sum())
        if weight > 0:
            bins.append(
                Bin(
                    weight,
                    float((weights * values)[inside].sum()) / weight,
                    float((weights * truth)[inside].sum()) / weight,
                )
            )
    return bins


def ece(scores: Sequence[float], labels: Sequence[bool], prior: float) -> float | None:
    """Expected calibration error under the prior; undefined without both kinds of question."""
    if len(set(labels)) < 2:
        return None
    return sum(
        b.weight * abs(b.confidence - b.answerable) for b in reliability(scores, labels, prior)
    )


def risk_coverage(
    scores: Sequence[float], labels: Sequence[bool], prior: float
) -> list[tuple[float, float]]:
    """Coverage and risk when only the most confident share is answered: (share answered, share wrong)."""
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    weights = prior_weights(labels, prior)[order]
    wrong = weights * (1 - np.asarray(labels, np.float64)[order])
    coverage = np.cumsum(weights)
    risk = np.cumsum(wrong) / coverage
    return [(float(c), float(r)) for c, r in zip(coverage, risk, strict=True)]


def area_under_risk(points: Sequence[tuple[float, float]]) -> float:
    """The mean risk over all coverages."""
    before = area = 0.0
    for coverage, risk in points:
        area += (coverage - before) * risk
        before = coverage
    return area / before if before else 0.0


# Answers ---------------------------------------------------------------------------------


def token_f1(answer: str, golds: Sequence[str]) -> float:
    """Word overlap with the nearest gold answer, normalised as SQuAD does."""
    return max((_f1(_normalised(answer), _normalised(gold)) for gold in golds), default=0.0)


def _normalised(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _f1(answer: Sequence[str], gold: Sequence[str]) -> float:
    common = sum((Counter(answer) & Counter(gold)).values())
    if not common:
        return float(answer == gold)
    precision, recalled = common / len(answer), common / len(gold)
    return 2 * precision * recalled / (precision + recalled)


def percentile(values: Sequence[float], share: float) -> float | None:
    return float(np.percentile(np.asarray(values), share)) if values else None
