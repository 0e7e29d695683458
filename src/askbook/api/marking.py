"""Writes a lesson's Markdown as HTML, with stand-ins where the page adds anchors and highlights of its own."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyromark
from pyromark.event import Event

# Stand-ins for our own tags while the sanitiser works.
MARK_OPEN, MARK_CLOSE, HEADING, CITED_OPEN, CITED_CLOSE, CITED_ITEM, END = map(
    chr, range(0xE000, 0xE007)
)
STAND_INS = (MARK_OPEN, MARK_CLOSE, HEADING, CITED_OPEN, CITED_CLOSE, CITED_ITEM, END)
REPLACE_STAND_INS = str.maketrans(dict.fromkeys(STAND_INS, "\ufffd"))
_STAND_IN_REFERENCE = re.compile(
    r"&#(?:x0*e00[0-6](?![0-9a-f])|0*(?:5734[4-9]|57350)(?![0-9]));?", re.IGNORECASE
)
_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the joined Markdown, in UTF-8 bytes as the parser counts."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, other: "Span") -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(slots=True)
class Writer:
    """Writes the HTML of one document, with stand-ins for what is ours."""

    source: bytes
    quote: Span | None
    cited: Span | None
    keeps_raw_html: bool = False
    out: list[str] = field(default_factory=list[str])
    closing: list[str] = field(default_factory=list[str])
    heading_levels: list[int] = field(default_factory=list[int])
    heading_titles: list[str] = field(default_factory=list[str])
    in_heading: bool = False
    in_cited: bool = False
    cites_items: bool = False
    alignments: Sequence[str] = ()
    column: int = 0
    cell: str = "td"

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and letters of each heading, in order."""
        titles = map(letters, self.heading_titles)
        return list(zip(self.heading_levels, titles, strict=True))

    def write(self, markdown: str) -> str:
        for event, bounds in pyromark.events_with_range(markdown, options=_OPTIONS):
            span = Span(bounds["start"], bounds["end"])
            if not self.closing:
                self._frame(event, span)
            self._event(event, span)
        self._set_cited(False)
        return "".join(self.out) + END

    def _frame(self, event: Event, span: Span) -> None:
        """Open or close the frame around the cited chunk; a longer list is framed by item."""
        overlaps = self.cited is not None and self.cited.overlaps(span)
        is_whole = self.cited is not None and self.cited.contains(span)
        match event:
            case {"Start": {"List": _}}:
                self.cites_items = overlaps and not is_whole
            case _:
                self.cites_items = False
        self._set_cited(overlaps and not self.cites_items)

    def _set_cited(self, cited: bool) -> None:
        if cited != self.in_cited:
            self.out.append(CITED_OPEN if cited else CITED_CLOSE)
            self.in_cited = cited

    def _event(self, event: Event, span: Span) -> None:
        match event:
            case "SoftBreak":
                self.out.append("\n")
            case "HardBreak":
                self.out.append("<br>\n")
            case "Rule":
                self.out.append("<hr>\n")
            case {"Text": text}:
                self.out.append(self._text(text, span))
            case {"Code": code}:
                inside = self._text(code, self._inside_backticks(code, span))
                self.out.append(f"<code>{inside}</code>")
            case {"Html": raw} | {"InlineHtml": raw}:
                self.out.append(self._raw_html(raw))
            case {"FootnoteReference": label}:
                self.out.append(f"<sup>[{_escape(label)}]</sup>")
            case {"TaskListMarker": is_done}:
                self.out.append("☑ " if is_done else "☐ ")
            case {"Start": _}:
                opening, closing = self._tags(event, span)
                self.out.append(opening)
                self.closing.append(closing)
            case {"End": tag}:
                self.in_heading = self.in_heading and not _is_heading(tag)
                self.out.append(self.closing.pop())
            case _:  # mathematics is not parsed: it stays text
                pass

    def _text(self, text: str, span: Span) -> str:
        if self.in_heading:
            self.heading_titles[-1] += text
        if self.quote is None or not self.quote.overlaps(span):
            return _escape(text)
        data = text.encode()
        if data != self.source[span.start : span.end]:  # an escape or entity is marked as one
            return f"{MARK_OPEN}{_escape(text)}{MARK_CLOSE}"
        start = max(self.quote.start - span.start, 0)
        end = min(self.quote.end - span.start, len(data))
        before, marked, after = (
            _escape(part.decode()) for part in (data[:start], data[start:end], data[end:])
        )
        return f"{before}{MARK_OPEN}{marked}{MARK_CLOSE}{after}"

    def _inside_backticks(self, code: str, span: Span) -> Span:
        data = code.encode()
        offset = self.source[span.start : span.end].find(data)
        if offset < 0:
            return span
        return Span(span.start + offset, span.start + offset + len(data))

    def _raw_html(self, raw: str) -> str:
        if not self.keeps_raw_html:
            return _escape(raw)
        return _SWALLOWING_TAG.sub("&lt;", _STAND_IN_REFERENCE.sub("\ufffd", raw))

    def _tags(self, event: Event, span: Span) -> tuple[str, str]:
        """What opens and what closes the element that starts here."""
        match event:
            case {"Start": {"Heading": {"level": level}}}:
                self.heading_levels.append(int(level[1]))
                self.heading_titles.append("")
                self.in_heading = True
                return f"<{level.lower()}>{HEADING}", f"</{level.lower()}>\n"
            case {"Start": {"BlockQuote": kind}}:
                title = f"<p><strong>{kind}</strong></p>\n" if kind else ""
                return f"<blockquote>\n{title}", "</blockquote>\n"
            case {"Start": {"CodeBlock": _}}:
                return "<pre><code>", "</code></pre>\n"
            case {"Start": {"List": first}}:
                opening = "<ul>\n" if first is None else f'<ol start="{first}">\n'
                return opening, "</ul>\n" if first is None else "</ol>\n"
            case {"Start": "Item"}:
                cited = self.cites_items and self.cited is not None and self.cited.overlaps(span)
                return f"<li>{CITED_ITEM if cited else ''}", "</li>\n"
            case {"Start": {"FootnoteDefinition": label}}:
                return f"<div><sup>[{_escape(label)}]</sup>\n", "</div>\n"
            case {"Start": {"Link": {"dest_url": url}}}:
                return _link(url)
            case {"Start": {"Image": {"dest_url": url}}}:
                return _image(url, is_linked="</a>" in self.closing)
            case {"Start": {"Table": alignments}}:
                self.alignments = alignments
                return "<table>", "</tbody></table>\n"
            case {"Start": "TableHead" | "TableRow" | "TableCell" as part}:
                return self._table_part(part)
            case {"Start": str(name)}:
                return _PLAIN_TAGS.get(name, ("", ""))
            case _:  # extensions that are not enabled
                return "", ""

    def _table_part(self, part: str) -> tuple[str, str]:
        if part == "TableCell":
            alignment = self.alignments[self.column].lower()
            self.column += 1
            align = "" if alignment == "none" else f' align="{alignment}"'
            return f"<{self.cell}{align}>", f"</{self.cell}>"
        self.column = 0
        if part == "TableHead":
            self.cell = "th"
            return "<thead><tr>", "</tr></thead><tbody>\n"
        self.cell = "td"
        return "<tr>", "</tr>\n"


