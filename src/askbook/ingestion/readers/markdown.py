"""Markdown to blocks: one pass over pulldown-cmark's events, the source text kept as it was written."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyromark

from askbook.book import Block, Heading
from askbook.ingestion.readers.anchors import Anchors, GithubAnchors
from askbook.ingestion.readers.markup import (
    TAG,
    closing_names,
    is_markup,
    strip_html,
    visible_text,
)
from askbook.ingestion.readers.traced import TracedText

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
_HEADING_ID = re.compile(
    r"[ \t]*(?:\{:?[ \t]*#(?P<id>[^\s}]+)[^}]*\}|\{:?[ \t]*\.[^}]*\}|\[\[(?P<hf>[\w\-]+)\]\])[ \t]*$"
)
_ATX = re.compile(r"^[ \t>]*#{1,6}(?:[ \t]+|$)|(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"\n[ \t>]*(?:=+|-+)[ \t]*$")
_CLOSING_FENCE = re.compile(r"(?:^|\n)[ \t>]*(?:`{3,}|~{3,})[ \t]*$")
_TITLE_ATTRIBUTE = re.compile(r"""\btitle=(?:"([^"]*)"|'([^']*)')""")
_SHORT_LIST = 1000  # bytes; longer lists give one block per item, so that they split well


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between sites: anchors, indented code, and what a code block shows."""

    anchors: Callable[[], Anchors] = GithubAnchors
    h1_anchor: bool = True  # Docusaurus gives level-1 headings no id, yet counts them
    indented_code: bool = True
    visible_code: Callable[[str, list[str]], list[str]] | None = None


def read_blocks(source: TracedText, dialect: Dialect) -> list[Block]:
    """The visible text of a lesson, in blocks that splitting keeps whole when it can."""
    return _Blocks(source, dialect).read()


def plain_text(inline: str) -> str:
    """Inline Markdown without its marks: code, emphasis and links reduced to their text."""
    parts: list[str] = []
    for event in pyromark.events(inline, options=OPTIONS):
        if isinstance(event, dict):
            (kind, value), *_ = event.items()
            if kind in ("Text", "Code", "InlineMath", "DisplayMath"):
                parts.append(str(value))
        elif event != "Rule":
            parts.append(" ")
    return " ".join("".join(parts).split())


def split_heading_id(title: str) -> tuple[str, str | None]:
    """A heading without its explicit id (`{#id}`, `{: #id }`, `[[id]]`), and that id."""
    match = _HEADING_ID.search(title) if title.rstrip().endswith(("}", "]]")) else None
    if match is None:
        return title, None
    return title[: match.start()], match["id"] or match["hf"]


def _kind(tag: Any) -> str:
    return tag if type(tag) is str else next(iter(tag))


class _Blocks:
    """The state of one pass: byte offsets in, blocks with character offsets of the source out."""

    def __init__(self, source: TracedText, dialect: Dialect) -> None:
        self._source = source
        self._dialect = dialect
        self._data = source.text.encode("utf-8", "surrogatepass")
        self._ascii = len(self._data) == len(source.text)
        self._closed = closing_names(source.text)
        self._anchors: dict[str | None, Anchors] = {}
        self._blocks: list[Block] = []
        self._seen_bytes = self._seen_chars = 0

    def read(self) -> list[Block]:
        events: Any = pyromark.events_with_range(self._source.text, options=OPTIONS)
        for event, span in events:
            if type(event) is str:
                continue  # a rule shows no text
            tag = event.get("Start")
            if tag is None:
                continue
            start, end = span["start"], span["end"]
            kind = _kind(tag)
            if kind == "Heading":
                self._heading(int(tag["Heading"]["level"][1]), start, end, events)
            elif kind == "CodeBlock":
                self._code(tag["CodeBlock"], start, end, events)
            elif kind == "HtmlBlock":
                self._html(start, end, events)
            else:
                self._container(kind, start, end, events)
        return self._blocks

    def _heading(self, level: int, start: int, end: int, events: Any) -> None:
        edits: list[tuple[int, int, str]] = []
        parts: list[str] = []
        self._inline(events, edits, parts)
        raw = self._edited(start, end, edits).strip("\n")
        raw = _SETEXT.sub("", raw) if "\n" in raw else raw
        raw = _ATX.sub("", " ".join(raw.split("\n")))
        text, explicit = split_heading_id(raw.strip())
        title, _ = split_heading_id("".join(parts))
        anchor = self._anchor(start, title.strip(), explicit, level)
        title = " ".join(title.split())
        if title or text.strip():
            heading = Heading(level, title or plain_text(text), anchor)
            self._add("heading", f"{'#' * level} {text.strip()}", start, end, heading)

    def _anchor(self, start: int, title: str, explicit: str | None, level: int) -> str:
        scope = self._source.scope(self._char(start))
        if scope not in self._anchors:
            self._anchors[scope] = self._dialect.anchors()
        anchor = self._anchors[scope].anchor(title, explicit)
        return anchor if level > 1 or self._dialect.h1_anchor else ""

    def _code(self, kind: Any, start: int, end: int, events: Any) -> None:
        for event, _ in events:
            if type(event) is not str and "End" in event:
                break
        start = self._line_start(start)
        raw = self._slice(start, end).rstrip("\n")
        if kind == "Indented":
            is_code = self._dialect.indented_code
            text = raw if is_code else "\n".join(line.strip() for line in raw.split("\n"))
            self._add("code" if is_code else "text", text.strip("\n"), start, end)
        else:
            self._add("code", self._fenced(kind["Fenced"], raw), start, end)

    def _fenced(self, info: str, raw: str) -> str:
        opening, newline, rest = raw.partition("\n")
        info = info.strip()
        if info:
            language = re.split(r"[\s,{]", info, maxsplit=1)[0]
            title = _TITLE_ATTRIBUTE.search(info)
            label = f' title="{title[1] or title[2]}"' if title else ""
            marker = re.match(r"(.*?(?:`{3,}|~{3,}))", opening)
            opening = (marker[1] if marker else opening) + language + label
        if self._dialect.visible_code is not None and newline:
            rest = "\n".join(self._dialect.visible_code(info, rest.split("\n")))
        body = rest.rpartition("\n")[0] if _CLOSING_FENCE.search(rest) else rest
        return opening + newline + rest if body.strip(" \t\n>") else ""

    def _html(self, start: int, end: int, events: Any) -> None:
        for event, _ in events:
            if type(event) is not str and "End" in event:
                break
        start = self._line_start(start)
        for is_code, text in strip_html(self._slice(start, end), self._closed):
            self._add("code" if is_code else "text", text, start, end)

    def _container(self, kind: str, start: int, end: int, events: Any) -> None:
        """A paragraph, list, quote, table or note: whole lines, cut around code and list items."""
        edits: list[tuple[int, int, str]] = []
        cuts: list[tuple[int, int, str]] = []  # (start, end, kind) of parts that stand alone
        self._inline(events, edits, None, cuts, top_list=kind == "List")
        start = self._line_start(start)
        if kind == "List" and end - start <= _SHORT_LIST and all(c[2] == "item" for c in cuts):
            cuts = []
        if kind == "Table":
            self._add("table", self._edited(start, end, edits).strip("\n"), start, end)
            return
        position = start
        for cut_start, cut_end, cut_kind in cuts:
            line = max(position, self._line_start(cut_start))
            self._text(position, line, edits)
            position = line
            if cut_kind == "item":
                continue
            stop = self._data.find(b"\n", max(line, cut_end - 1))
            stop = end if stop < 0 else min(stop + 1, end)
            raw = self._edited(line, stop, edits).strip("\n")
            if cut_kind == "table":
                self._add("table", raw, line, stop)
            elif cut_kind.startswith("code:"):
                self._add("code", self._fenced(cut_kind[5:], raw), line, stop)
            else:
                self._add("code", raw, line, stop)
            position = stop
        self._text(position, end, edits)

    def _text(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> None:
        if end > start:
            text = self._edited(start, end, edits).rstrip().lstrip("\n")
            if text.strip(" \t\n>"):
                self._add("text", text, start, end)

    def _inline(
        self,
        events: Any,
        edits: list[tuple[int, int, str]],
        parts: list[str] | None,
        cuts: list[tuple[int, int, str]] | None = None,
        *,
        top_list: bool = False,
    ) -> None:
        """Consume one element's events; note edits for images, references and tags."""
        depth = 1
        image: tuple[int, int, int, list[str]] | None = None
        for event, span in events:
            if type(event) is str:
                if image is not None:
                    image[3].append(" ")
                if parts is not None:
                    parts.append(" ")
                continue
            (name, value), *_ = event.items()
            if name == "Start":
                depth += 1
                start, end = span["start"], span["end"]
                kind = _kind(value)
                if kind == "Image" and image is None:
                    if value["Image"]["link_type"] == "Collapsed":
                        end = self._collapsed_end(end)
                    image = (depth, start, end, [])
                elif kind == "Link":
                    self._reference(value["Link"], start, end, edits)
                elif kind == "Heading" and cuts is not None:
                    self._nested_heading(value["Heading"], start, end)
                elif cuts is not None and kind == "Item" and top_list and depth == 2:
                    cuts.append((start, end, "item"))
                elif cuts is not None and kind == "CodeBlock" and value["CodeBlock"] != "Indented":
                    cuts.append((start, end, "code:" + value["CodeBlock"]["Fenced"]))
                elif cuts is not None and kind == "Table":
                    cuts.append((start, end, "table"))
                elif cuts is not None and kind == "HtmlBlock":
                    self._nested_html(start, end, edits)
            elif name == "End":
                if image is not None and image[0] == depth:
                    edits.append((image[1], image[2], "".join(image[3]).strip()))
                    if parts is not None:
                        parts.extend(image[3])
                    image = None
                depth -= 1
                if depth == 0:
                    return
            elif name in ("Text", "Code", "InlineMath", "DisplayMath"):
                if image is not None:
                    image[3].append(value)
                elif parts is not None:
                    parts.append(value)
            elif name == "InlineHtml" and image is None:
                tag = TAG.fullmatch(value)
                if tag is not None and is_markup(tag, self._closed):
                    edits.append((span["start"], span["end"], visible_text(tag, inline=True)))
                elif tag is not None and parts is not None:
                    parts.append(value)

    def _nested_heading(self, data: Any, start: int, end: int) -> None:
        # It stays text, yet the site gives it an anchor, which later headings must not get.
        raw = _ATX.sub("", self._slice(start, end).strip("\n").split("\n")[0])
        text, explicit = split_heading_id(raw)
        self._anchor(start, plain_text(text), explicit, int(data["level"][1]))

    def _nested_html(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> None:
        raw = self._slice(start, end)
        text = "\n".join(part for _, part in strip_html(raw, self._closed))
        edits.append((start, end, text + "\n" if raw.endswith("\n") else text))

    def _reference(
        self, link: Any, start: int, end: int, edits: list[tuple[int, int, str]]
    ) -> None:
        """Write a reference link as an inline link: its definition may end up in another chunk."""
        kind = link["link_type"]
        if kind not in ("Reference", "Collapsed", "Shortcut"):
            return
        raw = self._data[start:end]
        tail = raw.rfind(b"][") if kind == "Reference" else len(raw) - 1
        if tail > 0:
            stop = self._collapsed_end(end) if kind == "Collapsed" else end
            edits.append((start + tail, stop, f"]({link['dest_url']})"))

    def _collapsed_end(self, end: int) -> int:
        # The span of a collapsed reference leaves out its empty brackets.
        return end + 2 if self._data[end : end + 2] == b"[]" else end

    def _edited(self, start: int, end: int, edits: list[tuple[int, int, str]]) -> str:
        parts: list[str] = []
        position = start
        for edit_start, edit_end, text in sorted(edits):
            if edit_start < position or edit_end > end:
                continue
            parts.append(self._slice(position, edit_start))
            parts.append(text)
            position = edit_end
        parts.append(self._slice(position, end))
        return "".join(parts)

    def _add(
        self, kind: Any, text: str, start: int, end: int, heading: Heading | None = None
    ) -> None:
        if not text.strip():
            return
        raw = self._data[start:end]
        trailing = len(raw) - len(raw.rstrip())
        first, last = self._source.origin(self._char(start), self._char(max(start, end - trailing)))
        self._blocks.append(Block(kind, text, first, last, heading))

    def _slice(self, start: int, end: int) -> str:
        return self._data[start:end].decode("utf-8", "surrogatepass")

    def _line_start(self, position: int) -> int:
        return self._data.rfind(b"\n", 0, position) + 1

    def _char(self, position: int) -> int:
        """Byte offset to character offset; cheap because positions come in order."""
        if self._ascii:
            return position
        if position < self._seen_bytes:
            behind = self._data[position : self._seen_bytes]
            self._seen_chars -= len(behind.decode("utf-8", "surrogatepass"))
        else:
            ahead = self._data[self._seen_bytes : position]
            self._seen_chars += len(ahead.decode("utf-8", "surrogatepass"))
        self._seen_bytes = position
        return self._seen_chars
