"""The reading page: one lesson as safe HTML, with the passage an answer cites made visible.

Markdown is walked event by event, so that what a book says and what this page adds never mix:
private-use characters stand for headings and highlights while the HTML is sanitised, and turn
into our own tags afterwards. A book can therefore set no id, class, style or script.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import nh3
import pyromark
from pyromark.event import Event

from askbook.book.lesson import Heading


@dataclass(frozen=True, slots=True)
class Highlight:
    """What to make visible: a stretch of a chunk's Markdown, or the whole chunk without offsets."""

    chunk_id: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class LessonPage:
    """All that the reading page shows; `chunks` are (id, Markdown) in lesson order."""

    book_title: str
    page_title: str
    breadcrumb: str
    site_url: str | None
    chunks: tuple[tuple[str, str], ...]
    headings: tuple[Heading, ...] = ()
    highlight: Highlight | None = None


def render_lesson(page: LessonPage) -> str:
    """A complete HTML document for `page`."""
    body = _render_body(page)
    title, book = html.escape(page.page_title), html.escape(page.book_title)
    heading = "" if body.opens_with_title else f"<h1>{title}</h1>\n"
    notice = "" if body.is_highlighted or page.highlight is None else _MOVED_NOTICE
    breadcrumb = html.escape(page.breadcrumb or page.book_title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title} · {book}</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/read.css">
<script type="module" src="/assets/read.js"></script>
</head>
<body>
<header class="bar">
<a class="back" href="/">Back to chat</a>
<span class="book">{book}</span>
{_site_link(page.site_url)}</header>
<main>
<p class="breadcrumb">{breadcrumb}</p>
{notice}<article>
{heading}{body.markup}
</article>
</main>
</body>
</html>
"""


_MOVED_NOTICE = (
    '<p class="notice" role="status">The cited passage is no longer in this lesson: '
    "it has changed since the answer was written.</p>\n"
)


def _site_link(url: str | None) -> str:
    if url is None or not re.match(r"https?://", url, re.IGNORECASE):
        return ""
    link = html.escape(url)
    return f'<a class="site" href="{link}" rel="noopener noreferrer">Original page</a>\n'


# --- From chunks to the body of the page ---


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the joined Markdown, in UTF-8 bytes as the parser counts."""

    start: int
    end: int

    def overlaps(self, other: "_Span") -> bool:
        return self.start < other.end and other.start < self.end

    def contains(self, other: "_Span") -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class _Body:
    markup: str
    opens_with_title: bool
    is_highlighted: bool


# Stand-ins for our own tags while the sanitiser works.
_MARK_OPEN, _MARK_CLOSE, _HEADING, _CITED_OPEN, _CITED_CLOSE, _CITED_ITEM, _END = map(
    chr, range(0xE000, 0xE007)
)
_STAND_INS = (_MARK_OPEN, _MARK_CLOSE, _HEADING, _CITED_OPEN, _CITED_CLOSE, _CITED_ITEM, _END)
_REPLACE_STAND_INS = str.maketrans(dict.fromkeys(_STAND_INS, "\ufffd"))
_STAND_IN_REFERENCE = re.compile(
    r"&#(?:x0*e00[0-6](?![0-9a-f])|0*(?:5734[4-9]|57350)(?![0-9]));?", re.IGNORECASE
)

_BETWEEN = "\n\n"
_OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
)


def _render_body(page: LessonPage) -> _Body:
    markdown, quote, chunk = _locate(page.chunks, page.highlight)
    # A quote inside raw HTML has no text of its own to mark: its chunk is shown instead.
    targets = [(quote, None), (None, chunk)] if quote else [(None, chunk)]
    # Raw HTML that would swallow or tear apart what we add is shown as text.
    attempts = [(*target, raw) for target in targets for raw in (True, False)]
    writer, cleaned = _Writer(b"", None, None), ""
    for marked, cited, keeps_raw_html in attempts:
        writer = _Writer(markdown.encode(), marked, cited, keeps_raw_html)
        written = writer.write(markdown)
        cleaned = _sanitise(written, page.headings)
        if (not marked or _MARK_OPEN in written) and _survived(written, cleaned):
            break
    return _Body(
        markup=_fill_in(cleaned, _anchors(writer.headings, page.headings)),
        opens_with_title=writer.headings[:1] == [(1, _letters(page.page_title))],
        is_highlighted=_MARK_OPEN in cleaned or _CITED_OPEN in cleaned or _CITED_ITEM in cleaned,
    )


