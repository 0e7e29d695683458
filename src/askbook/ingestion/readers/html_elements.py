"""What single elements of a page say: the language of code, the anchor of a heading, the kind of a table."""

import re
from collections.abc import Callable
from typing import TypeAlias

from selectolax.lexbor import LexborNode

from askbook.ingestion.readers.html_content import is_hidden

ToDo: TypeAlias = LexborNode | Callable[[], None]
"""A node to visit, or what to do when all of its children have been."""

HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_NOT_IN_CELLS = frozenset(("table", "pre", *HEADINGS))
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight|brush:)-?\s*([\w+#.\-]+)")
_PANDOC_LANGUAGE = re.compile(r"(?:^|\s)sourceCode\s+([\w+#.\-]+)")
_NO_LANGUAGE = frozenset(("default", "none", "notranslate", "text", "plaintext", "source", "code"))


def children(node: LexborNode) -> list[ToDo]:
    """The children, last one first."""
    found: list[ToDo] = []
    child = node.last_child
    while child is not None:
        found.append(child)
        child = child.prev
    return found


def is_data_table(table: LexborNode) -> bool:
    """Whether a table is one of data, and not one that arranges a page."""
    if table.attributes.get("role") in ("presentation", "none"):
        return False
    has_rows = False
    stack = children(table)
    while stack:
        item = stack.pop()
        if isinstance(item, LexborNode) and item.is_element_node:
            if item.tag in _NOT_IN_CELLS:
                return False  # the first one tells: tables may be nested by the thousand
            has_rows = has_rows or item.tag == "tr"
            stack.extend(children(item))
    return has_rows


def is_note_reference(link: LexborNode) -> bool:
    """Whether a link is the number of a note."""
    attributes = link.attributes
    told = attributes.get("role") == "doc-noteref" or "noteref" in (
        attributes.get("epub:type") or ""
    )
    return told and re.fullmatch(r"\[?[\w*†‡§]{1,4}\]?", link.text().strip()) is not None


def preformatted(node: LexborNode) -> str:
    """The text of code as it stands, with line breaks for `<br>` and without what is hidden."""
    parts: list[str] = []
    stack = children(node)
    while stack:
        item = stack.pop()
        if not isinstance(item, LexborNode):
            continue
        if item.is_text_node:
            parts.append(item.text_content or "")
        elif item.tag == "br":
            parts.append("\n")
        elif item.is_element_node and not is_hidden(item, item.tag or ""):
            stack.extend(children(item))
    return "".join(parts)


def language_of(pre: LexborNode) -> str:
    """The language a highlighter was told, as the class of the code or of what is around it says."""
    code = pre.css_first("code")
    above = pre.parent
    around = [code, pre, above, above.parent if above is not None else None]
    for node in around:
        if node is None:
            continue
        told = node.attributes.get("data-lang") or node.attributes.get("data-language")
        names = node.attributes.get("class") or ""
        match = _LANGUAGE.search(names) or _PANDOC_LANGUAGE.search(names)
        language = told or (match[1] if match else "")
        if re.fullmatch(r"[\w+#.\-]{1,30}", language) and language not in _NO_LANGUAGE:
            return language
    return ""


def anchor_of(heading: LexborNode) -> str:
    """The id that opens a heading: its own, that of a mark inside it, or that of the section it begins."""
    if own := heading.attributes.get("id"):
        return own
    inner = heading.css_first("[id], a[name]")
    if inner is not None:
        return inner.attributes.get("id") or inner.attributes.get("name") or ""
    section = heading.parent
    if section is None or section.tag not in ("section", "div", "header", "hgroup"):
        return ""
    if section.tag in ("header", "hgroup"):
        section = section.parent
    named = section.attributes.get("id") if section is not None else None
    first = section.css_first("h1, h2, h3, h4, h5, h6") if section is not None else None
    return named if named and first is not None and first.mem_id == heading.mem_id else ""
