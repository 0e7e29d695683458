"""Shows an evaluation: a table for the terminal, and an HTML page with reliability and risk–coverage plots."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from askbook.evaluation.asking import Outcome
from askbook.evaluation.datasets import Question
from askbook.evaluation.metrics import reliability, risk_coverage
from askbook.evaluation.run import Evaluated

SIDE = 260
MARGIN = 34
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .75rem;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}figure{display:inline-block;margin:0 1rem 1rem 0}
.policy{display:inline-block;width:48%;min-width:19rem;vertical-align:top}
figcaption{font-size:.85rem;color:#555;max-width:19rem}svg text{font-size:10px;fill:#555}"""


def as_lines(evaluated: Evaluated) -> list[str]:
    """The numbers of every configuration, one line each, as `section metric value [interval]`."""
    lines: list[str] = []
    for name, summary in evaluated.summaries.items():
        lines.append(f"{evaluated.dataset} · {name}")
        for section, metric, value, interval in _rows(summary):
            lines.append(
                f"  {section:12} {metric:22} {_shown(value):>8} {_range(interval)}".rstrip()
            )
        for group, part in summary.get("by", {}).items():
            for section, metric, value, _ in _rows(part):
                lines.append(f"    {group:24} {section}.{metric:22} {_shown(value):>8}")
        for turns, numbers in summary.get("multi_turn", {}).items():
            for metric, value in numbers.items():
                lines.append(f"    {turns:24} retrieval.{metric:22} {_shown(value):>8}")
    lines.extend(_comparison(evaluated))
    return lines


def as_html(evaluated: Evaluated, prior: float) -> str:
    """One self-contained page."""
    parts = [f"<h1>{escape(evaluated.dataset)}</h1>"]
    for name, summary in evaluated.summaries.items():
        parts.append(f"<h2>{escape(name)}</h2>{_table(summary)}")
        parts.append(_plots(evaluated.questions, evaluated.outcomes[name], prior))
    differences = _comparison(evaluated)
    if differences:
        parts.append(f"<h2>Comparison</h2><pre>{escape(chr(10).join(differences))}</pre>")
    title = f"Evaluation: {escape(evaluated.dataset)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _rows(summary: Mapping[str, Any]) -> list[tuple[str, str, Any, Any]]:
    rows: list[tuple[str, str, Any, Any]] = []
    for section in ("retrieval", "refusal", "answers", "latency_ms"):
        for metric, value in summary.get(section, {}).items():
            interval = summary.get("intervals", {}).get(section, {}).get(metric)
            rows.append((section, metric, value, interval))
    return rows


def _comparison(evaluated: Evaluated) -> list[str]:
    if not evaluated.differences:
        return []
    first, second = list(evaluated.summaries)[:2]
    return [
        f"{second} against {first}: {metric} {each.difference:+.3f} "
        f"[{each.interval[0]:+.3f}, {each.interval[1]:+.3f}] → {each.verdict} (n = {each.n})"
        for metric, each in evaluated.differences.items()
    ]


def _table(summary: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(section)}</td><td>{escape(metric)}</td><td>{_shown(value)}</td>"
        f"<td>{_range(interval)}</td></tr>"
        for section, metric, value, interval in _rows(summary)
    )
    return f"<table><tr><th>Part</th><th>Metric</th><th>Value</th><th>95 %</th></tr>{rows}</table>"


def _plots(questions: Sequence[Question], outcomes: Sequence[Outcome], prior: float) -> str:
    """The configured policy and the fixed thresholds, side by side on the same retrievals."""
    rows = [
        (bool(q.answerable), o)
        for q, o in zip(questions, outcomes, strict=True)
        if q.answerable is not None
    ]
    labels = [label for label, _ in rows]
    if len(set(labels)) < 2:
        return ""
    policies = {
        "Our confidence": ("#0a58ca", [(o.confidence, o.answered) for _, o in rows]),
        "Fixed thresholds": (
            "#fd7e14",
            [(o.threshold_confidence, o.threshold_answered) for _, o in rows],
        ),
    }
    return "".join(
        _column(title, colour, decisions, labels, prior)
        for title, (colour, decisions) in policies.items()
    )


def _column(
    title: str,
    colour: str,
    decisions: Sequence[tuple[float, bool]],
    labels: Sequence[bool],
    prior: float,
) -> str:
    scores = [score for score, _ in decisions]
    bins = [(b.confidence, b.answerable) for b in reliability(scores, labels, prior)]
    refused = _share(
        [not answered for (_, answered), label in zip(decisions, labels, strict=True) if label]
    )
    answered = _share(
        [answered for (_, answered), label in zip(decisions, labels, strict=True) if not label]
    )
    return (
        f'<section class="policy"><h3>{escape(title)}</h3>'
        f"<p>{refused:.0%} of the answerable questions refused, {answered:.0%} of the others answered.</p>"
        + _figure(
            "Reliability: stated confidence against the share that is answerable",
            [("#bbb", [(0.0, 0.0), (1.0, 1.0)]), (colour, bins)],
        )
        + _figure(
            "Risk over coverage: the share of wrong answers when the surest are answered; lower is better",
            [(colour, risk_coverage(scores, labels, prior))],
        )
        + "</section>"
    )


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _figure(caption: str, curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    lines = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_points(points)}"/>'
        for colour, points in curves
    )
    edge = MARGIN + SIDE
    axes = (
        f'<path d="M{MARGIN} 8V{8 + SIDE}H{edge}" fill="none" stroke="#888"/>'
        f'<text x="{MARGIN - 8}" y="{8 + SIDE}" text-anchor="end">0</text>'
        f'<text x="{MARGIN - 8}" y="16" text-anchor="end">1</text>'
        f'<text x="{edge}" y="{22 + SIDE}" text-anchor="end">1</text>'
    )
    size = SIDE + MARGIN + 8
    return (
        f'<figure><svg width="{size}" height="{size}" role="img" aria-label="{escape(caption)}">'
        f"{axes}{lines}</svg><figcaption>{escape(caption)}</figcaption></figure>"
    )


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{MARGIN + x * SIDE:.1f},{8 + (1 - y) * SIDE:.1f}" for x, y in points)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _range(interval: Any) -> str:
    return f"[{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
