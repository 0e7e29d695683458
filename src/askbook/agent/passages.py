"""Cuts a chunk's Markdown into the units a quotation can be made of, with exact offsets. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

UnitKind: TypeAlias = Literal["sentence", "item", "code", "row"]
Line: TypeAlias = tuple[int, int]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}\s")
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)\S")
_INTERRUPTING_ITEM = re.compile(r"^\s*(?:[-*+]|1[.)])\s+\S")
"""In the middle of a paragraph a line that begins with another number is a line like any other."""
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$")
_MARKUP_LINE = re.compile(r"^\s*</?[A-Za-z!?]")
_QUOTE_MARKS = re.compile(r"^[ \t]{0,3}(?:>[ \t]?)+", re.MULTILINE)
_SENTENCE_END = re.compile(
    r"(?<=[.!?])([\"'”’)\]*_]*)\s+(?:(?<=\n)[ \t]*(?:>[ \t]?)+)?(?=[\"'“‘(\[*_`]*[A-Z0-9`])"
)
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Fig|fig|No|Dr|Mr|Mrs|Ms|Prof|St|Eq|Sec|Ch|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.|\b[A-Z]\.)$"
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a chunk: `text` is exactly `chunk.text[start:end]`.

    A table row carries the span of its table's head, without which it says little.
    """

    kind: UnitKind
    text: str
    start: int
    end: int
    head: tuple[int, int] | None = None


def cut_into_units(text: str) -> list[Unit]:
    """Sentences, list items, table rows and code blocks, in order; headings are left out."""
    lines = list(_lines(text))
    return list(_units(text, lines, _inside_fence(text, lines)))


def without_quote_marks(text: str) -> str:
    """A quoted block as plain text."""
    return _QUOTE_MARKS.sub("", text)


def _lines(text: str) -> Iterator[Line]:
    """Every line, of a quoted block without its marks."""
    start = 0
    for line in text.splitlines(keepends=True):
        end = start + len(line.rstrip("\r\n"))
        mark = _QUOTE_MARKS.match(line)
        yield min(end, start + mark.end()) if mark else start, end
        start += len(line)


def _inside_fence(text: str, lines: list[Line]) -> bool:
    """Whether the chunk begins inside a code block that an earlier chunk opened."""
    fences = [match for line in lines if (match := _FENCE.match(text[slice(*line)]))]
    return len(fences) % 2 == 1 and not fences[0].group(2).strip()


def _units(text: str, lines: list[Line], inside_fence: bool) -> Iterator[Unit]:
    i = 0
    if inside_fence:
        i, unit = _code_until(text, lines, 0, "`~")
        yield unit
    while i < len(lines):
        start, end = lines[i]
        line = text[start:end]
        if fence := _FENCE.match(line):
            i, unit = _code_until(text, lines, i + 1, fence.group(1), start)
            yield unit
        elif not line.strip() or _HEADING.match(line):
            i += 1
        elif _MARKUP_LINE.match(line):
            first = start
            while i < len(lines) and _MARKUP_LINE.match(text[slice(*lines[i])]):
                end = lines[i][1]
                i += 1
            yield Unit("code", text[first:end], first, end)
        elif i + 1 < len(lines) and _TABLE_RULE.match(text[slice(*lines[i + 1])]):
            head = (start, lines[i + 1][1])
            i += 2
            while i < len(lines) and "|" in text[slice(*lines[i])]:
                yield Unit("row", text[slice(*lines[i])], *lines[i], head)
                i += 1
        elif item := _ITEM.match(line):
            i += 1
            while i < len(lines) and _continues_item(text[slice(*lines[i])]):
                end = lines[i][1]
                i += 1
            yield _unit("item", text, start + item.end(1), end)
        else:
            first = start
            while i < len(lines) and _continues_paragraph(text[slice(*lines[i])]):
                end = lines[i][1]
                i += 1
            yield from _sentences(text, first, end)


def _code_until(
    text: str, lines: list[Line], i: int, fence: str, start: int = 0
) -> tuple[int, Unit]:
    """A code block up to its closing fence or the end of the chunk."""
    end = lines[i - 1][1] if i else 0
    while i < len(lines):
        end = lines[i][1]
        closing = text[slice(*lines[i])].strip()
        i += 1
        if len(closing) >= 3 and closing[0] in fence and not closing.strip(closing[0]):
            break
    return i, Unit("code", text[start:end], start, end)


def _continues_item(line: str) -> bool:
    indented = line.startswith((" ", "\t")) and bool(line.strip())
    return indented and not (_ITEM.match(line) or _starts_block(line))


def _continues_paragraph(line: str) -> bool:
    return bool(line.strip()) and not (_INTERRUPTING_ITEM.match(line) or _starts_block(line))


def _starts_block(line: str) -> bool:
    return bool(_FENCE.match(line) or _HEADING.match(line))


def _sentences(text: str, start: int, end: int) -> Iterator[Unit]:
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        if _NO_END.search(text[begin : match.start()].rstrip("\"'”’)]*_")):
            continue
        yield _unit("sentence", text, begin, match.end(1))
        begin = match.end()
    if text[begin:end].strip():
        yield _unit("sentence", text, begin, end)


def _unit(kind: UnitKind, text: str, start: int, end: int) -> Unit:
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip())
    end -= len(raw) - len(raw.rstrip())
    return Unit(kind, text[start:end], start, end)
