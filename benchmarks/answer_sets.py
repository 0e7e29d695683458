"""Asks the question sets and prints the share of good answers by kind.

An answer is good when it matches every pattern of its row. Beside it stands a control: the best passages, one after
the other, cut to the length of the answer. Near misses show how far confidence tells answerable questions from them.
"""

import argparse
import asyncio
import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askbook.bootstrap import Askbook, Scope
from askbook.config import Settings, load_settings
from askbook.evaluation.corpus import (
    BOOK_ID,
    cache_beside,
    index_corpus,
    prepare_corpus,
    settings_of,
)
from askbook.evaluation.datasets import find_corpus
from askbook.evaluation.metrics import auroc
from folders import DATA, REPOSITORY

SETS = Path(__file__).with_name("sets")
MOST = 1200
"""Characters outside code that count of an answer."""
_CODE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of a set with what came of it."""

    book: str
    kind: str
    is_answerable: bool
    confidence: float
    was_answered: bool
    good: bool = False
    control: bool = False
    length: int = 0


def main() -> None:
    options = _options()
    settings = load_settings(data_dir=options.data_dir)
    rows = _rows(SETS / options.set / "answers.jsonl")
    rows += _rows(SETS / options.set / "near_misses.jsonl")
    asked = asyncio.run(_ask_all(rows, settings, options.data))
    _print(asked)


async def _ask_all(rows: Sequence[dict[str, Any]], settings: Settings, data: Path) -> list[Asked]:
    asked: list[Asked] = []
    for book in dict.fromkeys(row["book"] for row in rows):
        source = find_corpus(data / book)
        corpus = prepare_corpus(
            source, cache_beside(settings.storage.data_dir), settings.embedder.model_dump_json()
        )
        async with Askbook(settings_of(corpus, settings)) as askbook:
            async for _ in index_corpus(askbook, corpus):
                pass
            asked += [await _ask(askbook, row) for row in rows if row["book"] == book]
    return asked


async def _ask(askbook: Askbook, row: dict[str, Any]) -> Asked:
    scope = Scope(book_id=BOOK_ID, hardware_tier=4)
    answer = await askbook.ask(row["question"], scope)
    _, found = await askbook.search(row["question"], scope)
    prose = len(_CODE.sub("", answer.answer))
    passages = "\n\n".join(result.text for result in found.results)
    patterns: list[str] = row.get("must", [])
    return Asked(
        book=row["book"],
        kind=row["kind"],
        is_answerable="must" in row,
        confidence=answer.confidence,
        was_answered=answer.should_answer,
        good=answer.should_answer and prose <= MOST and _holds(answer.answer, patterns),
        control=_holds(passages[: len(answer.answer)], patterns),
        length=prose,
    )


def _holds(text: str, patterns: Sequence[str]) -> bool:
    folded = re.sub(r"\s+", " ", re.sub(r"\s?\[\d{1,3}\]", "", text))
    return all(re.search(pattern, folded, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def _print(asked: Sequence[Asked]) -> None:
    own = [each for each in asked if each.is_answerable]
    print("| kind | n | good | control | declined | median characters |\n|---|---|---|---|---|---|")
    groups = {f"kind {k}": [e for e in own if e.kind == k] for k in sorted({e.kind for e in own})}
    groups |= {f"book {b}": [e for e in own if e.book == b] for b in sorted({e.book for e in own})}
    for name, mine in (groups | {"all": own}).items():
        shares = (
            [e.good for e in mine],
            [e.control for e in mine],
            [not e.was_answered for e in mine],
        )
        cells = " | ".join(f"{100 * sum(share) / len(share):.0f} %" for share in shares)
        print(
            f"| {name} | {len(mine)} | {cells} | {statistics.median(e.length for e in mine):.0f} |"
        )
    others = [each for each in asked if not each.is_answerable]
    if others:
        score = auroc([e.confidence for e in asked], [e.is_answerable for e in asked])
        answered = sum(e.was_answered for e in others)
        print(
            f"\nNear misses: {answered} of {len(others)} answered; AUROC of confidence {score:.3f}."
        )


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=("tuning", "reporting"))
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--data-dir", type=Path, default=REPOSITORY / ".askbook")
    return parser.parse_args()


if __name__ == "__main__":
    main()
