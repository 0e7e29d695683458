"""Changes the embedder and nothing else: how much do refusals of foreign questions move, calibrated and by fixed cosines?

Balanced refusal accuracy is the mean of two shares: answerable questions that are answered, and foreign ones that are
declined. "Left out" means fitted without any row of the folders it is scored on; the shipped ones saw them, with the
built-in embedder.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from askbook.bootstrap.logs import configure_logs
from askbook.config import ConfidenceSettings, Settings, load_settings
from askbook.evaluation.corpus import cache_beside
from askbook.retrieval.anchors import Anchors
from askbook.retrieval.calibration import Calibration, choose_calibration
from askbook.retrieval.confidence import assess
from askbook.retrieval.context import RetrievalContext
from collecting import Row, anchored, anchors_of, collect
from fit_calibration import LIMITS, labelled
from fitting import FEATURES, Fitting
from folders import DATA, REPOSITORY, RefusalSet, refusal_sets
from hashing_server import MODELS, hashing_embedder

BOOKS = ("robotics_docusaurus", "rust_book", "robotics_course", "hf_deep_rl_mdx")
BUILTIN = "built-in"
RESCALED = "built-in, other scale"
"""The same vectors with a constant added: cosines become (1 + cosine) / 2, the order stays. It is computed, not served."""
UNKNOWN = "an embedder that nothing is shipped for"

Decision = Callable[[Row], bool]
"""Whether a row would be answered."""


def main() -> None:
    options = _options()
    configure_logs()
    settings = load_settings(data_dir=options.data_dir)
    sets = list(refusal_sets(options.data))
    chosen = [each for each in sets if each.name.removeprefix("off_topic × ") in options.books]
    rows = {BUILTIN: asyncio.run(_rows(settings, chosen, "calibration"))}
    for model in options.models:
        with hashing_embedder(settings, model) as other:
            rows[model] = asyncio.run(_rows(other, chosen, f"calibration-{model}"))
    rows[RESCALED] = [_rescaled(row) for row in rows[BUILTIN]]
    builtin = asyncio.run(_rows(settings, sets, "calibration"))
    for judged in (True, False):
        _print_table(rows, builtin, settings.confidence, judged)


async def _rows(settings: Settings, sets: Sequence[RefusalSet], folder: str) -> list[Row]:
    kept = cache_beside(settings.storage.data_dir) / folder
    rows: list[Row] = []
    for each in sets:
        print(f"{settings.embedder.embedder}: {each.name} …", file=sys.stderr, flush=True)
        anchors = await anchors_of(settings, each)
        note = f"{anchors.distance:.1f} spreads between foreign and own questions"
        print(f"  {note}", file=sys.stderr, flush=True)
        found = collect(settings, each, LIMITS[each.kind], kept)
        rows += [anchored(row, anchors) async for row in found]
    return rows


def _print_table(
    rows: dict[str, list[Row]],
    builtin: Sequence[Row],
    confidence: ConfidenceSettings,
    judged: bool,
) -> None:
    names = list(rows)
    print(f"\n## {'With' if judged else 'Without'} judge: balanced refusal accuracy\n")
    print(f"| policy | {' | '.join(names)} | moves by |")
    print("|---|" + "---|" * (len(names) + 1))
    cut = _best_cut(rows[BUILTIN], judged)
    policies: dict[str, Callable[[str], Decision]] = {
        "calibrated, shipped": lambda name: _shipped(name, confidence, judged),
        "calibrated, left out": lambda name: _left_out(name, builtin, confidence, judged),
        "no `askbook calibrate`": lambda _: _free(confidence, judged),
        "threshold 0.7 / 0.75 / 0.85": lambda _: _threshold(confidence, judged),
        f"best cosine ≥ {cut:.2f}, the best cut for {BUILTIN}": lambda _: _cosine(cut, judged),
    }
    for policy, decision in policies.items():
        figures = [_balanced(rows[name], decision(name)) for name in names]
        moves = 100 * max(abs(f[0] - figures[0][0]) for f in figures)
        cells = " | ".join(f"{100 * b:.1f} ({100 * a:.0f} / {100 * d:.0f})" for b, a, d in figures)
        print(f"| {policy} | {cells} | {moves:.1f} |")
    print("\nIn brackets: % of answerable answered / % of foreign declined.")


def _balanced(rows: Sequence[Row], answers: Decision) -> tuple[float, float, float]:
    answered = np.mean([answers(row) for row in rows if row.answerable])
    declined = np.mean([not answers(row) for row in rows if not row.answerable])
    return float(answered + declined) / 2, float(answered), float(declined)


def _shipped(name: str, confidence: ConfidenceSettings, judged: bool) -> Decision:
    fingerprint = _fingerprint(name)

    def answers(row: Row) -> bool:
        context = _context(row, judged)
        chosen = choose_calibration(fingerprint, judged=judged, anchors=context.anchors)
        return assess(context, confidence, chosen).should_answer

    return answers


def _left_out(
    name: str, rows: Sequence[Row], confidence: ConfidenceSettings, judged: bool
) -> Decision:
    """The same features as the shipped one reads, fitted with the built-in embedder on other folders."""
    kinds = ("built-in", "calibrated", "any")
    known = labelled(rows, judged)
    fittings = {kind: Fitting(known, FEATURES[kind, judged]) for kind in kinds}
    fits: dict[tuple[str, str], Calibration] = {}

    def answers(row: Row) -> bool:
        context = _context(row, judged)
        is_clear = context.anchors is not None and context.anchors.are_clear(judged=judged)
        kind = "built-in" if name == BUILTIN else "calibrated" if is_clear else "any"
        if (row.name, kind) not in fits:
            fits[row.name, kind] = fittings[kind].fit_without(row.name)
        return assess(context, confidence, fits[row.name, kind]).should_answer

    return answers


def _free(confidence: ConfidenceSettings, judged: bool) -> Decision:
    chosen = choose_calibration(UNKNOWN, judged=judged)
    return lambda row: assess(_context(row, judged), confidence, chosen).should_answer


def _threshold(confidence: ConfidenceSettings, judged: bool) -> Decision:
    fixed = confidence.model_copy(update={"policy": "threshold"})
    chosen = choose_calibration(UNKNOWN, judged=judged)
    return lambda row: assess(_context(row, judged), fixed, chosen).should_answer


def _cosine(cut: float, judged: bool) -> Decision:
    return lambda row: max(_context(row, judged).background, default=0.0) >= cut


def _best_cut(rows: Sequence[Row], judged: bool) -> float:
    cuts = [step / 100 for step in range(30, 100)]
    return max(cuts, key=lambda cut: _balanced(rows, _cosine(cut, judged))[0])


def _rescaled(row: Row) -> Row:
    return replace(row, judged=_rescale(row.judged), unjudged=_rescale(row.unjudged))


def _rescale(context: RetrievalContext) -> RetrievalContext:
    found = context.anchors
    return replace(
        context,
        results=tuple(replace(r, score=(1 + r.score) / 2) for r in context.results),
        background=tuple((1 + score) / 2 for score in context.background),
        anchors=found and Anchors((1 + found.foreign) / 2, (1 + found.own) / 2, found.spread / 2),
    )


def _context(row: Row, judged: bool) -> RetrievalContext:
    return row.judged if judged else row.unjudged


def _fingerprint(name: str) -> str:
    from askbook.embedding.builtin import BuiltinEmbedder

    return str(BuiltinEmbedder().fingerprint) if name == BUILTIN else UNKNOWN


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--data-dir", type=Path, default=REPOSITORY / ".askbook")
    parser.add_argument("--books", nargs="+", default=list(BOOKS[:2]), choices=BOOKS)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
