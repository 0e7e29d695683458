"""Whether the code of a claim stands in a passage, line by line and in whole words. Pure."""

import re
from collections.abc import Iterable
from typing import TypeAlias

from askbook.agent.grounding import Support
from askbook.agent.guardrails import orders_in
from askbook.agent.passages import cut_into_units

Span: TypeAlias = tuple[int, int]

NEAR = 80
"""Characters around a line that are looked at for what touches it."""
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\s*")
_EDGE = re.compile(r"[\s—]")
_PROMPT = re.compile(r"(?:[$%+]|>{1,3})?")
_SEPARATOR = re.compile(r"[,;]?")
_OPENED = re.compile(r"[\"'“‘«(\[{|]*|.*`")
_CLOSED = re.compile(r"[\"'”’»)\]}|]*[.,;:!?…]*[\"'”’»)\]}|]*|`.*")


def check_code(block: str, passage: str) -> Support:
    """Every line of a block, its fences aside, must stand in the passage."""
    lines = block.splitlines()[1:]
    if lines and _FENCE.fullmatch(lines[-1]):
        lines.pop()
    wanted = {" ".join(line.split()) for line in lines} - {""}
    barred = orders_in(passage)
    blocks = [(unit.start, unit.end) for unit in cut_into_units(passage) if unit.kind == "code"]
    spans = [_find_line(line, passage, barred, blocks) for line in wanted]
    found = [span for span in spans if span is not None]
    if not wanted or len(found) < len(wanted):
        return Support("unsupported", ("The passage does not contain this code.",), 0.0, 0, 0)
    start, end = min(s for s, _ in found), max(e for _, e in found)
    return Support("supported", (), 1.0, start, end)


def _find_line(
    line: str, passage: str, barred: Iterable[Span], blocks: Iterable[Span]
) -> Span | None:
    """The first place where a line stands whole and not among orders to an assistant."""
    words = r"\s+".join(map(re.escape, line.split()))
    pattern = re.compile(rf"(?<!\w){words}(?!\w)")
    at = 0
    while match := pattern.search(passage, at):
        span = match.span()
        is_whole = _is_code_line if _meets(span, blocks) else _is_told
        if not _meets(span, barred) and is_whole(passage, *span):
            return span
        at = span[0] + 1
    return None


def _meets(span: Span, others: Iterable[Span]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _is_code_line(passage: str, start: int, end: int) -> bool:
    """In a code block only a prompt may touch what is quoted, or the comma or semicolon after it."""
    before, after = _touching(passage, start, end)
    if before:
        start -= len(before)
        begins = not passage[passage.rfind("\n", 0, start) + 1 : start].strip()
        if not (begins and _PROMPT.fullmatch(before)):
            return False
    return bool(_SEPARATOR.fullmatch(after))


def _is_told(passage: str, start: int, end: int) -> bool:
    """In prose its backticks, quotes, brackets, emphasis and punctuation may touch what is quoted."""
    before, after = _touching(passage, start, end)
    stars = before[len(before.rstrip("*")) :]
    if stars and after.startswith(stars):
        before, after = before.removesuffix(stars), after.removeprefix(stars)
    return bool(_OPENED.fullmatch(before) and _CLOSED.fullmatch(after))


def _touching(passage: str, start: int, end: int) -> tuple[str, str]:
    before, after = passage[max(0, start - NEAR) : start], passage[end : end + NEAR]
    return _EDGE.split(before)[-1], _EDGE.split(after, maxsplit=1)[0]
