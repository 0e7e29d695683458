"""The reading page: one lesson as safe HTML, with the passage an answer cites made visible.

Markdown is walked event by event, so that what a book says and what this page adds never mix:
private-use characters stand for headings and highlights while the HTML is sanitised, and turn
into our own tags afterwards. A book can therefore set no id, class, style or script.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote

import nh3

from askbook.api.marking import (
    CITED_CLOSE,
    CITED_ITEM,
    CITED_OPEN,
    END,
    HEADING,
    MARK_CLOSE,
    MARK_OPEN,
    REPLACE_STAND_INS,
    STAND_INS,
    Span,
    Writer,
    letters,
)
from askbook.book.lesson import Heading


@dataclass(frozen=True, slots=True)
class Highlight:
    """What to make visible: a stretch of a chunk's Markdown, or the whole chunk without offsets."""

    chunk_id: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class LessonPage:
    """All that the reading page shows; `chunks` are (id, Markdown) in lesson order, `root` leads to the chat page."""

    book_title: str
    page_title: str
    breadcrumb: str
    site_url: str | None
    chunks: tuple[tuple[str, str], ...]
    headings: tuple[Heading, ...] = ()
    highlight: Highlight | None = None
    root: str = "/"


def render_lesson(page: LessonPage) -> str:
    """A complete HTML document for `page`."""
    body = _render_body(page)
    title, book = html.escape(page.page_title), html.escape(page.book_title)
    heading = "" if body.opens_with_title else f"<h1>{title}</h1>\n"
    notice = "" if body.is_highlighted or page.highlight is None else _MOVED_NOTICE
    breadcrumb = html.escape(page.breadcrumb or page.book_title)
    bar = f'<span class="book">{book}</span>\n{_site_link(page.site_url)}'
    main = f"""<p class="breadcrumb">{breadcrumb}</p>
{notice}<article>
{heading}{body.markup}
</article>
"""
    return _document(f"{title} · {book}", page.root, bar, main)


def render_failure(message: str, suggestion: str, root: str) -> str:
    """A complete HTML document that says why a lesson is not shown."""
    main = f"""<article role="alert">
<h1>{html.escape(message)}</h1>
<p>{html.escape(suggestion)}</p>
</article>
"""
    return _document(html.escape(message), root, "", main)


