"""Cuts what a model writes, as it arrives, into claims: one sentence, list item or code block each. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from askbook.agent.guardrails import neutralise

ClaimKind: TypeAlias = Literal["sentence", "item", "code", "heading"]

MAX_LAYERS = 8
"""Times that marks and markup are looked for in a sentence; what still holds some is not said."""
_MARK = r"\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]"
_MARKS = re.compile(rf"(?:\s{{0,2}}{_MARK})+")
_NUMBERS = re.compile(_MARK)
_PARTIAL_MARK = re.compile(r"\s*\[[\d,;\s]*$")
_FENCE = re.compile(r"(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})[ \t]*([^\n]*)")
_LANGUAGE = re.compile(r"[\w+#.-]{0,24}")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*\n]+\*\*:?\s*(?:\n|$)")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])[ \t]+")
_BLOCK_END = re.compile(r"\n[ \t]*(?=\n|[-*+•][ \t]|\d{1,3}[.)][ \t]|#{1,6}\s|`{3}|~{3})")
_END = re.compile(
    # After a mark any word may begin a sentence; without one, not a small letter.
    rf"[.!?…][\"'”’)*_]*(?:\s{{0,2}}{_MARK})+(?=\s+[^\s\[])"
    rf"|{_MARK}[.!?…][\"'”’)*_]*(?=\s+[^\s\[])"
    r"|[.!?…][\"'”’)*_]*(?=\s+[^\s\[a-z])"
)
_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Fig|fig|No|Dr|Mr|Mrs|Ms|Prof|St|Eq|Sec|Ch)|\b[A-Z])\.$"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: `joint` is what stands between it and the text before, `cited` the numbers it names."""

    text: str
    cited: tuple[int, ...]
    joint: str
    kind: ClaimKind

    def rendered(self, numbers: tuple[int, ...]) -> str:
        """The claim with the marks of the places that support it."""
        marks = "".join(f"[{n}]" for n in numbers)
        if not marks:
            return self.text
        return f"{self.text}\n{marks}" if self.kind == "code" else f"{self.text} {marks}"


def cut_claims(text: str) -> list[Claim]:
    """All claims of a finished text."""
    cutter = ClaimCutter()
    return [*cutter.feed(text), *cutter.finish()]


class ClaimCutter:
    """Takes a text in pieces and gives each claim as soon as it, and its marks, are complete."""

    def __init__(self) -> None:
        self._buffer = ""
        self._joint = ""

    def feed(self, piece: str) -> list[Claim]:
        self._buffer += piece
        return list(self._take(final=False))

    def finish(self) -> list[Claim]:
        claims = list(self._take(final=True))
        self._buffer = ""
        return claims

    def drop(self) -> None:
        """Forget what is not complete yet."""
        self._buffer = ""

    def _take(self, *, final: bool) -> Iterator[Claim]:
        while True:
            stripped = self._buffer.lstrip()
            if not stripped:
                return
            if not final and _THOUGHT.startswith(stripped):
                return
            if stripped.startswith(_THOUGHT):
                # Some models think aloud first; that is no part of the answer.
                _, ended, after = stripped.partition(_THOUGHT_END)
                self._buffer = after if ended or final else self._buffer
                if not ended:
                    return
                continue
            space = self._buffer[: len(self._buffer) - len(stripped)]
            found = _first(stripped, final=final)
            if found is None:
                return
            kind, lead, body, end = found
            claim = _claim(kind, body, self._joint_of(space, lead, kind))
            self._buffer = stripped[end:]
            if claim is not None:
                yield claim
                self._joint = "\n\n" if kind == "code" else " "

    def _joint_of(self, space: str, lead: str, kind: ClaimKind) -> str:
        if not self._joint:
            return lead
        if kind == "code" or space.count("\n") > 1 or self._joint == "\n\n":
            return f"\n\n{lead}"
        return f"\n{lead}" if lead or ("\n" in space and kind != "sentence") else " "


