"""Keeps the outcomes of a run on disk as they come, so that an interrupted one goes on where it stopped."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from askbook.evaluation.asking import Outcome


class Kept:
    """The outcomes of one configuration, one JSON line each; without a folder none is kept."""

    def __init__(self, folder: Path | None, configuration: str) -> None:
        self._file = None if folder is None else folder / f"{configuration}.jsonl"
        self._known: dict[str, Outcome] = {}
        if self._file is not None and self._file.exists():
            for line in self._file.read_text(encoding="utf-8").splitlines():
                row: dict[str, Any] = json.loads(line)
                self._known[row["qid"]] = Outcome.from_json(row)

    def get(self, qid: str, *, with_answer: bool, timed: bool) -> Outcome | None:
        """What an earlier run made of a question, if it has all that is wanted now."""
        outcome = self._known.get(qid)
        if outcome is None:
            return None
        lacks_answer = with_answer and outcome.answer is None
        lacks_time = timed and outcome.latency_ms is None
        return None if lacks_answer or lacks_time else outcome

    def put(self, outcome: Outcome) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
