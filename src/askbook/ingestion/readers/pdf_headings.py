"""Which lines of a PDF are headings: those of its bookmarks, else those that stand out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from askbook.ingestion.readers.pdf_lines import BULLET, WORD, Line
from askbook.ingestion.readers.pdf_measure import Measure

_NO_HEADING = (".", ",", ";", ":", "!", "-")
_MAX_HEADING = 90
_MAX_HEADING_LINES = 3
_MAX_LEVEL = 6
_MAX_LOOKS = 2_000_000
"""Lines that are compared with bookmarks: thousands of both on one page would take hours."""
_NUMBERED_TITLE = re.compile(r"\s*(\d{1,2}(?:\.\d{1,2}){1,3})\.?\s+[^\W\d_a-z]")


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the outline: its title, its depth and the page it opens."""

    title: str
    level: int
    page: int


def heading_levels(
    lines: Sequence[Line], bookmarks: Sequence[Bookmark], measure: Measure
) -> dict[int, tuple[int, int]]:
    """For the first line of each heading how many lines it has, and its level."""
    marked = _bookmarked(lines, bookmarks)
    return marked or _prominent(lines, measure)


def _bookmarked(lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> dict[int, tuple[int, int]]:
    by_page: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        by_page.setdefault(line.page, []).append(index)
    letters = [_letters(line.text) for line in lines]
    found: dict[int, tuple[int, int]] = {}
    position, looks = -1, _MAX_LOOKS
    for bookmark in bookmarks:
        wanted = _letters(bookmark.title)
        here = by_page.get(bookmark.page, ())
        looks -= len(here)
        if looks < 0:
            break
        for index in here:
            # Entries come in the order of the text; an outline that jumps about is followed too.
            if index in found or (index < position and lines[position].page == bookmark.page):
                continue
            taken = _lines_of_title(letters, index, wanted)
            if taken:
                found[index] = (taken, min(bookmark.level, _MAX_LEVEL))
                position = index
                break
    return found


def _lines_of_title(letters: Sequence[str], index: int, wanted: str) -> int:
    text = ""
    for taken in range(1, _MAX_HEADING_LINES + 1):
        if not wanted or index + taken > len(letters):
            return 0
        added = letters[index + taken - 1]
        if not added:
            return 0
        text += added
        if text == wanted:
            return taken
        if not wanted.startswith(text):
            return 0
    return 0


def _prominent(lines: Sequence[Line], measure: Measure) -> dict[int, tuple[int, int]]:
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
        elif (numbered := _NUMBERED_TITLE.match(line.text)) and measure.stands_apart(
            before, line, None
        ):
            found[index] = (1, min(own + numbered[1].count(".") - 1, 4))
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
        and not BULLET.match(text)
    )


def _is_titled(text: str) -> bool:
    """Whether most words begin with a capital, as in a title."""
    words = [word for word in WORD.findall(text) if len(word) > 3] or WORD.findall(text)
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
