"""Lines of PDF pages put together again: headings, paragraphs, lists and code."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from askbook.book import Block
from askbook.ingestion.readers.outline_writer import OutlineWriter
from askbook.ingestion.readers.pdf_lines import Line
from askbook.ingestion.readers.writing import Run

_BULLET = re.compile(r"^\s*[•●▪▫‣◦○■□➢➤✓✔❖\uf0b7\uf0a7\uf0d8–∙·]\s*(?=\S)")
_NUMBERED = re.compile(r"^\s*(\d{1,3})[.)]\s+(?=\S)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+) ?[-‐]$")
_ENDS = (".", "!", "?", ":", ";", "…", "”", '"', ")", "。", "！", "？")
_NO_HEADING = (".", ",", ";", ":", "!", "-")
_MAX_HEADING = 90
_MAX_HEADING_LINES = 3
_MAX_LEVEL = 6
_CHARACTER_WIDTH = 0.6
"""Of a monospaced letter, as a share of its size."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: its title, its depth and the page it opens."""

    title: str
    level: int
    page: int


def write_pages(pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark]) -> list[Block]:
    """The text of all pages as blocks that know their page."""
    lines = [line for page in pages for line in page]
    return _Pages(lines, bookmarks).write()


class _Pages:
    def __init__(self, lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> None:
        self._lines = lines
        self._measure = _Measure(lines)
        self._levels = _heading_levels(lines, bookmarks, self._measure)
        self._words = Counter(
            word.casefold() for line in lines for word in _WORD.findall(line.text)
        )
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
        mark = number if kind == "number" else _BULLET.match(group[0].text)
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
        text = lines[0].text.strip()
        for line in lines[1:]:
            following = line.text.strip()
            broken = _BROKEN.search(text)
            if broken is None or not following[:1].islower():
                text = f"{text} {following}"
            elif self._was_one_word(broken, following):
                text = text[: broken.end(1)] + following
            elif text.endswith((" -", " ‐")):
                text = f"{text} {following}"
            else:
                text += following
        return text

    def _was_one_word(self, broken: re.Match[str], following: str) -> bool:
        """Whether a hyphen at the end of a line only divides a word, by how the rest of the text writes it."""
        first = broken[1]
        rest = _WORD.match(following)
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


class _Measure:
    """What is usual in a text: its size, and how far its lines are apart."""

    def __init__(self, lines: Sequence[Line]) -> None:
        sizes: Counter[float] = Counter()
        for line in lines:
            if not line.is_monospaced:
                sizes[line.size] += len(line.text)
        self.size = sizes.most_common(1)[0][0] if sizes else (lines[0].size if lines else 1.0)
        gaps = [
            a.y - b.y
            for a, b in pairwise(lines)
            if a.page == b.page and 0 < a.y - b.y < 4 * self.size and a.size == self.size
        ]
        near = sorted(gaps)[: max(1, len(gaps) * 2 // 3)]
        self.leading = median(near) if near else 1.3 * self.size
        lengths = sorted(len(line.text) for line in lines if line.size == self.size)
        self.width = lengths[int(len(lengths) * 0.9)] if lengths else 80

    def parts(self, before: Line, line: Line) -> bool:
        """Whether a paragraph ends between two lines."""
        if abs(before.size - line.size) > 0.1 * self.size:
            return True
        text = before.text.rstrip()
        ends = text.endswith(_ENDS)
        if before.page != line.page or line.y > before.y + 0.5 * self.size:
            # Over the end of a page or a column a sentence goes on.
            return ends or not line.text.lstrip()[:1].islower()
        if before.y - line.y > 1.25 * self.leading:
            return True
        return ends and len(text) < 0.6 * self.width and before.y != line.y

    def stands_apart(self, before: Line | None, line: Line, after: Line | None) -> bool:
        """Whether a line has room above it and below it."""
        above = before is None or before.page != line.page or self._is_wide(before.y - line.y)
        below = after is None or after.page != line.page or self._is_wide(line.y - after.y)
        return above and below

    def _is_wide(self, gap: float) -> bool:
        return gap < 0 or gap > 1.25 * self.leading


def _kind_of(line: Line) -> str:
    if line.is_monospaced:
        return "code"
    if _BULLET.match(line.text):
        return "bullet"
    return "number" if _NUMBERED.match(line.text) else "text"


def _code(lines: Sequence[Line], measure: _Measure) -> str:
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


def _heading_levels(
    lines: Sequence[Line], bookmarks: Sequence[Bookmark], measure: _Measure
) -> dict[int, tuple[int, int]]:
    """For the first line of each heading how many lines it has, and its level."""
    marked = _bookmarked(lines, bookmarks)
    return marked or _prominent(lines, measure)


def _bookmarked(lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> dict[int, tuple[int, int]]:
    by_page: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(index)
    found: dict[int, tuple[int, int]] = {}
    position = -1
    for bookmark in bookmarks:
        wanted = _letters(bookmark.title)
        for index in by_page.get(bookmark.page, ()):
            # Entries come in the order of the text; an outline that jumps about is followed too.
            if index in found or (index < position and lines[position].page == bookmark.page):
                continue
            taken = _lines_of_title(lines, index, wanted)
            if taken:
                found[index] = (taken, min(bookmark.level, _MAX_LEVEL))
                position = index
                break
    return found


def _lines_of_title(lines: Sequence[Line], index: int, wanted: str) -> int:
    text = ""
    for taken in range(1, _MAX_HEADING_LINES + 1):
        if not wanted or index + taken > len(lines):
            return 0
        added = _letters(lines[index + taken - 1].text)
        if not added:
            return 0
        text += added
        if text == wanted:
            return taken
        if not wanted.startswith(text):
            return 0
    return 0


def _prominent(lines: Sequence[Line], measure: _Measure) -> dict[int, tuple[int, int]]:
    """Without bookmarks: big letters, bold lines of their own, and short titles with room around them."""
    bigger = sorted({line.size for line in lines if line.size > 1.15 * measure.size}, reverse=True)
    levels = {size: min(rank, 3) for rank, size in enumerate(bigger, start=1)}
    own = len(levels) + 1
    found: dict[int, tuple[int, int]] = {}
    latest = -1
    for index, line in enumerate(lines):
        if not _may_head(line):
            continue
        before = lines[index - 1] if index else None
        after = lines[index + 1] if index + 1 < len(lines) else None
        if line.size in levels:
            taken = found[latest][0] if latest in found else 0
            if latest + taken == index and _goes_on(lines[index - 1], line, taken):
                found[latest] = (taken + 1, levels[line.size])
            else:
                found[index] = (1, levels[line.size])
                latest = index
        elif line.is_bold and measure.stands_apart(before, line, None):
            found[index] = (1, min(own, 3))
        elif measure.stands_apart(before, line, after) and _is_titled(line.text):
            found[index] = (1, min(own + (not line.text.isupper()), 4))
    return found


def _may_head(line: Line) -> bool:
    text = line.text.strip()
    return (
        2 < len(text) <= _MAX_HEADING
        and not line.is_monospaced
        and not text.endswith(_NO_HEADING)
        and any(map(str.isalpha, text))
        and not _BULLET.match(text)
    )


def _is_titled(text: str) -> bool:
    """Whether most words begin with a capital, as in a title."""
    words = [word for word in _WORD.findall(text) if len(word) > 3] or _WORD.findall(text)
    capitals = [word for word in words if word[0].isupper()]
    return bool(words) and text.strip()[0].isupper() and len(capitals) >= 0.6 * len(words)


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _goes_on(above: Line, line: Line, taken: int) -> bool:
    """Whether a big line is the next line of the heading above it."""
    return (
        0 < taken < _MAX_HEADING_LINES
        and above.page == line.page
        and above.size == line.size
        and 0 < above.y - line.y < 1.6 * line.size
    )
