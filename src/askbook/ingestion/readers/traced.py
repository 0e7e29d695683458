"""Text that is edited on its way to blocks and still knows which part of the source file it came from."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `start:end` by `text`. `scope` names an included file whose headings count on their own."""

    start: int
    end: int
    text: str = ""
    scope: str | None = None


class TracedText:
    """A text with its origin; `edited` gives the next version, the source offsets stay known."""

    __slots__ = ("_parent", "_segments", "_starts", "text")

    def __init__(
        self,
        text: str,
        parent: "TracedText | None" = None,
        segments: Sequence[tuple[int, int, int, bool, str | None]] = (),
    ) -> None:
        self.text = text
        self._parent = parent
        self._segments = segments
        self._starts = [segment[0] for segment in segments]

    def edited(self, edits: Sequence[Edit]) -> "TracedText":
        """The text with these non-overlapping edits made, given in order of their start."""
        if not edits:
            return self
        parts: list[str] = []
        segments: list[tuple[int, int, int, bool, str | None]] = []
        position = length = 0
        for edit in edits:
            if edit.start > position:
                segments.append((length, position, edit.start, True, None))
                parts.append(self.text[position : edit.start])
                length += edit.start - position
            if edit.text:
                segments.append((length, edit.start, edit.end, False, edit.scope))
                parts.append(edit.text)
                length += len(edit.text)
            position = edit.end
        if position < len(self.text) or not segments:
            segments.append((length, position, len(self.text), True, None))
            parts.append(self.text[position:])
        return TracedText("".join(parts), self, segments)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The span of the source file that `start:end` of this text was made from."""
        if self._parent is None:
            return start, end
        first = self._segments[max(0, bisect_right(self._starts, start) - 1)]
        last = self._segments[max(0, bisect_right(self._starts, max(start, end - 1)) - 1)]
        source_start = first[1] + (start - first[0]) if first[3] else first[1]
        source_end = last[1] + (end - last[0]) if last[3] else last[2]
        return self._parent.origin(source_start, max(source_start, source_end))

    def scope(self, position: int) -> str | None:
        """The included file this position was inserted from, if any."""
        if self._parent is None:
            return None
        segment = self._segments[max(0, bisect_right(self._starts, position) - 1)]
        if not segment[3]:
            return segment[4]
        return self._parent.scope(segment[1] + position - segment[0])
