"""Text that did not come as Markdown, written as Markdown that reads back as the very same text.

A mark is escaped only where Markdown would take it for one: every paragraph is parsed again and compared.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import pyromark

from askbook.ingestion.readers.markdown import OPTIONS

RunKind: TypeAlias = Literal["text", "code", "open", "close", "break"]

MOST_BLANK = 10_000
"""Cells of a table that may be blank in any case."""
_MARKS = re.compile(r"[\\`*_\[\]<>~$|&]")
_LINE_START = re.compile(r"(?m)^([#+\-=:])|^(\d{1,9})([.)])")
_TASK = re.compile(r"\[[ xX]\](?:\s|$)")
_BACKTICKS = re.compile(r"`+")
_UNESCAPED_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_HAS_BAR = re.compile(r"\\(?:\||\s*$)")
_KNOWN = ("Paragraph", "Heading", "Strong", "Emphasis")


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line: text, code, a line break, or where emphasis (`**`, `*`) opens and closes."""

    kind: RunKind
    text: str = ""


def shown(runs: Sequence[Run]) -> str:
    """What a reader sees of a line."""
    parts = (" " if r.kind == "break" else r.text for r in runs if r.kind not in ("open", "close"))
    return " ".join("".join(parts).split())


def write_line(runs: Sequence[Run], prefix: str = "") -> str:
    """The runs as one paragraph, or with `## ` before it a heading; empty when nothing is visible."""
    wanted = shown(runs)
    if not wanted:
        return ""
    marked, bare = _marked(runs), [run for run in runs if run.kind not in ("open", "close")]
    attempts = ((marked, False), (marked, True), (bare, False))
    for chosen, escapes in attempts:
        text = _joined(chosen, escapes=escapes)
        if _reads_as(prefix + text, wanted):
            return text
    return _joined(bare, escapes=True)


def write_code(code: str, language: str = "") -> list[str]:
    """The lines of a fenced block."""
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *code.split("\n"), fence]


def is_ragged(rows: Sequence[Sequence[Sequence[Run]]]) -> bool:
    """Whether a table would be hardly more than the blank cells that fill its rows: few bytes could ask for billions."""
    width = max((len(row) for row in rows), default=0)
    filled = sum(bool(shown(cell)) for row in rows for cell in row)
    return width * len(rows) > MOST_BLANK + 10 * filled


def write_table(rows: Sequence[Sequence[Sequence[Run]]]) -> list[str]:
    """The lines of a table, the first row as its head; none when no cell shows anything."""
    written = [[_cell(cell) for cell in row] for row in rows]
    written = [row for row in written if any(row)]
    if not written:
        return []
    width = max(len(row) for row in written)
    lines = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in written]
    lines.insert(1, "|" + " --- |" * width)
    return lines


def _cell(runs: Sequence[Run]) -> str:
    # In code inside a table no backslash can stand before a bar.
    safe = [
        Run("text", r.text) if r.kind == "code" and _HAS_BAR.search(r.text) else r for r in runs
    ]
    return _UNESCAPED_BAR.sub(r"\1\\|", " ".join(write_line(safe).split()))


def _marked(runs: Sequence[Run]) -> list[Run]:
    """The runs with emphasis that opens and closes next to text: spaces inside it go outside."""
    kept: list[Run] = []
    opened: list[int] = []
    for run in runs:
        if run.kind == "open":
            opened.append(len(kept))
            kept.append(run)
        elif run.kind != "close":
            kept.append(run)
        elif opened:
            start = opened.pop()
            inner = kept[start + 1 :]
            if not shown(inner):
                kept[start:] = inner
            else:
                kept[start:] = _tightened(kept[start], inner)
    for start in reversed(opened):
        del kept[start]
    return kept


def _tightened(mark: Run, inner: list[Run]) -> list[Run]:
    before: list[Run] = []
    after: list[Run] = []
    while inner[0].kind == "break" or (inner[0].kind == "text" and not inner[0].text.strip()):
        before.append(inner.pop(0))
    while inner[-1].kind == "break" or (inner[-1].kind == "text" and not inner[-1].text.strip()):
        after.insert(0, inner.pop())
    if inner[0].kind == "text" and inner[0].text.startswith(" "):
        before.append(Run("text", " "))
        inner[0] = Run("text", inner[0].text.lstrip())
    if inner[-1].kind == "text" and inner[-1].text.endswith(" "):
        after.insert(0, Run("text", " "))
        inner[-1] = Run("text", inner[-1].text.rstrip())
    return [*before, mark, *inner, Run("close", mark.text), *after]


def _joined(runs: Sequence[Run], *, escapes: bool) -> str:
    parts: list[str] = []
    for run in _with_code_joined(runs):
        if run.kind == "code":
            parts.append(_code_span(run.text))
        elif run.kind == "break":
            parts.append("\n")
        elif run.kind == "text" and escapes:
            parts.append(_MARKS.sub(r"\\\g<0>", run.text))
        else:
            parts.append(run.text)
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    text = "\n".join(line for line in lines if line)
    text = _LINE_START.sub(_escaped_start, text) if escapes else text
    return text.replace("\n", "  \n")


def _with_code_joined(runs: Sequence[Run]) -> list[Run]:
    # Two pieces of code side by side would be one with marks inside.
    merged: list[Run] = []
    for run in runs:
        if run.kind == "code" and merged and merged[-1].kind == "code":
            merged[-1] = Run("code", merged[-1].text + run.text)
        elif run.kind != "code" or run.text.strip():
            merged.append(run)
    return merged


def _escaped_start(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}"


def _code_span(code: str) -> str:
    code = " ".join(code.split())
    if not code:
        return ""
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(code)), default=0) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{fence}{pad}{code}{pad}{fence}"


def _reads_as(markdown: str, wanted: str) -> bool:
    """Whether Markdown makes one paragraph or heading of it, with just this text."""
    if _TASK.match(markdown):
        return False
    parts: list[str] = []
    depth = blocks = 0
    events: Any = pyromark.events(markdown, options=OPTIONS)
    for event in events:
        if type(event) is str:
            if event not in ("SoftBreak", "HardBreak"):
                return False
            parts.append(" ")
            continue
        (name, value), *_ = event.items()
        if name == "Start":
            kind = value if type(value) is str else next(iter(value))
            if kind not in _KNOWN:
                return False
            blocks += depth == 0
            depth += 1
        elif name == "End":
            depth -= 1
        elif name in ("Text", "Code"):
            parts.append(value)
        else:
            return False
    return blocks == 1 and " ".join("".join(parts).split()) == wanted
