"""mdBook: order, titles and parts from SUMMARY.md, includes resolved, hidden lines left out."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from askbook.book import Book
from askbook.book.manifest import slugify
from askbook.ingestion.readers.anchors import MdbookAnchors
from askbook.ingestion.readers.base import Declared, Discovery
from askbook.ingestion.readers.markdown import Dialect, plain_text
from askbook.ingestion.readers.mdbook_includes import expand_includes
from askbook.ingestion.readers.places import ROOT_MODULE, Position
from askbook.ingestion.readers.site import Page, SiteReader

SUMMARY = "SUMMARY.md"
_ENTRY = re.compile(
    r"^(?P<indent>[ \t]*)(?P<bullet>[-*+]|\d+[.)])?[ \t]*\[(?P<title>(?:\\.|[^\]\\]|\](?!\())*)\]\((?P<path><[^>]*>|[^)]*)\)"
)
_PART = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$")


@dataclass(frozen=True, slots=True)
class Chapter:
    """An entry of SUMMARY.md; `numbers` is empty for chapters without a number."""

    source_file: str
    title: str
    part: str | None
    numbers: tuple[int, ...]
    chapter_title: str | None


@dataclass(frozen=True, slots=True)
class MdbookSite:
    """Where an mdBook keeps its pages, and the options of its `book.toml`."""

    root: Path
    config_file: Path | None
    options: dict[str, Any]


def find_mdbook(folder: Path, docs: Path | None) -> MdbookSite | None:
    """The mdBook in `folder`, or the one whose source `folder` is."""
    for candidate in (folder, folder.resolve().parent):
        config_file = candidate / "book.toml"
        if not config_file.is_file():
            continue
        options = _options(config_file)
        root = docs or candidate / str(_table(options, "book").get("src", "src"))
        if (root / SUMMARY).is_file() and (
            candidate == folder or root.resolve() == folder.resolve()
        ):
            return MdbookSite(root, config_file, options)
    for root in (docs, folder, folder / "src", folder / "docs"):
        if root is not None and (root / SUMMARY).is_file():
            return MdbookSite(root, None, {})
    return None


def read_summary(text: str) -> list[Chapter]:
    """The chapters of a SUMMARY.md in book order; drafts without a file are left out."""
    chapters: list[Chapter] = []
    part: str | None = None
    levels: list[
        tuple[int, int, str]
    ] = []  # (indentation, number, title) down to the current entry
    top = 0
    seen_entry = False
    for line in re.sub(r"<!--.*?-->", "", text, flags=re.S).split("\n"):
        heading = _PART.match(line)
        if heading is not None:
            if seen_entry or part is not None or not re.match(r"#[ \t]", line):
                part, levels = plain_text(heading[1]), []
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        seen_entry = True
        title = plain_text(entry["title"])
        path = entry["path"].strip("<> \t").split("#")[0].replace("%20", " ")
        numbers: tuple[int, ...] = ()
        if entry["bullet"]:
            indent = len(entry["indent"].expandtabs(4))
            while levels and levels[-1][0] > indent:
                levels.pop()
            if levels and levels[-1][0] == indent:
                number = levels.pop()[1] + 1
                if not levels:
                    top = number
            elif levels:
                number = 1
            else:
                number = top = top + 1
            levels.append((indent, number, title))
            numbers = tuple(level[1] for level in levels)
        chapter_title = levels[0][2] if entry["bullet"] else None
        if path:
            chapters.append(Chapter(path.removeprefix("./"), title, part, numbers, chapter_title))
    return chapters


class MdbookReader(SiteReader):
    """Parts are modules, numbered chapters are chapters, their sub-chapters lessons."""

    kind = "mdbook"
    names_carry_numbers = False

    def __init__(self, book: Book, folder: Path, site: MdbookSite) -> None:
        super().__init__(book, folder, site.root)
        self._site = site
        html = _table(_table(site.options, "output"), "html")
        self._smart = bool(html.get("smart-punctuation", html.get("curly-quotes", True)))
        hidden = _table(_table(html, "code"), "hidelines")
        self._hidden_prefixes = {str(key): str(value) for key, value in hidden.items()}

    def discover(self) -> Discovery:
        files: list[str] = []
        warnings: list[str] = []
        boundary = self.docs_root.resolve()
        for chapter in self._chapters:
            path = self.docs_root / chapter.source_file
            if not path.resolve().is_relative_to(boundary):
                warnings.append(
                    f"{SUMMARY}: {chapter.source_file} is outside the book; it was left out."
                )
            elif not path.is_file():
                warnings.append(
                    f"{SUMMARY}: {chapter.source_file} does not exist; it was left out."
                )
            elif chapter.source_file in files:
                warnings.append(
                    f"{SUMMARY}: {chapter.source_file} is listed twice; the first counts."
                )
            else:
                files.append(chapter.source_file)
        return Discovery(tuple(files), tuple(warnings))

    def configuration(self) -> Sequence[Path]:
        own = [self._site.config_file] if self._site.config_file else []
        return [*own, self.docs_root / SUMMARY]

    def order(self, source_file: str) -> Any:
        return self._index.get(source_file, len(self._index)), source_file

    def listed_title(self, source_file: str) -> str | None:
        index = self._index.get(source_file)
        return self._chapters[index].title or None if index is not None else None

    def route(self, source_file: str, fields: dict[str, Any]) -> str:  # noqa: ARG002 - a hook
        folder, _, name = source_file.rpartition("/")
        stem = name.rsplit(".", 1)[0]
        stem = "index" if stem.lower() == "readme" else stem
        site_url = str(_table(_table(self._site.options, "output"), "html").get("site-url", "/"))
        prefix = site_url.rstrip("/") if site_url.startswith("/") else ""
        return "/".join([prefix, *([folder] if folder else []), f"{stem}.html"])

    def positions(self, ordered: Sequence[Declared]) -> dict[str, Position]:
        positions: dict[str, Position] = {}
        for each in ordered:
            index = self._index.get(each.source_file)
            chapter = self._chapters[index] if index is not None else None
            part = chapter.part if chapter else None
            module = (slugify(part) or ROOT_MODULE) if part else ROOT_MODULE
            numbers = chapter.numbers if chapter else ()
            positions[each.source_file] = Position(
                module,
                part or self.book.title,
                f"{numbers[0]}" if numbers else "",
                chapter.chapter_title if chapter else None,
                numbers[0] if numbers else None,
            )
        return positions

    def declare(self, source_file: str, data: bytes) -> Declared:
        declared = super().declare(source_file, data)
        index = self._index.get(source_file)
        numbers = self._chapters[index].numbers if index is not None else ()
        lesson = numbers[1] if len(numbers) == 2 else None
        return replace(
            declared,
            lesson=declared.lesson if declared.lesson is not None else lesson,
            position=None,
            is_index=len(numbers) == 1,
        )

    def prepare(self, page: Page) -> Dialect:
        page.source = expand_includes(
            page.source, self.docs_root, self.folder, page.source_file, page.includes, page.warnings
        )
        return Dialect(
            lambda: MdbookAnchors(smart_punctuation=self._smart), visible_code=self._visible_code
        )

    def _visible_code(self, info: str, lines: list[str]) -> list[str]:
        words = re.split(r"[\s,]+", info)
        if words[0] == "rust" or "rust" in words:
            return _without_hidden_rust(lines)
        prefix = self._hidden_prefixes.get(words[0]) or next(
            (word.split("=", 1)[1] for word in words if word.startswith("hidelines=")), None
        )
        return [line for line in lines if not line.lstrip().startswith(prefix)] if prefix else lines

    @cached_property
    def _chapters(self) -> list[Chapter]:
        return read_summary(
            (self.docs_root / SUMMARY).read_text(encoding="utf-8-sig", errors="replace")
        )

    @cached_property
    def _index(self) -> dict[str, int]:
        index: dict[str, int] = {}
        for number, chapter in enumerate(self._chapters):
            index.setdefault(chapter.source_file, number)
        return index


def _without_hidden_rust(lines: list[str]) -> list[str]:
    shown: list[str] = []
    for line in lines:
        stripped = line.lstrip(" \t>")
        if stripped.startswith("##"):
            at = line.index("##")
            shown.append(line[:at] + line[at + 1 :])
        elif not (stripped == "#" or stripped.startswith("# ")):
            shown.append(line)
    return shown


def _options(config_file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(config_file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def _table(options: dict[str, Any], key: str) -> dict[str, Any]:
    value = options.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
