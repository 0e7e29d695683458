"""Docusaurus: routes, categories, drafts and partials as the built site has them."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from askbook.book import Book
from askbook.ingestion.readers.base import Discovery
from askbook.ingestion.readers.docusaurus_categories import (
    CATEGORY_FILES,
    Categories,
    load_categories,
)
from askbook.ingestion.readers.docusaurus_config import SiteConfig, read_site_config
from askbook.ingestion.readers.docusaurus_versions import (
    LEVELS_UP,
    Edition,
    edition_of,
    route_prefix,
)
from askbook.ingestion.readers.docusaurus_versions import LIST as VERSIONS
from askbook.ingestion.readers.frontmatter import (
    decode,
    frontmatter_end,
    read_frontmatter,
    read_string,
)
from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.site import Page, SiteReader
from askbook.ingestion.readers.traced import TracedText
from askbook.ingestion.readers.walk import SUFFIXES

_CONFIGS = tuple(f"docusaurus.config.{suffix}" for suffix in ("ts", "js", "mjs", "cjs"))
_IGNORED_PREFIX = re.compile(r"^\d+[-_.]\d+")
_NUMBER_PREFIX = re.compile(r"^(\d+)\s*[-_.]+\s*([^-_.\s].*)$")
_HIGHLIGHT = re.compile(
    r"^\s*(?://|#|--|/\*|<!--|\{/\*|%|;|REM)\s*highlight-(?:next-line|start|end)\s*(?:\*/\}?|-->)?\s*$"
)
_DRAFT = re.compile(rb"^draft:\s*[\"']?true\b", re.M)
_FRONTMATTER_STYLE = re.compile(rb"^(?:sidebar_position|sidebar_label|pagination_next|slug):", re.M)
_MAX_PARTIAL_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Site:
    """A Docusaurus site: its folder, its configuration file if there is one, its docs."""

    folder: Path
    config_file: Path | None
    docs_root: Path
    config: SiteConfig
    edition: Edition


def find_docusaurus(folder: Path, docs: Path | None) -> Site | None:
    """The site whose configuration is in `folder` or above it, or whose lessons are written for it."""
    for candidate in (folder, *folder.resolve().parents[:LEVELS_UP]):
        config_file = next((candidate / n for n in _CONFIGS if (candidate / n).is_file()), None)
        if config_file is None:
            continue
        config = read_site_config(config_file)
        if candidate == folder:
            own = candidate / config.path
            root = docs or (own if own.is_dir() else folder)
            edition = edition_of(candidate, root, config) or Edition()
            return Site(candidate, config_file, root, config, edition)
        edition = edition_of(candidate, folder, config)
        if edition is not None:
            return Site(candidate, config_file, docs or folder, config, edition)
    for root in (docs, folder / "docs", folder):
        if root is not None and root.is_dir() and _written_for_docusaurus(root):
            return Site(folder, None, root, SiteConfig(), Edition())
    return None


class DocusaurusReader(SiteReader):
    """Everything, `.md` too, is MDX; names lose their number prefixes on the way to a route."""

    kind = "docusaurus"

    def __init__(self, book: Book, folder: Path, site: Site) -> None:
        super().__init__(book, folder, site.docs_root)
        self._site = site

    @cached_property
    def _categories(self) -> Categories:
        return load_categories(self.docs_root)

    @cached_property
    def _prefix(self) -> str:
        return route_prefix(self._site.folder, self._site.edition, self._site.config)

    def discover(self) -> Discovery:
        found = super().discover()
        drafts = {name for name in found.files if self._is_draft(name)}
        warnings = [
            f"{name} is a draft (`draft: true`); it was left out." for name in sorted(drafts)
        ]
        files = tuple(name for name in found.files if name not in drafts)
        return Discovery(files, (*found.warnings, *self._categories.warnings, *warnings))

    def configuration(self) -> Sequence[Path]:
        own = [self._site.config_file] if self._site.config_file else []
        versions = self._site.folder / VERSIONS
        return [*own, *([versions] if versions.is_file() else []), *self._categories.files]

    def is_index(self, source_file: str) -> bool:
        folder, _, _ = source_file.rpartition("/")
        if _is_category_index(source_file):
            return True
        linked = self._categories.linked_doc(folder)
        return linked is not None and (
            linked.rpartition("/")[2] == strip_number_prefix(Path(source_file).stem)
        )

    def route(self, source_file: str, fields: dict[str, Any]) -> str:
        config = self._site.config
        folder = source_file.rpartition("/")[0]
        names = [strip_number_prefix(name) for name in folder.split("/")] if folder else []
        directory = "/" + "".join(f"{name}/" for name in names)
        slug = read_string(fields, "slug")
        if slug is not None and slug.startswith("/"):
            path = slug
        elif slug is None and _is_category_index(source_file):
            path = directory
        else:
            base = slug or read_string(fields, "id") or strip_number_prefix(Path(source_file).stem)
            path = urljoin(directory, base.replace(":", "%3A"))
        url = re.sub(r"/{2,}", "/", f"{self._prefix}/{path}")
        if config.trailing_slash is True and not url.endswith("/"):
            url += "/"
        elif config.trailing_slash is False and url.rstrip("/") != config.base_url.rstrip("/"):
            url = url.rstrip("/")
        return url

    def folder_title(self, folder: str) -> str | None:
        return self._categories.label(folder)

    def folder_number(self, folder: str) -> int | None:
        return self._categories.position(folder)

    def prepare(self, page: Page) -> Dialect:
        page.source = self._strip(page.source, page, self.docs_root / page.source_file, ())
        return Dialect(h1_anchor=False, indented_code=False, visible_code=_visible_code)

    def _strip(
        self, source: TracedText, page: Page, path: Path, parents: tuple[Path, ...]
    ) -> TracedText:
        def partial(name: str, specifier: str) -> str | None:
            if not specifier.lower().endswith(SUFFIXES):
                return None
            target = self._resolve(specifier, path)
            if target is not None:
                page.includes.append(_relative(target, self.docs_root))  # missing ones may appear
            problem = _problem(target, path.resolve(), parents)
            if target is None or problem is not None:
                page.warnings.append(
                    f"{_relative(path, self.docs_root)}: <{name} /> is imported from {specifier}, "
                    f"{problem}; it was left out."
                )
                return ""
            inner = self.source(decode(specifier, target.read_bytes()))
            return self._strip(inner, page, target, (*parents, path.resolve())).text

        return strip_mdx(source, partial)

    def _resolve(self, specifier: str, path: Path) -> Path | None:
        if specifier.startswith("@site/"):
            target = self._site.folder / specifier[len("@site/") :]
        elif specifier.startswith("."):
            target = path.parent / specifier
        else:
            return None
        resolved = target.resolve()
        inside = any(
            resolved.is_relative_to(root.resolve()) for root in (self._site.folder, self.docs_root)
        )
        return resolved if inside else None

    def _is_draft(self, source_file: str) -> bool:
        try:
            with (self.docs_root / source_file).open("rb") as file:
                head = file.read(8192)
        except OSError:
            return False
        if not _DRAFT.search(head):
            return False
        text = head.decode("utf-8", "replace")
        return frontmatter_end(text) > 1 and (
            read_frontmatter(source_file, text).fields.get("draft") in (True, "true")
        )


def strip_number_prefix(name: str) -> str:
    """`01-intro` → `intro`; names that look like dates or versions stay."""
    match = None if _IGNORED_PREFIX.match(name) else _NUMBER_PREFIX.match(name)
    return match[2] if match else name


def _problem(target: Path | None, path: Path, parents: tuple[Path, ...]) -> str | None:
    if target is None:
        return "which is outside the book"
    if target in (path, *parents) or len(parents) >= _MAX_PARTIAL_DEPTH:
        return "which includes itself"
    return None if target.is_file() else "which does not exist"


def _is_category_index(source_file: str) -> bool:
    folders = source_file.split("/")[:-1]
    stem = Path(source_file).stem.lower()
    return stem in ("index", "readme") or (bool(folders) and stem == folders[-1].lower())


def _visible_code(_info: str, lines: list[str]) -> list[str]:
    if not any("highlight-" in line for line in lines):
        return lines
    return [line for line in lines if not _HIGHLIGHT.match(line)]


def _written_for_docusaurus(root: Path) -> bool:
    if any(
        (folder / name).is_file()
        for name in CATEGORY_FILES
        for folder in (root, *_subfolders(root))
    ):
        return True
    for path in sorted(root.glob("*.mdx"))[:50] + sorted(root.glob("*/*.mdx"))[:50]:
        try:
            with path.open("rb") as file:
                head = file.read(2048)
        except OSError:
            continue
        if head.lstrip(b"\xef\xbb\xbf").startswith(b"---") and _FRONTMATTER_STYLE.search(head):
            return True
    return False


def _subfolders(root: Path) -> list[Path]:
    try:
        return [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    except OSError:
        return []


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path.resolve(), root.resolve())).as_posix()
