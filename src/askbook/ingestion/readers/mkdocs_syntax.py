"""The block syntax MkDocs sites add to Markdown, made readable: admonitions and content tabs."""

import re

from askbook.ingestion.readers.traced import Edit, TracedText

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_OPENING = re.compile(
    r"^(?P<indent>[ ]*)(?:(?P<mark>!!!|\?\?\?\+?)[ \t]+(?P<kind>[\w-]+)[^\"\n]*(?:\"(?P<title>[^\"\n]*)\")?"
    r"|===[+!]?[ \t]+\"(?P<tab>[^\"\n]*)\")[ \t]*$"
)
_WIDTH = 4


def plain_syntax(source: TracedText) -> TracedText:
    """`source` with each admonition's or tab's title as a line of text and its body moved left."""
    if not any(mark in source.text for mark in ("!!!", "???", "===")):
        return source
    edits: list[Edit] = []
    bodies: list[int] = []  # the column each open body starts at, outermost first
    fence: str | None = None
    position = 0
    for line in source.text.split("\n"):
        start, position = position, position + len(line) + 1
        width = len(line) - len(line.lstrip(" "))
        if not line.strip():
            continue
        while bodies and fence is None and width < bodies[-1]:
            bodies.pop()
        removed = min(width, _WIDTH * len(bodies))
        opened = _FENCE.match(line)
        if fence is not None:
            if opened and opened[1].startswith(fence) and not line.strip("`~ \t"):
                fence = None
        elif opened:
            fence = opened[1]
        else:
            match = _OPENING.match(line)
            if match is not None:
                bodies.append(width + _WIDTH)
                indent = " " * (width - removed)
                edits.append(Edit(start, start + len(line), indent + _label(match) + "\n"))
                continue
        if removed:
            edits.append(Edit(start, start + removed))
    return source.edited(edits)


def _label(match: re.Match[str]) -> str:
    if match["tab"] is not None:
        return f"**{match['tab'].strip()}**" if match["tab"].strip() else ""
    kind, title = match["kind"], match["title"]
    if title is not None and not title.strip():
        return ""  # an empty title hides the label on the site as well
    name = kind[0].upper() + kind[1:]
    return f"**{name}:** {title.strip()}" if title else f"**{name}:**"
