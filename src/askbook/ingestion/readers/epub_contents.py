"""The table of contents of an EPUB, of either kind, and what it says of each document."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from askbook.ingestion.readers.cleaning import clean

MAX_LEVELS = 6
_MAX_TITLE = 200

Line: TypeAlias = tuple[str, str, tuple[str, ...]]
"""What is linked, its title, and the titles above it."""


class Entry(NamedTuple):
    """A line of the contents that leads to a document."""

    document: str
    title: str
    above: tuple[str, ...]


def read_nav(tree: LexborHTMLParser) -> Iterator[Line]:
    """The lines of a navigation document (EPUB 3)."""
    navs = tree.css("nav")
    toc = [each for each in navs if "toc" in (each.attributes.get("epub:type") or "").split()]
    for nav in (toc or navs)[:1]:
        yield from _lines(nav, "li", _nav_label)


def read_ncx(tree: LexborHTMLParser) -> Iterator[Line]:
    """The lines of a navigation map (EPUB 2)."""
    for nav in tree.css("navmap")[:1]:
        yield from _lines(nav, "navpoint", _ncx_label)


def places_of(
    documents: Sequence[str], entries: Sequence[Entry]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """For each document its title and the parts it stands in; one without a line goes with the one before."""
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.document, entry)
    inside: dict[tuple[str, ...], set[str]] = {}
    for entry in first.values():
        whole = (*entry.above, entry.title)
        for level in range(1, len(whole) + 1):
            inside.setdefault(whole[:level], set()).add(entry.document)
    # What stands above lines of one document only is a heading in it.
    parts = {part for part, members in inside.items() if len(members) > 1}
    places: dict[str, tuple[str, tuple[str, ...]]] = {}
    title, sections = "", ()
    for document in documents:
        entry = first.get(document)
        if entry is not None:
            title = entry.title
            whole = (*entry.above, entry.title)
            known = [whole[:n] for n in range(len(whole), 0, -1) if whole[:n] in parts]
            sections = known[0] if known else ()
        places[document] = (title, sections)
    return places


def _lines(
    root: LexborNode, name: str, label: Callable[[LexborNode], tuple[str, str]]
) -> Iterator[Line]:
    """Down the tree in order, without recursion; titles deeper than a few levels are not kept."""
    stack: list[tuple[LexborNode, tuple[str, ...]]] = [(root, ())]
    while stack:
        node, above = stack.pop()
        if node.tag == name:
            href, title = label(node)
            if title and href:
                yield href, title, above
            if title and len(above) < MAX_LEVELS:
                above = (*above, title)
        child = node.last_child
        while child is not None:
            if child.is_element_node:
                stack.append((child, above))
            child = child.prev


def _nav_label(item: LexborNode) -> tuple[str, str]:
    for child in item.iter():
        if child.tag in ("a", "span"):
            return child.attributes.get("href") or "", _shown(child)
        if child.tag in ("ol", "ul"):
            break
    return "", ""


def _ncx_label(point: LexborNode) -> tuple[str, str]:
    href = title = ""
    for child in point.iter():
        if child.tag == "navlabel":
            title = _shown(child)
        elif child.tag == "content":
            href = child.attributes.get("src") or ""
    return href, title


def _shown(node: LexborNode) -> str:
    return " ".join(clean(node.text()).split())[:_MAX_TITLE]
