"""A small load on one real server process: no chat fails, none gets another's answer, little is kept."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "load.py"


def test_chats_at_once_end_well_and_leave_little_behind() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--small", "--json"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["chats_at_once"]["chats"], figures["chats_at_once"]["errors"]) == (40, 0)
    # On a busy machine figures waver; these bounds are for mistakes, the benchmark is for figures.
    assert figures["cpu_per_request"]["beyond_bare_ms"] < 20
    assert figures["memory"]["second_half_growth_percent"] < 5
