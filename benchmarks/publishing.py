"""Pages of results: Markdown tables with the date and the commit they were measured at."""

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from folders import REPOSITORY


def commit() -> str:
    """The commit that is measured, and whether anything was changed since."""
    command = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty", "--abbrev=10"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "none"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    lines = [columns, ["---", *("--:" for _ in columns[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def publish(page: Path, title: str, target: str, introduction: str, parts: Sequence[str]) -> None:
    """Write a page of results; `target` is the make target that does it."""
    made = f"Written by `make {target}` on {datetime.now(UTC):%Y-%m-%d}, commit {commit()}. {introduction}"
    page.write_text("\n\n".join((f"# {title}", made, *parts)) + "\n", encoding="utf-8")
