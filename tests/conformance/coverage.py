"""Prints which statements of the specification documents have a passing test.

    python tests/conformance/coverage.py [--missing]

The statements are read from the specification beside the checkout when it is there; without it only the
statements that tests are marked with are counted.
"""

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATEMENTS = ROOT.parent / "shared" / "spec" / "statements.md"
RESULTS = ROOT / ".pytest_cache" / "spec-results.json"
DOCUMENTS = {
    "A": "000 RAG agent",
    "B": "001 RAG agent with a tool",
    "C": "002 ingestion and search",
    "D": "003 HTTP interface",
    "E": "004 integration",
}
# The reconciled data model drops these: older code, a single-file layout, or defects as written.
DROPPED = frozenset("A17 A48 A49 A51 B30 B35 B66 B70 B72 B73 C53 D61 E45 E46".split())


@dataclass(frozen=True, slots=True)
class Marked:
    """A test function and the statements it shows to hold."""

    node: str
    statements: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--missing", action="store_true", help="also print the statements without a test"
    )
    arguments = parser.parse_args()
    tests = [m for path in sorted((ROOT / "tests").rglob("test_*.py")) for m in marked_in(path)]
    outcomes = outcomes_of(tests)
    known = statements() or sorted({s for test in tests for s in test.statements}, key=order)
    unknown = sorted({s for test in tests for s in test.statements} - set(known), key=order)
    passing = {s for s in known if outcomes.get(s) == "passed"}
    failing = {s for s in known if outcomes.get(s) == "failed"}
    unrun = {s for s in known if outcomes.get(s) == "not run"}
    dropped = DROPPED & set(known)
    missing = [s for s in known if s not in outcomes and s not in dropped]
    print(
        f"{'document':28} {'statements':>10} {'passing':>8} {'failing':>8} {'not run':>8} {'no test':>8} {'dropped':>8}"
    )
    for letter, title in DOCUMENTS.items():
        own = {s for s in known if s[0] == letter}
        groups = (own, own & passing, own & failing, own & unrun, own & set(missing), own & dropped)
        print(
            f"{title:28} "
            + " ".join(f"{len(g):>{w}}" for g, w in zip(groups, (10, 8, 8, 8, 8, 8), strict=True))
        )
    print(f"{len(passing)} of {len(known) - len(dropped)} statements have a passing test.")
    if failing:
        print("Failing: " + " ".join(sorted(failing, key=order)))
    if unknown:
        print("Marked, but no statement: " + " ".join(unknown))
    if arguments.missing:
        print("No test: " + " ".join(missing))


def marked_in(path: Path) -> Iterator[Marked]:
    """The marked tests of a file, read without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(ROOT).as_posix()

    def walk(body: list[ast.stmt], prefix: str, inherited: tuple[str, ...]) -> Iterator[Marked]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                own = inherited + tuple(ids_in(node.decorator_list))
                yield from walk(node.body, f"{prefix}::{node.name}", own)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                ids = inherited + tuple(ids_in(node.decorator_list))
                if ids and node.name.startswith("test"):
                    yield Marked(f"{prefix}::{node.name}", ids)

    yield from walk(tree.body, file, ())


def ids_in(decorators: list[ast.expr]) -> Iterator[str]:
    """The arguments of `pytest.mark.spec(…)`."""
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.spec":
            for argument in decorator.args:
                yield str(ast.literal_eval(argument))


def outcomes_of(tests: list[Marked]) -> dict[str, str]:
    """Statement → passed, failed or not run: one failing test is enough to fail it."""
    try:
        results: dict[str, str] = json.loads(RESULTS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        results = {}
    found: dict[str, set[str]] = {}
    for test in tests:
        # The same function runs once for each of its parameters.
        ended = [
            o
            for node, o in results.items()
            if re.sub(r"[\[@].*$", "", node, flags=re.S) == test.node
        ]
        outcome = "not run"
        if ended and all(o == "passed" for o in ended):
            outcome = "passed"
        elif any(o == "failed" for o in ended):
            outcome = "failed"
        for statement in test.statements:
            found.setdefault(statement, set()).add(outcome)
    order_of = ("failed", "passed", "not run")
    return {s: next(o for o in order_of if o in outcomes) for s, outcomes in found.items()}


def statements() -> list[str]:
    """Every statement's id; several may stand on one line."""
    if not STATEMENTS.is_file():
        return []
    text = STATEMENTS.read_text(encoding="utf-8")
    return re.findall(r"(?:^|; )([A-E]\d+) — ", text, re.MULTILINE)


def order(statement: str) -> tuple[str, int]:
    return statement[0], int(statement[1:])


if __name__ == "__main__":
    sys.exit(main())
