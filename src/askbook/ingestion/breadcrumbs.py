"""The line of titles put before a chunk's text when it is embedded."""

import re
from collections.abc import Sequence
from functools import lru_cache

from askbook.book import Heading, Lesson

_PART_LENGTH = 60
_WHOLE_LENGTH = 200
_ORDINAL = re.compile(
    r"^(?:(?:chapter|lesson|module|unit|part|section|week)\s+\d+(?:\.\d+)*\s*[:.)\-–—]+\s*"
    r"|\d+(?:\.\d+)+[.):]?\s+|\d+\s*[.):–—]\s+)(?=\S)",
    re.I,
)


def breadcrumb(lesson: Lesson, path: Sequence[Heading]) -> str:
    """Module, chapter, page and section titles, each once, without numbers, of bounded length."""
    titles = [
        lesson.module_title,
        lesson.chapter_title or "",
        lesson.page_title,
        *(heading.title for heading in path),
    ]
    parts: list[str] = []
    known: set[str] = set()
    for title in titles:
        part, folded = _part(title)
        if part and folded not in known:
            parts.append(part)
            known.add(folded)
    # The page and the nearest section say most; what is between goes first.
    while len(parts) > 2 and len(" > ".join(parts)) > _WHOLE_LENGTH:
        del parts[len(parts) // 2]
    return " > ".join(parts)


@lru_cache(4096)
def _part(title: str) -> tuple[str, str]:
    """A title as it stands in the line, and as it is compared; the same ones come again for every section."""
    part = _shortened(without_ordinal(" ".join(title.split())))
    return part, part.casefold()


def without_ordinal(title: str) -> str:
    """A title without the number it is listed under: `Lesson 3.2 — Poses` → `Poses`."""
    return _ORDINAL.sub("", title) or title


def _shortened(title: str) -> str:
    if len(title) <= _PART_LENGTH:
        return title
    cut = title[:_PART_LENGTH].rsplit(" ", 1)[0].rstrip(" ,;:-–—")
    return (cut or title[:_PART_LENGTH]) + "…"
