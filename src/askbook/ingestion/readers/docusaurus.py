"""Docusaurus: routes, categories, drafts and partials as the built site has them."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import urljoin

import yaml

from askbook.book import Book
from askbook.ingestion.readers.anchors import GithubAnchors
from askbook.ingestion.readers.base import Discovery
from askbook.ingestion.readers.docusaurus_config import SiteConfig, read_site_config
from askbook.ingestion.readers.frontmatter import decode, frontmatter_end, read_frontmatter, read_string
from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.site import SiteReader
from askbook.ingestion.readers.traced import TracedText
from askbook.ingestion.readers.walk import SUFFIXES

_CONFIGS = tuple(f"docusaurus.config.{suffix}" for suffix in ("ts", "js", "mjs", "cjs"))
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
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


def find_docusaurus(folder: Path, docs: Path | None) -> Site | None:
    """The site whose configuration is in `folder` or above it, or whose lessons are written for it."""
    for candidate in (folder, folder.resolve().parent):
        config_file = next((candidate / n for n in _CONFIGS if (candidate / n).is_file()), None)
        if config_file is None:
            continue
        config = read_site_config(config_file)
        own = candidate / config.path
        if candidate == folder:
            root = docs or (own if own.is_dir() else folder)
            return Site(candidate, config_file, root, config)
        if own.resolve() == folder.resolve():
            return Site(candidate, config_file, docs or folder, config)
    for root in (docs, folder / "docs", folder):
        if root is not None and root.is_dir() and _written_for_docusaurus(root):
            return Site(folder, None, root, SiteConfig())
    return None


class DocusaurusReader(SiteReader):
    """Everything, `.md` too, is MDX; names lose their number prefixes on the way to a route."""

    kind = "docusaurus"

    def __init__(self, book: Book, folder: Path, site: Site) -> None:
        super().__init__(book, folder, site.docs_root)
        self._site = site

    def discover(self) -> Discovery:
        found = super().discover()
        drafts = {name for name in found.files if self._is_draft(name)}
        warnings = [f"{name} is a draft (`draft: true`); it was left out." for name in sorted(drafts)]
        files = tuple(name for name in found.files if name not in drafts)
        return Discovery(files, (*found.warnings, *self._category_warnings, *warnings))

    def configuration(self) -> Sequence[Path]:
        own = [self._site.config_file] if self._site.config_file else []
        return [*own, *(self.docs_root / path for path, _ in sorted(self._category_files.items()))]

    def is_index(self, source_file: str) -> bool:
        folder, _, _ = source_file.rpartition("/")
        if _is_category_index(source_file):
            return True
        link = self._categories.get(folder, {}).get("link")
        if not isinstance(link, dict) or cast(dict[str, Any], link).get("type") != "doc":
            return False
        linked = str(cast(dict[str, Any], link).get("id", ""))
        return linked.rpartition("/")[2] == strip_number_prefix(Path(source_file).stem)

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
        url = re.sub(r"/{2,}", "/", f"/{config.base_url}/{config.route_base_path}/{path}")
        if config.trailing_slash is True and not url.endswith("/"):
            url += "/"
        elif config.trailing_slash is False and url.rstrip("/") != config.base_url.rstrip("/"):
            url = url.rstrip("/")
        return url

    def folder_title(self, folder: str) -> str | None:
        label = self._categories.get(folder, {}).get("label")
        return str(label) if label else None

    def folder_number(self, folder: str) -> int | None:
        position = self._categories.get(folder, {}).get("position")
        whole = isinstance(position, int | float) and float(position).is_integer() and position >= 0
        return int(cast(float, position)) if whole else None

    def dialect(self, source_file: str) -> Dialect:
        return Dialect(lambda: GithubAnchors(h1_anchor=False), False, _visible_code)

    def prepare(
        self, source: TracedText, source_file: str, includes: list[str], warnings: list[str]
    ) -> TracedText:
        return self._strip(source, self.docs_root / source_file, (), includes, warnings)

    def _strip(
        self,
        source: TracedText,
        path: Path,
        parents: tuple[Path, ...],
        includes: list[str],
        warnings: list[str],
    ) -> TracedText:
        def partial(name: str, specifier: str) -> str | None:
            if not specifier.lower().endswith(SUFFIXES):
                return None
            target = self._resolve(specifier, path)
            shown = path.relative_to(self.docs_root) if path.is_relative_to(self.docs_root) else path.name
            if target is None:
                warnings.append(f"{shown}: <{name} /> is imported from {specifier}, outside the book; left out.")
                return ""
            if target in (path, *parents) or len(parents) >= _MAX_PARTIAL_DEPTH:
                warnings.append(f"{shown}: <{name} /> ({specifier}) includes itself; left out.")
                return ""
            if not target.is_file():
                warnings.append(f"{shown}: <{name} /> is imported from {specifier}, which does not exist.")
                return ""
            includes.append(_relative(target, self.docs_root))
            text = decode(specifier, target.read_bytes())
            return self._strip(
                self.source(text), target, (*parents, path), includes, warnings
            ).text

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

    @cached_property
    def _category_files(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in _CATEGORIES:
            for path in self.docs_root.rglob(name):
                relative = path.relative_to(self.docs_root).as_posix()
                if "node_modules" not in relative:
                    found[relative] = relative.rpartition("/")[0]
        return found

    @cached_property
    def _loaded_categories(self) -> tuple[dict[str, dict[str, Any]], list[str]]:
        categories: dict[str, dict[str, Any]] = {}
        warnings: list[str] = []
        for relative, folder in sorted(self._category_files.items()):
            try:
                text = (self.docs_root / relative).read_text(encoding="utf-8-sig")
                data: object = json.loads(text) if relative.endswith(".json") else yaml.safe_load(text)
            except (OSError, ValueError, yaml.YAMLError) as error:
                warnings.append(f"{relative} cannot be read ({str(error).splitlines()[0]}); it was ignored.")
                continue
            if isinstance(data, dict):
                categories[folder] = cast(dict[str, Any], data)
            elif data is not None:
                warnings.append(f"{relative} holds no fields; it was ignored.")
        return categories, warnings

    @property
    def _categories(self) -> dict[str, dict[str, Any]]:
        return self._loaded_categories[0]

    @property
    def _category_warnings(self) -> list[str]:
        return self._loaded_categories[1]


def strip_number_prefix(name: str) -> str:
    """`01-intro` → `intro`; names that look like dates or versions stay."""
    match = None if _IGNORED_PREFIX.match(name) else _NUMBER_PREFIX.match(name)
    return match[2] if match else name


def _is_category_index(source_file: str) -> bool:
    folders = source_file.split("/")[:-1]
    stem = Path(source_file).stem.lower()
    return stem in ("index", "readme") or bool(folders) and stem == folders[-1].lower()


def _visible_code(info: str, lines: list[str]) -> list[str]:
    if not any("highlight-" in line for line in lines):
        return lines
    return [line for line in lines if not _HIGHLIGHT.match(line)]


def _written_for_docusaurus(root: Path) -> bool:
    if any((folder / name).is_file() for name in _CATEGORIES for folder in (root, *_subfolders(root))):
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
    return Path(os.path.relpath(path, root.resolve())).as_posix()