def _document(title: str, root: str, bar: str, main: str) -> str:
    """The frame around a lesson; all but `root` is HTML already."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" href="{root}assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{root}assets/tokens.css">
<link rel="stylesheet" href="{root}assets/read.css">
<script src="{root}assets/theme.js"></script>
<script type="module" src="{root}assets/read.js"></script>
</head>
<body>
<header class="bar">
<a class="back" href="{root}">Back to chat</a>
{bar}</header>
<main>
{main}</main>
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


def render_passage(page: LessonPage) -> tuple[str, bool]:
    """The lesson alone, to stand inside another page, and whether the cited passage is in it.

    It carries no anchors: they would mix with the ids of the page around it.
    """
    body = _render_body(replace(page, headings=()))
    heading = "" if body.opens_with_title else f"<h1>{html.escape(page.page_title)}</h1>\n"
    markup = re.sub("<(pre|table)>", r'<\1 tabindex="0">', heading + body.markup)
    return markup, body.is_highlighted


@dataclass(frozen=True, slots=True)
class _Body:
    markup: str
    opens_with_title: bool
    is_highlighted: bool


_BETWEEN = "\n\n"


def _render_body(page: LessonPage) -> _Body:
    markdown, quote, chunk = _locate(page.chunks, page.highlight)
    # A quote inside raw HTML has no text of its own to mark: its chunk is shown instead.
    targets = [(quote, None), (None, chunk)] if quote else [(None, chunk)]
    # Raw HTML that would swallow or tear apart what we add is shown as text.
    attempts = [(*target, raw) for target in targets for raw in (True, False)]
    writer, cleaned = Writer(b"", None, None), ""
    for marked, cited, keeps_raw_html in attempts:
        writer = Writer(markdown.encode(), marked, cited, keeps_raw_html)
        written = writer.write(markdown)
        cleaned = sanitise(written, frozenset(heading.anchor for heading in page.headings))
        if (not marked or MARK_OPEN in written) and _survived(written, cleaned):
            break
    return _Body(
        markup=_fill_in(cleaned, _anchors(writer.headings, page.headings)),
        opens_with_title=writer.headings[:1] == [(1, letters(page.page_title))],
        is_highlighted=MARK_OPEN in cleaned or CITED_OPEN in cleaned or CITED_ITEM in cleaned,
    )


def _locate(
    chunks: Sequence[tuple[str, str]], highlight: Highlight | None
) -> tuple[str, Span | None, Span | None]:
    """The joined Markdown, and in it the quoted stretch and the chunk to show, if any."""
    texts = [text.translate(REPLACE_STAND_INS) for _, text in chunks]
    quote = chunk = None
    offset = 0
    for (chunk_id, _), text in zip(chunks, texts, strict=True):
        if highlight is not None and chunk is None and chunk_id == highlight.chunk_id:
            chunk = Span(offset, offset + len(text.encode()) + len(_BETWEEN))
            start, end = highlight.start, highlight.end
            if start is not None and end is not None and 0 <= start < end:
                skipped = offset + len(text[:start].encode())
                quote = Span(skipped, skipped + len(text[start:end].encode()))
        offset += len(text.encode()) + len(_BETWEEN)
    return _BETWEEN.join(texts), quote, chunk


def sanitise(markup: str, anchors: frozenset[str]) -> str:
    """What a page may show of `markup`: no script, style, class or id, no address but of the web and `anchors`."""

    def keep_own_anchors(url: str) -> str | None:
        return url if url.startswith("#") and unquote(url[1:]) in anchors else None

    def drop_stand_ins(_tag: str, _attribute: str, value: str) -> str:
        return value.translate(REPLACE_STAND_INS)

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
    if any(written.count(stand_in) != cleaned.count(stand_in) for stand_in in STAND_INS):
        return False
    return all(_is_balanced(part) for part in _CITED_PART.findall(cleaned))


_CITED_PART = re.compile(f"{CITED_OPEN}(.*?){CITED_CLOSE}", re.DOTALL)
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
    """For each heading on the page the anchor given for it, in order; none when it has none.

    Headings on one page of a PDF share theirs: the first has it.
    """
    position = 0
    used: set[str] = set()
    for key in written:
        for index in range(position, len(given)):
            if (given[index].level, letters(given[index].title)) == key:
                position = index + 1
                anchor = given[index].anchor
                yield "" if anchor in used else anchor
                used.add(anchor)
                break
        else:
            yield ""


def _fill_in(cleaned: str, anchors: Iterator[str]) -> str:
    """Our own tags in the place of their stand-ins."""

    def heading(match: re.Match[str]) -> str:
        anchor = next(anchors, "")
        if not match[1] or not anchor:
            return match[1] or ""
        return match[1].replace(">", f' id="{html.escape(anchor)}">', 1)

    markup = _HEADING_START.sub(heading, cleaned.replace(END, ""))
    markup = re.sub(f"{MARK_CLOSE}(\\s*){MARK_OPEN}", r"\1", markup)
    markup = markup.replace(f"<li>{CITED_ITEM}", '<li class="cited">').replace(CITED_ITEM, "")
    markup = markup.replace(CITED_OPEN, '<div class="cited">').replace(CITED_CLOSE, "</div>")
    markup = markup.replace(MARK_OPEN, "<mark>").replace(MARK_CLOSE, "</mark>")
    return re.sub(r'<mark>|<(?:li|div) class="cited">', _with_quote_id, markup, count=1)


_HEADING_START = re.compile(f"(<h[1-6]>(?:<[a-z]+>)*)?{HEADING}")


def _with_quote_id(tag: re.Match[str]) -> str:
    return tag[0].replace(">", ' id="quote">')
