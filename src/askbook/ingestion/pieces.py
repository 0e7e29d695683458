"""Cut a block that is too big for one chunk, and join the blocks of a chunk."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from askbook.book import Block
from askbook.book.chunk import MIN_TEXT_LENGTH

_SENTENCE_END = re.compile(r"(?<=[.!?。！？;])\s+|(?<=[。！？])")
_WORD_END = re.compile(r"\s+")

_INDENT_COST = 0.02
_DEEP = 16

CountTokens = Callable[[Sequence[str]], list[int]]


BLANK_LINE = "\n\n"


def joined(blocks: Sequence[Block]) -> str:
    """The text of a chunk: its blocks with a blank line between them."""
    return BLANK_LINE.join(at_the_margin(blocks)).strip()


def at_the_margin(blocks: Sequence[Block]) -> list[str]:
    """The texts of a chunk's blocks.

    A chunk that begins inside a list item loses that item's indentation, so that it is not read as
    an indented code block.
    """
    texts = [block.text for block in blocks]
    margin = _margin(texts[0])
    if margin:
        for index, text in enumerate(texts):
            if _margin(text) < margin:
                break
            texts[index] = "\n".join(line[margin:] for line in text.split("\n"))
    return [text.strip("\n") for text in texts]


def cut_block(
    block: Block,
    count_tokens: CountTokens,
    room: int,
    aim: int,
    first_room: int | None = None,
) -> list[tuple[Block, int]]:
    """`block` in even parts near `aim` tokens, with their sizes; the first may get less room.

    No part exceeds `room`. Lines stay whole; a line that alone is too long is cut after a sentence,
    else a word, else anywhere.
    """
    room = max(room, 8)
    # What is held before the block may leave little room for its start; too little is no start.
    first_room = room if first_room is None or first_room < room // 3 else min(first_room, room)
    units = _units(block.text, count_tokens, first_room)
    parts: list[tuple[str, int]] = []
    start, left = 0, sum(size for _, size in units)
    while start < len(units):
        limit = room if parts else first_room
        wanted = max(1 if parts else 2, round(left / max(8, min(aim, room))))
        end = _part_end(units, start, limit, left / max(wanted, 2 if left > limit else 1))
        text, size = (
            "".join(text for text, _ in units[start:end]),
            sum(size for _, size in units[start:end]),
        )
        parts.append((text, size))
        start, left = end, left - size
    return _placed(block, _merged_tiny(parts))


def _part_end(units: list[tuple[str, int]], start: int, limit: int, ideal: float) -> int:
    """Where a part that begins at `start` ends: near `ideal`, before a line at the left rather than
    inside an indented passage."""
    size = units[start][1]
    best, chosen = float("inf"), start + 1
    for end in range(start + 1, len(units) + 1):
        if size > limit and end > start + 1:
            break
        inside = _indent(units[end][0]) if end < len(units) else 0
        cost = abs(size - ideal) / ideal + _INDENT_COST * min(inside, _DEEP)
        if cost <= best:
            best, chosen = cost, end
        if end < len(units):
            size += units[end][1]
    return chosen


def _units(text: str, count_tokens: CountTokens, limit: int) -> list[tuple[str, int]]:
    """Lines with their ends and sizes; what is longer than `limit` is cut further."""
    return _fitting(text.splitlines(keepends=True), count_tokens, limit, _FINER)


def _fitting(
    texts: list[str],
    count_tokens: CountTokens,
    limit: int,
    finer: Sequence[Callable[[str], list[str]]],
) -> list[tuple[str, int]]:
    units: list[tuple[str, int]] = []
    for text, size in zip(texts, count_tokens(texts), strict=True):
        if size <= limit or len(text) < 2:
            units.append((text, size))
        else:
            # The last way of cutting is used again until the parts fit.
            units.extend(_fitting(finer[0](text), count_tokens, limit, finer[1:] or finer))
    return units


def _sentences(text: str) -> list[str]:
    return _after(_SENTENCE_END, text)


def _words(text: str) -> list[str]:
    return _after(_WORD_END, text)


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


_FINER = (_sentences, _words, _halves)


def _after(pattern: re.Pattern[str], text: str) -> list[str]:
    ends = [0, *(match.end() for match in pattern.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if end > start]


def _merged_tiny(pieces: list[tuple[str, int]]) -> list[tuple[str, int]]:
    merged: list[tuple[str, int]] = []
    for text, size in pieces:
        if merged and (
            len(text.strip()) < MIN_TEXT_LENGTH or len(merged[-1][0].strip()) < MIN_TEXT_LENGTH
        ):
            merged[-1] = (merged[-1][0] + text, merged[-1][1] + size)
        else:
            merged.append((text, size))
    return merged


def _placed(block: Block, pieces: list[tuple[str, int]]) -> list[tuple[Block, int]]:
    """Each piece with its share of the block's span, exact where the text is the source's own."""
    exact = len(block.text) == block.end - block.start
    placed: list[tuple[Block, int]] = []
    offset = 0
    for text, size in pieces:
        start = block.start + offset if exact else block.start
        end = start + len(text) if exact else block.end
        placed.append((replace(block, text=text, start=start, end=end), size))
        offset += len(text)
    return placed


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _margin(text: str) -> int:
    """The indentation all lines of a text share."""
    if not text.startswith(" "):
        return 0
    return min(_indent(line) for line in text.split("\n") if line.strip())
