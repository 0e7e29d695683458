"""Lines of PDF pages put together again: headings, paragraphs, lists and code."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from askbook.book import Block
from askbook.ingestion.readers.outline_writer import OutlineWriter
from askbook.ingestion.readers.pdf_headings import Bookmark, heading_levels
from askbook.ingestion.readers.pdf_lines import BULLET, WORD, Line
from askbook.ingestion.readers.pdf_measure import Measure
from askbook.ingestion.readers.writing import Run

_NUMBERED = re.compile(r"^\s*(\d{1,3})[.)]\s+(?=\S)")
_BROKEN = re.compile(r"([^\W\d_]+) ?[-‐]$")
_LONGEST_WORD = 60
_CHARACTER_WIDTH = 0.6
"""Of a monospaced letter, as a share of its size."""


def write_pages(pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark]) -> list[Block]:
    """The text of all pages as blocks that know their page."""
    lines = [line for page in pages for line in page]
    return _Pages(lines, bookmarks).write()


class _Pages:
    def __init__(self, lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> None:
        self._lines = lines
        self._measure = Measure(lines)
        self._levels = heading_levels(lines, bookmarks, self._measure)
        self._words = Counter(word.casefold() for line in lines for word in WORD.findall(line.text))
        self._writer = OutlineWriter()
        self._kind = ""
        self._list_kind = ""
        self._group: list[Line] = []

    def write(self) -> list[Block]:
        index = 0
        while index < len(self._lines):
            line = self._lines[index]
            taken, level = self._levels.get(index, (0, 0))
            if taken:
                self._flush()
                self._heading(self._lines[index : index + taken], level)
                index += taken
                continue
            kind = _kind_of(line)
            if self._begins(line, kind):
                self._flush()
            self._kind = self._kind if self._group and kind == "text" else kind
            self._group.append(line)
            index += 1
        self._flush()
        self._close_list()
        return self._writer.blocks()

    def _begins(self, line: Line, kind: str) -> bool:
        """Whether a line begins something new."""
        if not self._group:
            return False
        before = self._group[-1]
        if (kind == "code") != (self._kind == "code"):
            return True
        if kind == "code":
            return False
        if kind in ("bullet", "number"):
            return True
        return self._measure.parts(before, line)

    def _flush(self) -> None:
        group, kind = self._group, self._kind
        self._group, self._kind = [], ""
        if not group:
            return
        if kind in ("bullet", "number"):
            self._item(group, kind)
            return
        self._close_list()
        self._writer.page = group[0].page
        if kind == "code":
            self._writer.code(_code(group, self._measure))
        else:
            self._writer.paragraph([Run("text", self._joined(group))])

    def _item(self, group: Sequence[Line], kind: str) -> None:
        number = _NUMBERED.match(group[0].text)
        wanted = f"{kind}:{group[0].page}"
        if self._list_kind != wanted:
            goes_on = self._list_kind.startswith(f"{kind}:")
            self._close_list()
            self._writer.page = group[0].page
            start = int(number[1]) if number and kind == "number" else 1
            self._writer.open_list(is_ordered=kind == "number", start=start, goes_on=goes_on)
            self._list_kind = wanted
        mark = number if kind == "number" else BULLET.match(group[0].text)
        text = self._joined(group)[len(mark[0].lstrip()) if mark else 0 :]
        self._writer.open_item()
        self._writer.paragraph([Run("text", text.strip())])
        self._writer.close()

    def _close_list(self) -> None:
        if self._list_kind:
            self._writer.close()
            self._list_kind = ""

    def _heading(self, lines: Sequence[Line], level: int) -> None:
        self._close_list()
        self._writer.page = lines[0].page
        text = " ".join(self._joined(lines).split())
        self._writer.heading(level, [Run("text", text)], f"page={lines[0].page}")

    def _joined(self, lines: Sequence[Line]) -> str:
        parts = [lines[0].text.strip()]
        for line in lines[1:]:
            parts.extend(self._connected(parts.pop(), line.text.strip()))
        return "".join(parts)

    def _connected(self, before: str, following: str) -> tuple[str, str]:
        """A line and the next one, with a space, a hyphen or nothing between them."""
        broken = _BROKEN.search(before, max(0, len(before) - _LONGEST_WORD))
        if broken is None or not following[:1].islower():
            return before, f" {following}"
        if self._was_one_word(broken, following):
            return before[: broken.end(1)], following
        return before, f" {following}" if before.endswith((" -", " ‐")) else following

    def _was_one_word(self, broken: re.Match[str], following: str) -> bool:
        """Whether a hyphen at the end of a line only divides a word, by how the rest of the text writes it."""
        first = broken[1]
        rest = WORD.match(following)
        if rest is None:
            return False
        tail = rest[0]
        whole = self._words[(first + tail).casefold()]
        hyphened = self._words[f"{first}-{tail}".casefold()]
        if whole or hyphened:
            return whole >= hyphened
        if broken[0].startswith(f"{first} "):
            return False
        if first.isupper() or any(map(str.isupper, first[1:])):
            return False
        both = self._words[first.casefold()] > 1 and self._words[tail.casefold()] > 1
        return not both


def _kind_of(line: Line) -> str:
    if line.is_monospaced:
        return "code"
    if BULLET.match(line.text):
        return "bullet"
    return "number" if _NUMBERED.match(line.text) else "text"


def _code(lines: Sequence[Line], measure: Measure) -> str:
    """Code as it stood: indentation from spaces, else from where a line begins; blank lines from the gaps."""
    left = min(line.x for line in lines)
    steps = [a.y - b.y for a, b in pairwise(lines) if a.page == b.page and a.y > b.y]
    step = min(steps) if steps else measure.leading
    written: list[str] = []
    before: Line | None = None
    for line in lines:
        if before is not None and before.page == line.page and step > 0:
            missing = round((before.y - line.y) / step) - 1
            written.extend([""] * min(max(missing, 0), 2))
        indent = 0
        if not line.text.startswith(" "):
            indent = round((line.x - left) / (_CHARACTER_WIDTH * max(line.size, 1)))
        written.append(" " * min(max(indent, 0), 80) + line.text)
        before = line
    return "\n".join(written)
