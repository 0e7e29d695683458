"""Which part of an HTML page is the page, and which elements of it nobody reads."""

import re
from itertools import islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

SKIPPED = frozenset(
    "script style template noscript noembed noframes svg iframe object embed canvas video audio progress meter "
    "nav head title button select textarea datalist dialog map area link meta base rp annotation annotation-xml".split()
)
_AROUND = frozenset(("header", "footer", "aside"))
_NO_CONTENT_CLASSES = frozenset(
    # What site generators put beside their text: tables of contents, line numbers, links to edit a page.
    "table-of-contents theme-doc-toc-mobile theme-doc-toc-desktop theme-doc-breadcrumbs "
    "theme-doc-footer sphinxsidebar related toctree-wrapper-hidden breadcrumb breadcrumbs rst-breadcrumbs-buttons "
    "edit-this-page pagination-nav nav-wrapper nav-chapters linenos lineno linenodiv gutter line-number "
    "line-numbers-rows boring katex-html MathJax_Preview MathJax_SVG sr-only visually-hidden "
    "screen-reader-text skip-link mw-editsection copybtn clipboard footnote-back footnote-backref fn-backref".split()
)
_NO_CONTENT_ROLES = frozenset(
    ("navigation", "search", "banner", "contentinfo", "doc-toc", "doc-backlink")
)
_PERMALINK_CLASSES = frozenset(
    "headerlink hash-link header-anchor heading-anchor anchor-link anchorjs-link permalink".split()
)
_PERMALINK_SIGNS = frozenset(("", "#", "¶", "§", "🔗", "⚓", "∞"))
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def content_of(tree: LexborHTMLParser, *, is_site: bool) -> LexborNode | None:
    """The element that holds the page's own text; None when the page has no body.

    On a site, what stands around the text is left out; the documents of an e-book are text as a whole.
    """
    body = tree.body
    if body is None or not is_site:
        return body
    for selector in ("main", '[role="main"]'):
        found = _shown(body.css(selector), body)
        if len(found) == 1:
            return found[0]
    return _article_in(body) or _without_surroundings(body)


def is_hidden(node: LexborNode, tag: str) -> bool:
    """Whether an element shows nothing to a reader of the page, or stands beside its text."""
    if is_unseen(node, tag):
        return True
    attributes = node.attributes
    if not attributes:
        return False
    if (attributes.get("role") or "") in _NO_CONTENT_ROLES:
        return True
    names = (attributes.get("class") or "").split()
    if not _NO_CONTENT_CLASSES.isdisjoint(names):
        return True
    return tag == "a" and _is_permalink(node, names)


def is_unseen(node: LexborNode, tag: str) -> bool:
    """Whether a browser shows nothing of an element."""
    if tag in SKIPPED:
        return True
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style") or "") is not None
    )


def is_inside_unseen(node: LexborNode, root: LexborNode) -> bool:
    """Whether a browser shows nothing of an element, or of one around it within `root`."""
    above: LexborNode | None = node
    while above is not None and above.mem_id != root.mem_id:
        if is_unseen(above, above.tag or ""):
            return True
        above = above.parent
    return False


def _is_permalink(node: LexborNode, names: list[str]) -> bool:
    if not _PERMALINK_CLASSES.isdisjoint(names):
        return True
    if "#" not in (node.attributes.get("href") or ""):
        return False
    return node.text().strip("\u200b \t\r\n") in _PERMALINK_SIGNS and not node.css("img")


def _article_in(node: LexborNode) -> LexborNode | None:
    """The one article that is most of what is there."""
    found = _shown(node.css("article"), node)
    if len(found) != 1:
        return None
    return found[0] if 2 * len(found[0].text()) >= len(_text_of(node)) else None


def _shown(nodes: list[LexborNode], root: LexborNode) -> list[LexborNode]:
    """Those that a reader sees, as many as it takes to tell one from several."""
    seen = (node for node in nodes if not is_inside_unseen(node, root))
    return list(islice(seen, 2))


def _text_of(node: LexborNode) -> str:
    copy = node.clone()
    for each in copy.css(", ".join(sorted((SKIPPED - {"title"}) | _AROUND))):
        each.decompose()
    return copy.text()


def _without_surroundings(body: LexborNode) -> LexborNode:
    """The body less its header, footer and asides; a header stays when it holds the only title."""
    titles = body.css("h1")
    for each in body.css("header, footer, aside"):
        if _is_inside(each, ("article", "section", "blockquote", "figure", "main")):
            continue
        holds_title = len(titles) == 1 and bool(each.css("h1"))
        if each.tag == "header" and holds_title and not each.css("nav, h1 a[href], a[href] h1"):
            continue
        each.decompose()
    return body


def _is_inside(node: LexborNode, names: tuple[str, ...]) -> bool:
    above = node.parent
    while above is not None:
        if above.tag in names:
            return True
        above = above.parent
    return False