def _locate(
    chunks: Sequence[tuple[str, str]], highlight: Highlight | None
) -> tuple[str, _Span | None, _Span | None]:
    """The joined Markdown, and in it the quoted stretch and the chunk to show, if any."""
    texts = [text.translate(_REPLACE_STAND_INS) for _, text in chunks]
    quote = chunk = None
    offset = 0
    for (chunk_id, _), text in zip(chunks, texts, strict=True):
        if highlight is not None and chunk is None and chunk_id == highlight.chunk_id:
            chunk = _Span(offset, offset + len(text.encode()) + len(_BETWEEN))
            start, end = highlight.start, highlight.end
            if start is not None and end is not None and 0 <= start < end:
                skipped = offset + len(text[:start].encode())
                quote = _Span(skipped, skipped + len(text[start:end].encode()))
        offset += len(text.encode()) + len(_BETWEEN)
    return _BETWEEN.join(texts), quote, chunk


def _sanitise(markup: str, headings: Sequence[Heading]) -> str:
    anchors = {heading.anchor for heading in headings}

    def keep_own_anchors(url: str) -> str | None:
        return url if url.startswith("#") and unquote(url[1:]) in anchors else None

    def drop_stand_ins(_tag: str, _attribute: str, value: str) -> str:
        return value.translate(_REPLACE_STAND_INS)

    return nh3.clean(
        markup,
        tags=_TAGS,
        clean_content_tags={"script", "style", "template", "noscript", "iframe", "object", "svg"},
        attributes=_ATTRIBUTES,
        tag_attribute_values={"td": {"align": _ALIGNMENTS}, "th": {"align": _ALIGNMENTS}},
        attribute_filter=drop_stand_ins,
        url_schemes={"http", "https", "mailto"},
        url_relative=keep_own_anchors,
        link_rel="noopener noreferrer nofollow",
    )


