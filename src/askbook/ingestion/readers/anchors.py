"""Heading anchors as each site generator makes them."""

import re
import unicodedata
from typing import Protocol

_CATEGORY_KEPT = frozenset(
    ("Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Me", "Nd", "Pc"),
)
_COUNTED = re.compile(r"^(.*)_([0-9]+)$")


class Anchors(Protocol):
    """Gives every heading of a page its anchor; knows the ones given before."""

    def anchor(self, title: str, explicit: str | None) -> str:
        """The anchor, without `#`, of a heading with this text or with an id of its own."""
        ...


class GithubAnchors:
    """The rule of github-slugger: GitHub, Docusaurus, most JavaScript sites."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def anchor(self, title: str, explicit: str | None) -> str:
        if explicit is not None:
            return explicit
        slug = given = github_slug(title)
        while given in self._seen:
            self._seen[slug] += 1
            given = f"{slug}-{self._seen[slug]}"
        self._seen[given] = 0
        return given


class MdbookAnchors:
    """mdBook's rule: letters, digits, `_` and `-` stay, whitespace becomes `-`; repeats count up."""

    def __init__(self, *, smart_punctuation: bool = True) -> None:
        self._smart = smart_punctuation
        self._seen: set[str] = set()

    def anchor(self, title: str, explicit: str | None) -> str:
        slug = explicit if explicit is not None else self._slug(title)
        given, count = slug, 0
        while given in self._seen:
            count += 1
            given = f"{slug}-{count}"
        self._seen.add(given)
        return given

    def _slug(self, title: str) -> str:
        # With smart punctuation, runs of hyphens are dashes by the time ids are made.
        text = re.sub(r"---?", "", title) if self._smart else title
        kept: list[str] = []
        for char in text.strip():
            if char.isalnum() or char in "_-":
                kept.append(char.lower())
            elif char.isspace():
                kept.append("-")
        return "".join(kept)


class PythonMarkdownAnchors:
    """The rule of Python-Markdown's `toc` extension: MkDocs."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def anchor(self, title: str, explicit: str | None) -> str:
        if explicit is not None:
            self._seen.add(explicit)
            return explicit
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        plain = re.sub(r"[^\w\s-]", "", plain).strip().lower()
        given = re.sub(r"[-\s]+", "-", plain)
        while given in self._seen or not given:
            counted = _COUNTED.match(given)
            given = f"{counted[1]}_{int(counted[2]) + 1}" if counted else f"{given}_1"
        self._seen.add(given)
        return given


def github_slug(title: str) -> str:
    """Lower case; letters, marks, digits, `_` and `-` stay, a space becomes `-`, the rest goes."""
    lowered = title.lower()
    if lowered.isascii():
        return re.sub(r"[^a-z0-9_ \-]", "", lowered).replace(" ", "-")
    return "".join(char for char in lowered if _kept(char)).replace(" ", "-")


def _kept(char: str) -> bool:
    if char in " -":
        return True
    if unicodedata.category(char) in _CATEGORY_KEPT:
        return True
    code = ord(char)  # enclosed letters count as alphabetic although they are symbols
    return 0x24B6 <= code <= 0x24E9 or 0x1F130 <= code <= 0x1F149 or 0x1F150 <= code <= 0x1F189