def _first(text: str, *, final: bool) -> tuple[ClaimKind, str, str, int] | None:
    """Kind, list mark, raw text and end of the first claim; None while it may still go on."""
    if fence := _FENCE.match(text):
        return _code(text, fence.group(1), final=final)
    if not final and re.fullmatch(
        r"[`~]{1,2}|#{1,6}|[-*+•]|\d{1,3}[.)]?|\*\*[^*\n]*\*{0,2}:?", text
    ):
        return None
    block = _BLOCK_END.search(text)
    stop = block.start() if block else len(text)
    is_open = block is None and not final
    if heading := _HEADING.match(text):
        line = text.find("\n")
        if line < 0 and not final:
            return None
        end = len(text) if line < 0 else line
        return ("heading", "", text[heading.start() : end], end)
    item = _ITEM.match(text)
    lead = _list_mark(item.group()) if item else ""
    start = item.end() if item else 0
    kind: ClaimKind = "item" if item else "sentence"
    for match in _END.finditer(text, start, stop):
        before = text[start : match.start() + 1]
        if match.group().endswith("]") or not _NO_END.search(before):
            return kind, lead, text[start : match.end()], match.end()
    if is_open:
        return None
    end = stop
    if marks := _MARKS.match(text, stop):
        end = marks.end()
    rest = text[end:]
    if not final and (not rest.strip() or _PARTIAL_MARK.match(rest)):
        return None
    return kind, lead, text[start:end], end


def _code(text: str, fence: str, *, final: bool) -> tuple[ClaimKind, str, str, int] | None:
    match = _closing(fence).search(text)
    if match is None and not final:
        return None
    end = match.end() if match else len(text)
    if marks := _MARKS.match(text, end):
        end = marks.end()
    rest = text[end:]
    if not final and (not rest.strip() or _PARTIAL_MARK.match(rest)):
        return None
    return "code", "", text[:end], end


def _closing(fence: str) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]*{re.escape(fence[0])}{{{len(fence)},}}(?=[ \t]*(?:\n|\[\d|$))")


def _list_mark(mark: str) -> str:
    return f"{mark.strip()} " if mark[0].isdigit() else "- "


def _claim(kind: ClaimKind, raw: str, joint: str) -> Claim | None:
    cited = [int(n) for mark in _NUMBERS.findall(_outside_code(raw)) for n in _digits(mark)]
    text = _block(raw) if kind == "code" else _prose(raw)
    if not re.search(r"\w", text):
        return None
    return Claim(text, tuple(dict.fromkeys(cited)), joint, kind)


def _block(raw: str) -> str:
    """A code block: its language, its lines and its closing fence, also where the draft broke off."""
    opening = _FENCE.match(raw)
    if opening is None:
        return raw
    fence, info = opening.groups()
    closing = _closing(fence).search(raw)
    body = raw[opening.end() : closing.start() if closing else len(raw)].rstrip()
    if closing is None:
        body = re.sub(rf"\n[ \t]*{re.escape(fence[0])}+$", "", body)
    language = _LANGUAGE.match(info)
    return f"{fence}{language.group() if language else ''}{body}\n{fence}"


def _prose(raw: str) -> str:
    """A sentence without marks and markup, also such as appears where a mark or a space is taken out."""
    text = neutralise(raw)
    for _ in range(MAX_LAYERS):
        bare = " ".join(_without_marks(text).split())
        plain = neutralise(re.sub(r"\s+([.,;:!?])", r"\1", bare)).strip()
        if plain == text:
            return text
        text = plain
    return ""


def _outside_code(raw: str) -> str:
    fenced = r"(?<![`~])(`{3,}|~{3,})(?![`~]).*?\n\s*\1"
    return re.sub(rf"{fenced}|`[^`\n]*`", " ", raw, flags=re.DOTALL)


def _without_marks(text: str) -> str:
    parts = re.split(r"(`[^`\n]*`)", text)
    return "".join(
        part if i % 2 else re.sub(rf"\s?{_MARK}", "", part) for i, part in enumerate(parts)
    )


def _digits(mark: str) -> list[str]:
    return re.findall(r"\d+", mark)
