"""Cut a block that is too big for one chunk, and join the blocks of a chunk."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from askbook.book import Block
from askbook.book.chunk import MIN_TEXT_LENGTH

_SENTENCE_END = re.compile(r"(?<=[.!?。！？;])\s+|(?<=[。！？])")
_WORD_END = re.compile(r"\s+")

CountTokens = Callable[[Sequence[str]], list[int]]


def joined(blocks: Sequence[Block]) -> str:
    """The text of a chunk: its blocks with a blank line between them.

    A chunk that begins inside a list item loses that item's indentation, so that it is not read as
    an indented code block.
    """
    texts = [block.text for block in blocks]
    margin = _indent(texts[0])
    if margin:
        for index, text in enumerate(texts):
            if _indent(text) < margin:
                break
            texts[index] = _outdented(text, margin)
    return "\n\n".join(text.strip("\n") for text in texts).strip()


def cut_block(
    block: Block,
    count_tokens: CountTokens,
    room: int,
    first_room: int | None = None,
) -> list[tuple[Block, int]]:
    """`block` in parts of at most `room` tokens, the first of at most `first_room`, with their sizes.

    Lines stay whole; a line that alone is too long is cut after a sentence, else a word, else anywhere.
    """
    room = max(room, 8)
    # What is held before the block may leave little room for its start; too little is no start.
    first_room = room if first_room is None or first_room < room // 3 else min(first_room, room)
    units = _units(block.text, count_tokens, first_room)
    total = sum(size for _, size in units)
    wanted = max(2, -(-total // room))
    fill = min(room, -(-total // wanted) + 8)
    parts: list[list[tuple[str, int]]] = [[]]
    size = 0
    for text, tokens in units:
        limit = min(fill, first_room) if len(parts) == 1 else fill
        if parts[-1] and size + tokens > limit:
            parts.append([])
            size = 0
        parts[-1].append((text, tokens))
        size += tokens
    pieces = [("".join(text for text, _ in part), sum(n for _, n in part)) for part in parts]
    return _placed(block, _merged_tiny(pieces))


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


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _outdented(text: str, margin: int) -> str:
    return "\n".join(
        line[margin:] if not line[:margin].strip() else line.lstrip(" ")
        for line in text.split("\n")
    )
