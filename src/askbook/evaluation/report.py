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
figcaption{font-size:.85rem;color:#555}svg text{font-size:10px;fill:#555}"""


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
    rows = [
        (o.confidence, bool(q.answerable), o.top_score)
        for q, o in zip(questions, outcomes, strict=True)
        if q.answerable is not None
    ]
    labels = [label for _, label, _ in rows]
    if len(set(labels)) < 2:
        return ""
    scores, cosines = [score for score, _, _ in rows], [cosine for _, _, cosine in rows]
    bins = [(b.confidence, b.answerable) for b in reliability(scores, labels, prior)]
    fixed = risk_coverage(cosines, labels, prior)
    return _figure(
        "Reliability: stated probability against the share that is answerable",
        [("#bbb", [(0.0, 0.0), (1.0, 1.0)]), ("#0a58ca", bins)],
    ) + _figure(
        "Risk over coverage: confidence (blue) and the best cosine (orange); lower is better",
        [("#fd7e14", fixed), ("#0a58ca", risk_coverage(scores, labels, prior))],
    )


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