_TAGS = set(
    "a abbr b blockquote br caption code dd del details dfn div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i ins kbd li ol p pre q s samp small span strong sub summary sup "
    "table tbody td tfoot th thead tr u ul var wbr".split()
)
_ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href"},
    "details": {"open"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
_ALIGNMENTS = {"left", "center", "right"}


def _survived(written: str, cleaned: str) -> bool:
    """Whether raw HTML of the book neither swallowed, moved nor added a stand-in."""
    if any(written.count(stand_in) != cleaned.count(stand_in) for stand_in in _STAND_INS):
        return False
    return all(_is_balanced(part) for part in _CITED_PART.findall(cleaned))


_CITED_PART = re.compile(f"{_CITED_OPEN}(.*?){_CITED_CLOSE}", re.DOTALL)
_TAG = re.compile(r'<(/?)([a-z0-9]+)(?: [a-z]+="[^"]*")*>')


def _is_balanced(markup: str) -> bool:
    depth = 0
    for tag in _TAG.finditer(markup):
        if tag[2] not in ("br", "hr", "wbr"):
            depth += -1 if tag[1] else 1
        if depth < 0:
            return False
    return depth == 0


def _anchors(written: Sequence[tuple[int, str]], given: Sequence[Heading]) -> Iterator[str]:
    """For each heading on the page the anchor given for it, in order; none when it has none."""
    position = 0
    for key in written:
        for index in range(position, len(given)):
            if (given[index].level, _letters(given[index].title)) == key:
                position = index + 1
                yield given[index].anchor
                break
        else:
            yield ""


def _letters(title: str) -> str:
    """A title less its markup, spacing and case."""
    return "".join(character for character in title.casefold() if character.isalnum())


def _fill_in(cleaned: str, anchors: Iterator[str]) -> str:
    """Our own tags in the place of their stand-ins."""

    def heading(match: re.Match[str]) -> str:
        anchor = next(anchors, "")
        if not match[1] or not anchor:
            return match[1] or ""
        return match[1].replace(">", f' id="{html.escape(anchor)}">', 1)

    markup = _HEADING_START.sub(heading, cleaned.replace(_END, ""))
    markup = re.sub(f"{_MARK_CLOSE}(\\s*){_MARK_OPEN}", r"\1", markup)
    markup = markup.replace(f"<li>{_CITED_ITEM}", '<li class="cited">').replace(_CITED_ITEM, "")
    markup = markup.replace(_CITED_OPEN, '<div class="cited">').replace(_CITED_CLOSE, "</div>")
    markup = markup.replace(_MARK_OPEN, "<mark>").replace(_MARK_CLOSE, "</mark>")
    return re.sub(r'<mark>|<(?:li|div) class="cited">', _with_quote_id, markup, count=1)


_HEADING_START = re.compile(f"(<h[1-6]>(?:<[a-z]+>)*)?{_HEADING}")


def _with_quote_id(tag: re.Match[str]) -> str:
    return tag[0].replace(">", ' id="quote">')


# --- Markdown events to HTML ---


@dataclass(slots=True)
class _Writer:
    """Writes the HTML of one document, with stand-ins for what is ours."""

    source: bytes
    quote: _Span | None
    cited: _Span | None
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
        titles = map(_letters, self.heading_titles)
        return list(zip(self.heading_levels, titles, strict=True))

    def write(self, markdown: str) -> str:
        for event, bounds in pyromark.events_with_range(markdown, options=_OPTIONS):
            span = _Span(bounds["start"], bounds["end"])
            if not self.closing:
                self._frame(event, span)
            self._event(event, span)
        self._set_cited(False)
        return "".join(self.out) + _END

    def _frame(self, event: Event, span: _Span) -> None:
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
            self.out.append(_CITED_OPEN if cited else _CITED_CLOSE)
            self.in_cited = cited

    def _event(self, event: Event, span: _Span) -> None:
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

    def _text(self, text: str, span: _Span) -> str:
        if self.in_heading:
            self.heading_titles[-1] += text
        if self.quote is None or not self.quote.overlaps(span):
            return _escape(text)
        data = text.encode()
        if data != self.source[span.start : span.end]:  # an escape or entity is marked as one
            return f"{_MARK_OPEN}{_escape(text)}{_MARK_CLOSE}"
        start = max(self.quote.start - span.start, 0)
        end = min(self.quote.end - span.start, len(data))
        before, marked, after = (
            _escape(part.decode()) for part in (data[:start], data[start:end], data[end:])
        )
        return f"{before}{_MARK_OPEN}{marked}{_MARK_CLOSE}{after}"

    def _inside_backticks(self, code: str, span: _Span) -> _Span:
        data = code.encode()
        offset = self.source[span.start : span.end].find(data)
        if offset < 0:
            return span
        return _Span(span.start + offset, span.start + offset + len(data))

    def _raw_html(self, raw: str) -> str:
        if not self.keeps_raw_html:
            return _escape(raw)
        return _SWALLOWING_TAG.sub("&lt;", _STAND_IN_REFERENCE.sub("\ufffd", raw))

    def _tags(self, event: Event, span: _Span) -> tuple[str, str]:
        """What opens and what closes the element that starts here."""
        match event:
            case {"Start": {"Heading": {"level": level}}}:
                self.heading_levels.append(int(level[1]))
                self.heading_titles.append("")
                self.in_heading = True
                return f"<{level.lower()}>{_HEADING}", f"</{level.lower()}>\n"
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
                return f"<li>{_CITED_ITEM if cited else ''}", "</li>\n"
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
    return html.escape(text.translate(_REPLACE_STAND_INS), quote=False)
