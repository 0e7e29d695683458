"""Collects headings, paragraphs, lists, quotes, tables and code in order and turns them into blocks.

What is written goes through the Markdown reader, so that a lesson is made of the same blocks, whatever it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from askbook.book import Block, Heading
from askbook.ingestion.readers.anchors import GithubAnchors
from askbook.ingestion.readers.markdown import Dialect, read_blocks
from askbook.ingestion.readers.traced import TracedText
from askbook.ingestion.readers.writing import (
    Run,
    is_ragged,
    shown,
    write_code,
    write_line,
    write_table,
)

MAX_DEPTH = 8
"""Lists and quotes inside each other; what is deeper stands at the depth of what it is in."""
_BETWEEN = "\n\n"


@dataclass(slots=True)
class _Container:
    """A list, an item or a quote that is open: what stands before its first line and before the others."""

    kind: str
    marker: str = ""
    indent: str = ""
    is_begun: bool = False
    blocks: int = 0
    number: int = 1
    delimiter: str = ""
    was_long: bool = False  # the item before had several paragraphs

    def prefix(self) -> str:
        if self.is_begun:
            return self.indent
        self.is_begun = True
        return self.marker


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    heading: Heading | None = None
    page: int | None = None


class OutlineWriter:
    """Write in reading order, then take the blocks."""

    def __init__(self) -> None:
        self.page: int | None = None
        self._pieces: list[_Piece] = []
        self._lines: list[str] = []
        self._lines_page: int | None = None
        self._open: list[_Container] = []
        self._last = ""
        self._last_delimiter: dict[int, str] = {}

    @property
    def is_nested(self) -> bool:
        """Whether a list or a quote is open."""
        return bool(self._open)

    @property
    def is_deep(self) -> bool:
        """Whether nothing more can be put into each other."""
        return len(self._open) >= 2 * MAX_DEPTH

    def heading(self, level: int, runs: Sequence[Run], anchor: str) -> None:
        prefix = "#" * level + " "
        text = write_line(runs, prefix).replace("  \n", " ")
        if text:
            self._pieces.append(
                _Piece(prefix + text, Heading(level, shown(runs), anchor), self.page)
            )
            self._last = "heading"

    def paragraph(self, runs: Sequence[Run]) -> None:
        text = write_line(runs)
        if text:
            self._write(text.split("\n"), "paragraph")

    def code(self, code: str, language: str = "") -> None:
        if code.strip():
            self._write(write_code(code.strip("\n").rstrip(), language), "code")

    def table(self, rows: Sequence[Sequence[Sequence[Run]]]) -> None:
        if is_ragged(rows):
            for row in rows:
                self.paragraph([run for cell in row if cell for run in (*cell, Run("text", " "))])
            return
        lines = write_table(rows)
        if lines:
            self._write(lines, "table")

    def open_quote(self) -> None:
        self._open.append(_Container("quote", "> ", "> "))

    def open_list(self, *, is_ordered: bool, start: int = 1, goes_on: bool = False) -> None:
        """A list begins here, or one that was interrupted goes on."""
        choices = (".", ")") if is_ordered else ("-", "*")
        # Two lists in a row would be read as one.
        before = self._last_delimiter.get(len(self._open)) if self._last == "list" else None
        delimiter = choices[before == choices[0] and not goes_on]
        self._open.append(_Container("list", number=max(0, start), delimiter=delimiter))

    def open_item(self) -> None:
        above = self._open[-1] if self._open and self._open[-1].kind == "list" else None
        delimiter = above.delimiter if above is not None else "-"
        marker = f"{delimiter} "
        if above is not None and delimiter in (".", ")"):
            marker = f"{above.number}{delimiter} "
        self._open.append(_Container("item", marker, " " * len(marker)))

    def close(self) -> None:
        """The innermost list, item or quote ends here."""
        closed = self._open.pop()
        above = self._open[-1] if self._open else None
        if closed.kind == "item" and above is not None and closed.is_begun:
            above.number += 1
            above.was_long = closed.blocks > 1
            above.is_begun = True
        if closed.kind == "list":
            self._last = "list"
            self._last_delimiter[len(self._open)] = closed.delimiter
        if not self._open:
            self._end_piece()

    def blocks(self) -> list[Block]:
        """Everything written, with places in the text as a whole."""
        blocks: list[Block] = []
        offset = 0
        for piece in self._pieces:
            if piece.heading is not None:
                end = offset + len(piece.text)
                blocks.append(
                    Block("heading", piece.text, offset, end, piece.heading, page=piece.page)
                )
            else:
                blocks.extend(
                    replace(
                        block,
                        start=offset + block.start,
                        end=offset + block.end,
                        page=piece.page,
                    )
                    for block in read_blocks(TracedText(piece.text), _DIALECT)
                )
            offset += len(piece.text) + len(_BETWEEN)
        return blocks

    def _write(self, lines: Sequence[str], kind: str) -> None:
        if not self._open:
            self._pieces.append(_Piece("\n".join(lines), page=self.page))
            self._last = kind
            return
        if self._open[-1].kind == "list":  # what stands between items is one
            self.open_item()
            self._write(lines, kind)
            self.close()
            return
        if not self._lines:
            self._lines_page = self.page
        elif not self._is_tight(kind):
            begun = (each.indent for each in self._open if each.is_begun)
            self._lines.append("".join(begun).rstrip())
        for line in lines:
            before = "".join(each.prefix() for each in self._open)
            self._lines.append(before + line if line else before.rstrip())
        self._open[-1].blocks += 1
        self._last = kind

    def _is_tight(self, kind: str) -> bool:
        """Whether the next line may follow without a blank one."""
        first_new = next((i for i, each in enumerate(self._open) if not each.is_begun), None)
        if first_new is None:
            return False
        begins = self._open[first_new]
        if begins.kind == "quote":
            return False
        if begins.kind == "list":
            # A list right under the words it belongs to, inside an item.
            in_item = first_new > 0 and self._open[first_new - 1].kind == "item"
            numbered = begins.delimiter in (".", ")") and begins.number != 1
            return in_item and self._last == "paragraph" and not numbered
        above = self._open[first_new - 1] if first_new else None
        return above is not None and not above.was_long and kind == "paragraph"

    def _end_piece(self) -> None:
        if self._lines:
            self._pieces.append(_Piece("\n".join(self._lines), page=self._lines_page))
            self._lines = []


_DIALECT = Dialect(anchors=GithubAnchors)
