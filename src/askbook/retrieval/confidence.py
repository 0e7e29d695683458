"""Decides whether the retrieved chunks are enough to answer, and says why in a reader's words. Pure."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from askbook.config import ConfidenceSettings
from askbook.retrieval.calibration import Calibration, features_of
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.naming import lacks_a_maker, unheard_names
from askbook.retrieval.terms import content_terms, term_set

UNHEARD = 4.0
"""How much less likely an answer is, as odds, where no passage has a name that is asked for: so it is with 1.8 % of the
answerable questions with names in the development sets, 5.6 % of the near misses and 68 % of the foreign ones."""
ConfidenceLevel: TypeAlias = Literal["high", "medium", "low", "insufficient"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceMetrics:
    """How far to trust one retrieval."""

    average_similarity: float
    min_similarity: float
    max_similarity: float
    num_chunks: int
    chunk_diversity: float
    confidence: float
    confidence_level: ConfidenceLevel
    should_answer: bool
    policy: Literal["calibrated", "threshold"]
    reason: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def assess(
    context: RetrievalContext, settings: ConfidenceSettings, calibration: Calibration
) -> ConfidenceMetrics:
    """The metrics of a retrieval under the configured policy."""
    if settings.policy == "threshold":
        return _by_threshold(context, settings)
    return _by_calibration(context, settings, calibration)


def _by_calibration(
    context: RetrievalContext, settings: ConfidenceSettings, calibration: Calibration
) -> ConfidenceMetrics:
    probability = (
        _with_names(
            context,
            calibration.probability(
                features_of(context, calibration.features), settings.answerable_prior
            ),
        )
        if context.results
        else 0.0
    )
    level: ConfidenceLevel = "insufficient"
    if context.results and probability >= settings.high:
        level = "high"
    elif context.results and probability >= settings.medium:
        level = "medium"
    elif context.results and probability >= settings.low:
        level = "low"
    return _metrics(context, context.scores, probability, level, settings)


def _with_names(context: RetrievalContext, probability: float) -> float:
    """What is left of a probability where the passages lack a name that is asked for."""
    passages = [result.chunk.embedded_text for result in context.results]
    if not (unheard_names(context.asked, passages) or lacks_a_maker(context.asked, passages)):
        return probability
    return probability / (probability + UNHEARD * (1.0 - probability))


def _by_threshold(context: RetrievalContext, settings: ConfidenceSettings) -> ConfidenceMetrics:
    """The documents' fixed numbers on raw cosine, for those who rely on them."""
    scores = tuple(s for s in context.scores if s >= settings.similarity_threshold)
    average, count = _mean(scores), len(scores)
    level: ConfidenceLevel = "insufficient"
    if average >= settings.high and count >= min(5, context.top_k):
        level = "high"
    elif average >= settings.medium and count >= 3:
        level = "medium"
    elif average >= settings.low and count >= 2:
        level = "low"
    return _metrics(context, scores, average, level, settings)


def _metrics(
    context: RetrievalContext,
    scores: tuple[float, ...],
    confidence: float,
    level: ConfidenceLevel,
    settings: ConfidenceSettings,
) -> ConfidenceMetrics:
    return ConfidenceMetrics(
        average_similarity=_mean(scores),
        min_similarity=min(scores, default=0.0),
        max_similarity=max(scores, default=0.0),
        num_chunks=len(scores),
        chunk_diversity=context.diversity if len(scores) > 1 else 0.0,
        confidence=confidence,
        confidence_level=level,
        should_answer=level in ("high", "medium") or (level == "low" and not settings.strict),
        policy=settings.policy,
        reason=_reason(context, level),
    )


def _mean(scores: tuple[float, ...]) -> float:
    """Summation can leave the mean a rounding error outside its own bounds; it is kept inside."""
    if not scores:
        return 0.0
    return min(max(scores), max(min(scores), sum(scores) / len(scores)))


def _reason(context: RetrievalContext, level: ConfidenceLevel) -> str:
    if not context.results:
        return "Nothing in this part of the book matches the question."
    best = context.results[0]
    place = f"“{best.page_title}”"
    # Of a chunk with several sections it is not known here which of them answers.
    if best.section != best.page_title and not best.chunk.sections:
        place = f"“{best.page_title} › {best.section}”"
    if level == "high":
        return f"{place} answers this closely."
    if level == "medium":
        return f"{place} very likely answers this."
    if level == "low":
        return f"{place} is close, but may answer only part of the question."
    missing = _missing(context)
    if missing:
        return f"The nearest passage, {place}, says nothing about {missing}."
    return f"The nearest passage, {place}, does not seem to answer this."


def _missing(context: RetrievalContext) -> str:
    """The question's own words that no retrieved passage contains."""
    present = {term for result in context.results for term in term_set(result.text)}
    words = [w.strip(".,?!;:()\"'`") for w in context.asked.split()]
    absent = [w for w in words if (terms := content_terms(w)) and not present & set(terms)]
    return ", ".join(f"“{word}”" for word in dict.fromkeys(absent[:3]))
