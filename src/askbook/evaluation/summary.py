"""Turns outcomes into the numbers of a report: means, intervals and breakdowns. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from askbook.evaluation.answers import AnswerOutcome
from askbook.evaluation.asking import Outcome
from askbook.evaluation.datasets import Question
from askbook.evaluation.intervals import mean_interval, statistic_interval
from askbook.evaluation.metrics import (
    area_under_risk,
    auroc,
    ece,
    hit,
    ndcg,
    page_hit,
    percentile,
    recall,
    reciprocal_rank,
    risk_coverage,
    span_overlap,
)

Pairs: TypeAlias = Sequence[tuple[Question, Outcome]]
Numbers: TypeAlias = dict[str, Any]

LOWER_IS_BETTER = frozenset(
    ("refused_answerable", "refused_found", "answered_unanswerable", "ece", "aurc", "p50", "p95")
)
FLOOR_METRICS = ("token_f1", "citation_precision", "citation_recall")
RISK_ROUNDS = 200
"""Draws for statistics that are not plain means: each costs a sort."""


def summarise(pairs: Pairs, sections: Sequence[str], prior: float) -> Numbers:
    """All numbers of one configuration, with rows that name a group also reported apart."""
    summary = _sections(pairs, sections, prior)
    summary["intervals"] = _intervals(pairs, sections, prior)
    groups = sorted({group for question, _ in pairs for group in question.groups})
    if groups:
        summary["by"] = {
            group: _sections([p for p in pairs if group in p[0].groups], sections, prior)
            for group in groups
        }
    followed = [p for p in pairs if p[0].history]
    if followed and "retrieval" in sections:
        first = [p for p in pairs if not p[0].history]
        summary["multi_turn"] = {
            "with_history": retrieval_numbers(followed),
            "last_turn_only": retrieval_numbers(_alone(followed)),
            "first_turns": retrieval_numbers(first),
        }
    summary["latency_ms"] = latency_numbers(pairs)
    return summary


def retrieval_values(pairs: Pairs) -> dict[str, list[float]]:
    """Every retrieval metric per question with gold, in order: what means and comparisons are made of."""
    values: dict[str, list[float]] = {"ndcg@10": [], "recall@5": [], "hit@5": [], "mrr@10": []}
    spans: list[tuple[float, float]] = []
    pages: list[float] = []
    for question, outcome in pairs:
        if not question.grades:
            continue
        ranked, grades = outcome.ranked, question.grades
        values["ndcg@10"].append(ndcg(ranked, grades, 10))
        values["recall@5"].append(recall(ranked, grades, 5))
        values["hit@5"].append(hit(ranked, grades, 5))
        values["mrr@10"].append(reciprocal_rank(ranked, grades, 10))
        if question.spans:
            gold = [(span.doc_id, span.start, span.end) for span in question.spans]
            spans.append(span_overlap(outcome.spans, gold))
        if question.pages:
            wanted = [(page.doc_id, page.page) for page in question.pages]
            pages.append(page_hit(outcome.pages, wanted, 5))
    if pages:
        values["page_hit@5"] = pages
    if spans:
        values["span_recall"] = [found for found, _ in spans]
        values["span_iou"] = [overlap for _, overlap in spans]
    return values


def retrieval_numbers(pairs: Pairs) -> Numbers:
    values = retrieval_values(pairs)
    return {**{name: _mean(each) for name, each in values.items()}, "n": len(values["ndcg@10"])}


def refusal_numbers(pairs: Pairs, prior: float) -> Numbers:
    """Decisions on rows that say whether they are answerable."""
    rows = [(q, o) for q, o in pairs if q.answerable is not None]
    scores, labels = [o.confidence for _, o in rows], [bool(q.answerable) for q, _ in rows]
    answerable = [o for q, o in rows if q.answerable]
    foreign = [o for q, o in rows if not q.answerable]
    found = [o for q, o in rows if q.answerable and q.grades and hit(o.ranked, q.grades, 5)]
    points = risk_coverage(scores, labels, prior) if len(set(labels)) == 2 else []
    return {
        "auroc": auroc(scores, labels),
        "accuracy": _mean([float(o.answered == bool(q.answerable)) for q, o in rows]),
        "refused_answerable": _mean([float(not o.answered) for o in answerable]),
        "answered_unanswerable": _mean([float(o.answered) for o in foreign]),
        "ece": ece(scores, labels, prior),
        "refused_found": _mean([float(not o.answered) for o in found]),
        "aurc": area_under_risk(points) if points else None,
        "n": len(rows),
        "n_answerable": len(answerable),
    }


def answer_numbers(pairs: Pairs) -> Numbers:
    """Over answerable rows; a refused one has found no words and cited no document.

    The floor is the first sentences of the first chunk, declined where we decline.
    """
    answers = [o.answer for q, o in pairs if o.answer is not None and q.answerable is not False]
    floors = [answer.floor for answer in answers if answer.floor is not None]
    floor = _answer_means(floors)
    return _answer_means(answers) | {f"floor_{name}": floor[name] for name in FLOOR_METRICS}


def _answer_means(answers: Sequence[AnswerOutcome]) -> Numbers:
    written = sum(a.sentences for a in answers)
    return {
        "token_f1": _mean([a.token_f1 for a in answers if a.token_f1 is not None]),
        "citation_precision": _mean(
            [a.citation_precision for a in answers if a.citation_precision is not None]
        ),
        "citation_recall": _mean(
            [a.citation_recall for a in answers if a.citation_recall is not None]
        ),
        "supported_sentences": sum(a.supported for a in answers) / written if written else None,
        "answered": _mean([float(a.answered) for a in answers]),
        "n": len(answers),
    }


def latency_numbers(pairs: Pairs) -> Numbers:
    times = [o.latency_ms for _, o in pairs if o.latency_ms is not None]
    return {"p50": percentile(times, 50), "p95": percentile(times, 95)}


def shortfalls(summary: Mapping[str, Any], limits: Mapping[str, float]) -> list[str]:
    """The limits a summary does not keep; for errors and times the limit is the most that is allowed."""
    short: list[str] = []
    for name, limit in limits.items():
        section, _, metric = name.rpartition(".")
        places = [section] if section else ["retrieval", "refusal", "answers", "latency_ms"]
        value = next((summary[p][metric] for p in places if metric in summary.get(p, {})), None)
        if value is None:
            short.append(f"{name} was not measured")
        elif metric in LOWER_IS_BETTER and value > limit:
            short.append(f"{name} is {value:.3f}, above {limit:g}")
        elif metric not in LOWER_IS_BETTER and value < limit:
            short.append(f"{name} is {value:.3f}, under {limit:g}")
    return short


def _alone(pairs: Pairs) -> Pairs:
    """The same questions as they were found without what was said before them."""
    return [
        (question, replace(outcome, ranked=outcome.last_turn_only, spans=[]))
        for question, outcome in pairs
        if outcome.last_turn_only is not None
    ]


def _sections(pairs: Pairs, sections: Sequence[str], prior: float) -> Numbers:
    makers: dict[str, Callable[[], Numbers]] = {
        "retrieval": lambda: retrieval_numbers(pairs),
        "refusal": lambda: refusal_numbers(pairs, prior),
        "answers": lambda: answer_numbers(pairs),
    }
    return {name: makers[name]() for name in sections}


def _intervals(pairs: Pairs, sections: Sequence[str], prior: float) -> Numbers:
    intervals: Numbers = {}
    if "retrieval" in sections:
        intervals["retrieval"] = {
            name: mean_interval(values) for name, values in retrieval_values(pairs).items()
        }
    rows = [(q, o) for q, o in pairs if q.answerable is not None]
    if "refusal" in sections and len({q.answerable for q, _ in rows}) == 2:

        def drawn(
            statistic: Callable[[list[float], list[bool]], float | None],
        ) -> Callable[[Sequence[int]], float | None]:
            return lambda numbers: statistic(
                [rows[i][1].confidence for i in numbers],
                [bool(rows[i][0].answerable) for i in numbers],
            )

        intervals["refusal"] = {
            "auroc": statistic_interval(drawn(auroc), len(rows), RISK_ROUNDS),
            "ece": statistic_interval(
                drawn(lambda scores, labels: ece(scores, labels, prior)), len(rows), RISK_ROUNDS
            ),
        }
    if "answers" in sections:
        f1 = [o.answer.token_f1 for _, o in pairs if o.answer and o.answer.token_f1 is not None]
        intervals["answers"] = {"token_f1": mean_interval(f1)}
    return intervals


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