# Tags after which a browser reads no tags: they would take the rest of the lesson with them.
_SWALLOWING_TAG = re.compile(
    r"<(?=/?(?:plaintext|xmp|textarea|title|noembed|noframes|select)\b)", re.IGNORECASE
)

_PLAIN_TAGS = {
    "Paragraph": ("<p>", "</p>\n"),
    "Emphasis": ("<em>", "</em>"),
    "Strong": ("<strong>", "</strong>"),
    "Strikethrough": ("<del>", "</del>"),
}


def _is_heading(tag: object) -> bool:
    return isinstance(tag, dict) and "Heading" in tag


def _link(url: str) -> tuple[str, str]:
    """A link to the web or to an anchor; other relative links lead nowhere here and stay text."""
    if not re.match(r"https?:|mailto:|#", url, re.IGNORECASE):
        return "", ""
    return f'<a href="{html.escape(url)}">', "</a>"


def _image(url: str, *, is_linked: bool) -> tuple[str, str]:
    """Pictures are not stored with a book: their description stands for them."""
    opening, closing = ("", "") if is_linked or url.startswith("#") else _link(url)
    return f"{opening}<em>Image: ", f"</em>{closing}"


def _escape(text: str) -> str:
    return html.escape(text.translate(REPLACE_STAND_INS), quote=False)


def letters(title: str) -> str:
    """A title less its markup, spacing and case."""
    return "".join(character for character in title.casefold() if character.isalnum())
