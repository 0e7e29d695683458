"""Cuts a chunk's Markdown into the units a quotation can be made of, with exact offsets. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

UnitKind: TypeAlias = Literal["sentence", "item", "code", "row"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s")
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)(.*)", re.DOTALL)
_TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]*-{2,}[\s:|-]*$")
_QUOTE_MARK = re.compile(r"^\s{0,3}>\s?")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_`]*[A-Z0-9`])")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Fig|fig|No|Dr|Mr|Mrs|Ms|Prof|St|Eq|Sec|Ch)\.|\b[A-Z]\.)$"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a chunk: `text` is exactly `chunk.text[start:end]`."""

    kind: UnitKind
    text: str
    start: int
    end: int


def cut_into_units(text: str) -> list[Unit]:
    """Sentences, list items, table rows and code blocks, in order; headings are left out."""
    return list(_units(text))


def _units(text: str) -> Iterator[Unit]:
    paragraph: tuple[int, int] | None = None
    lines = list(_lines(text))
    i = 0
    while i < len(lines):
        start, end = lines[i]
        line = text[start:end]
        fence = _FENCE.match(line)
        ends_paragraph = fence or not line.strip() or _HEADING.match(line) or _ITEM.match(line)
        if paragraph is not None and (ends_paragraph or "|" in line):
            yield from _sentences(text, *paragraph)
            paragraph = None
        if fence:
            i, unit = _code(text, lines, i, fence.group(1))
            yield unit
        elif not line.strip() or _HEADING.match(line) or _TABLE_RULE.match(line):
            i += 1
        elif item := _ITEM.match(line):
            first = start + len(item.group(1))
            i += 1
            while i < len(lines) and _continues_item(text[slice(*lines[i])]):
                end = lines[i][1]
                i += 1
            yield _unit("item", text, first, end)
        elif line.count("|") >= 2:
            yield _unit("row", text, start, end)
            i += 1
        else:
            paragraph = (paragraph[0] if paragraph else start, end)
            i += 1
    if paragraph is not None:
        yield from _sentences(text, *paragraph)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line.rstrip("\r\n"))
        start += len(line)


def _code(text: str, lines: list[tuple[int, int]], i: int, fence: str) -> tuple[int, Unit]:
    start, end = lines[i]
    i += 1
    while i < len(lines):
        end = lines[i][1]
        closing = text[slice(*lines[i])].strip()
        i += 1
        if closing.startswith(fence) and not closing.strip(fence[0]):
            break
    return i, Unit("code", text[start:end], start, end)


def _continues_item(line: str) -> bool:
    return (
        bool(line.strip())
        and not _ITEM.match(line)
        and not _HEADING.match(line)
        and (line.startswith((" ", "\t")))
        and not _FENCE.match(line)
    )


def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    if mark := _QUOTE_MARK.match(text[start:end]):
        start += mark.end()
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if _NO_END.search(text[begin : match.start()].rstrip("\"'”’)]*_")):
            continue
        yield _unit("sentence", text, begin, match.end())
        begin = match.end()
    if text[begin:end].strip():
        yield _unit("sentence", text, begin, end)


def _unit(kind: UnitKind, text: str, start: int, end: int) -> Unit:
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip())
    end -= len(raw) - len(raw.rstrip())
    return Unit(kind, text[start:end], start, end)
