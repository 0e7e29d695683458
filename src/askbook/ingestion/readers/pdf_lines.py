"""The lines of a PDF page in reading order, each with its place, size and face, as pypdf finds them."""

import math
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askbook.errors import InvalidInput
from askbook.ingestion.readers.cleaning import clean

BULLET = re.compile(r"^\s*[•●▪▫‣◦○■□➢➤✓✔❖\uf0b7\uf0a7\uf0d8–∙·]\s*(?=\S)")
"""What lines of a list begin with."""
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_MONOSPACED = re.compile(
    r"mono|courier|consol|menlo|typewriter|cmtt|lmtt|sourcecode|firacode|inconsol|fixed|terminal",
    re.I,
)
_BOLD = re.compile(r"bold|black|heavy|semibold|demi|\bbd\b|cmbx", re.I)
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[\W_]*+(?:page|seite|p\.)?\s*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of|von|\|)\s*\d{1,4})?[\W_]*",
    re.I,
)
_EDGE = 2
"""Lines at the top and the bottom of a page that may belong to every page."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; `y` grows upwards."""

    text: str
    page: int
    x: float
    y: float
    size: float
    is_bold: bool
    is_monospaced: bool


def read_lines(page: Any, number: int, deadline: float) -> list[Line]:
    """The lines of one page; gives up when the time is over."""
    pieces: list[_Piece] = []

    def note(text: str, cm: Sequence[float], tm: Sequence[float], font: Any, size: float) -> None:
        if text:
            name = str(font.get("/BaseFont", "")) if font else ""
            pieces.append(_Piece(text, *_placed(cm, tm, size), name))

    def check_time(*_: object) -> None:
        if time.monotonic() > deadline:
            raise InvalidInput(
                f"Reading stopped at page {number}: the file takes too long.",
                "Split the PDF, or print it to a new PDF.",
            )

    check_time()
    page.extract_text(visitor_text=note, visitor_operand_before=check_time)
    return _lines(pieces, number)


def without_running_lines(pages: Sequence[list[Line]]) -> list[list[Line]]:
    """The pages without what stands at the edge of many: headers, footers, page numbers."""
    seen: Counter[str] = Counter()
    for lines in pages:
        seen.update({_key(line) for line in (*lines[:_EDGE], *lines[-_EDGE:])})
    often = max(3, len([lines for lines in pages if lines]) * 0.3)
    repeated = {key for key, count in seen.items() if count >= often}
    return [_trimmed(lines, repeated) for lines in pages]


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    x: float
    y: float
    size: float
    font: str


def _placed(cm: Sequence[float], tm: Sequence[float], size: float) -> tuple[float, float, float]:
    x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
    y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
    scale = math.hypot(tm[2], tm[3]) * math.hypot(cm[2], cm[3])
    return x, y, abs(size) * (scale or 1.0)


def _lines(pieces: Sequence[_Piece], number: int) -> list[Line]:
    lines: list[Line] = []
    current: list[_Piece] = []
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        current.append(_Piece(first, piece.x, piece.y, piece.size, piece.font))
        for text in rest:
            lines.extend(_line(current, number))
            current = [_Piece(text, piece.x, piece.y, piece.size, piece.font)] if text else []
    lines.extend(_line(current, number))
    return lines


def _line(pieces: Sequence[_Piece], number: int) -> list[Line]:
    text = clean("".join(piece.text for piece in pieces)).replace("\t", "    ").rstrip()
    shown = [piece for piece in pieces if piece.text.strip()]
    if not shown or not text.strip():
        return []
    main = max(shown, key=lambda piece: len(piece.text))
    first = next(piece for piece in pieces if piece.text)
    letters = [piece for piece in shown if any(map(str.isalnum, piece.text))] or shown
    return [
        Line(
            text,
            number,
            first.x,
            main.y,
            round(main.size, 1),
            all(_BOLD.search(piece.font) for piece in letters),
            all(_MONOSPACED.search(piece.font) for piece in shown),
        )
    ]


def _key(line: Line) -> str:
    return _DIGITS.sub("#", " ".join(line.text.split()).casefold())


def _trimmed(lines: list[Line], repeated: set[str]) -> list[Line]:
    start, end = 0, len(lines)
    while start < min(_EDGE, end) and _key(lines[start]) in repeated:
        start += 1
    while end > max(start, len(lines) - _EDGE) and _key(lines[end - 1]) in repeated:
        end -= 1
    if end > start and _PAGE_NUMBER.fullmatch(lines[end - 1].text.strip()) and "#" in repeated:
        end -= 1
    return lines[start:end]
