"""HTML and XHTML to a tree, within limits: parsing takes the square of how deep a page is nested."""

import re

from selectolax.lexbor import LexborHTMLParser

from askbook.errors import InvalidInput

MAX_CHARACTERS = 30_000_000
MAX_NESTING = 20_000
"""Elements of one name inside each other; parsing takes the square of it."""

_OPENING = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_SELF_CLOSED = re.compile(
    r"<([a-zA-Z][\w:.\-]*)((?:\s+[^\s<>\"'/=]+(?:\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))?)*\s*)/>"
)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def parse_html(markup: str) -> LexborHTMLParser:
    """The tree of a page; refuses what would take minutes to parse."""
    if len(markup) > MAX_CHARACTERS:
        raise InvalidInput(
            f"The page has {len(markup):,} characters; at most {MAX_CHARACTERS:,} are read.",
            "Split it into several pages.",
        )
    if "xmlns" in markup[:2000] or markup[:200].lstrip("\ufeff \r\n\t").startswith("<?xml"):
        markup = _SELF_CLOSED.sub(_opened_and_closed, markup)
    _refuse_deep(markup)
    return LexborHTMLParser(markup)


def _refuse_deep(markup: str) -> None:
    depths: dict[str, int] = {}
    for match in _OPENING.finditer(markup):
        name = match[2]
        depths[name] = depth = depths.get(name, 0) + (-1 if match[1] else 1)
        if depth > MAX_NESTING and name.lower() not in _VOID and name.lower() not in _UNCLOSED:
            raise InvalidInput(
                f"More than {MAX_NESTING:,} <{name}> stand inside each other.",
                "Leave the file out, or close its elements.",
            )


_UNCLOSED = frozenset("p li dt dd tr td th option thead tbody tfoot colgroup rt rp".split())
"""Elements that HTML lets end without a closing tag."""


def _opened_and_closed(match: re.Match[str]) -> str:
    # XHTML may close any element at once; to an HTML parser `<title/>` hides the rest of the page.
    if match[1].lower() in _VOID:
        return match[0]
    return f"<{match[1]}{match[2]}></{match[1]}>"
