"""What is usual in the text of a PDF, and so what stands out: sizes, distances, widths."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from askbook.ingestion.readers.pdf_lines import Line

_ENDS = (".", "!", "?", ":", ";", "…", "”", '"', ")", "。", "！", "？")


class Measure:
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
