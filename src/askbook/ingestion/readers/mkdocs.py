"""MkDocs: order and titles from `nav`, addresses with or without directories."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import yaml

from askbook.book import Book
from askbook.book.manifest import slugify
from askbook.ingestion.readers.anchors import PythonMarkdownAnchors
from askbook.ingestion.readers.base import Declared, Discovery
from askbook.ingestion.readers.bounded_yaml import load_yaml
from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mkdocs_syntax import plain_syntax
from askbook.ingestion.readers.numbering import module_name, name_number
from askbook.ingestion.readers.places import ROOT_MODULE, Position
from askbook.ingestion.readers.site import Page, SiteReader
from askbook.ingestion.readers.walk import path_key

_CONFIGS = ("mkdocs.yml", "mkdocs.yaml")


@dataclass(frozen=True, slots=True)
class MkdocsSite:
    """Where a MkDocs site keeps its pages, and its configuration."""

    root: Path
    config_file: Path
    options: dict[str, Any]
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A page of `nav` with the titles of the sections above it."""

    title: str | None
    sections: tuple[str, ...]


class _TolerantLoader(yaml.SafeLoader):
    """A safe loader that reads `!!python/name:…`, `!ENV` and other tags as nothing."""


def _ignored(_loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    return node.value if isinstance(node, yaml.ScalarNode) and suffix == "relative" else None


for _prefix in ("tag:yaml.org,2002:python/", "!"):
    _TolerantLoader.add_multi_constructor(_prefix, _ignored)  # pyright: ignore[reportUnknownMemberType] - PyYAML's stubs leave it untyped


def find_mkdocs(folder: Path, docs: Path | None) -> MkdocsSite | None:
    """The MkDocs site in `folder`, or the one whose pages `folder` holds."""
    for candidate in (folder, folder.resolve().parent):
        config_file = next((candidate / n for n in _CONFIGS if (candidate / n).is_file()), None)
        if config_file is None:
            continue
        options, warning = _options(config_file)
        root = candidate / str(options.get("docs_dir") or "docs")
        if candidate == folder:
            chosen = docs or (root if root.is_dir() else folder)
            return MkdocsSite(chosen, config_file, options, warning)
        if root.resolve() == folder.resolve():
            return MkdocsSite(docs or folder, config_file, options, warning)
    return None


class MkdocsReader(SiteReader):
    """Sections of `nav` are modules and chapters; without `nav`, folders are."""

    kind = "mkdocs"
    partial_prefix = None

    def __init__(self, book: Book, folder: Path, site: MkdocsSite) -> None:
        super().__init__(book, folder, site.root)
        self._site = site

    def discover(self) -> Discovery:
        found = super().discover()
        known = set(found.files)
        warnings = [*found.warnings, *([self._site.warning] if self._site.warning else [])]
        missing = [path for path in self._nav if path not in known]
        warnings.extend(
            f"{self._site.config_file.name}: nav lists {path}, which is not there."
            for path in missing
        )
        return Discovery(tuple(sorted(found.files, key=self.order)), tuple(warnings))

    def configuration(self) -> Sequence[Path]:
        return [self._site.config_file]

    def order(self, source_file: str) -> Any:
        listed = self._nav_order.get(source_file)
        return (0, listed, ()) if listed is not None else (1, 0, path_key(source_file))

    def listed_title(self, source_file: str) -> str | None:
        entry = self._nav.get(source_file)
        return entry.title if entry else None

    def route(self, source_file: str, fields: dict[str, Any]) -> str:  # noqa: ARG002 - a hook
        folder, _, name = source_file.rpartition("/")
        stem = name.rsplit(".", 1)[0]
        parts = folder.split("/") if folder else []
        is_index = stem in ("index", "README")
        site_url = str(self._site.options.get("site_url") or "")
        prefix = (
            "/" + "/".join(site_url.split("/")[3:]).strip("/") if site_url.count("/") > 2 else ""
        )
        if self._site.options.get("use_directory_urls", True):
            path = "/".join([*parts, *([] if is_index else [stem])])
            return f"{prefix.rstrip('/')}/{path}/" if path else f"{prefix.rstrip('/')}/"
        return f"{prefix.rstrip('/')}/" + "/".join(
            [*parts, ("index" if is_index else stem) + ".html"]
        )

    def positions(self, ordered: Sequence[Declared]) -> dict[str, Position]:
        positions = super().positions(ordered)
        for each in ordered:
            entry = self._nav.get(each.source_file)
            if entry is None:
                continue
            sections = entry.sections
            own = positions[each.source_file]
            if not sections:
                module = module_name(Path(each.source_file).stem)
                known = self.book.module_named(module) is not None
                positions[each.source_file] = Position(
                    module if known else ROOT_MODULE, each.title if known else self.book.title
                )
                continue
            by_folder = self.book.module_named(own.module)
            name = by_folder.name if by_folder else slugify(sections[0]) or own.module
            if len(sections) == 1:
                positions[each.source_file] = Position(name, sections[0])
            else:
                numbered = name_number(sections[1])
                number = numbered[1] if numbered and numbered[0] == "chapter" else None
                key = "/".join(sections[:2])
                positions[each.source_file] = Position(name, sections[0], key, sections[1], number)
        return positions

    def prepare(self, page: Page) -> Dialect:
        page.source = plain_syntax(page.source)
        return Dialect(PythonMarkdownAnchors)

    @cached_property
    def _nav(self) -> dict[str, NavEntry]:
        entries: dict[str, NavEntry] = {}
        _collect(self._site.options.get("nav"), None, (), entries)
        return entries

    @cached_property
    def _nav_order(self) -> dict[str, int]:
        return {path: index for index, path in enumerate(self._nav)}


def _collect(
    node: object, title: str | None, sections: tuple[str, ...], entries: dict[str, NavEntry]
) -> None:
    if isinstance(node, str):
        if "://" not in node and node.lower().endswith((".md", ".markdown", ".mdx")):
            entries.setdefault(node.removeprefix("./"), NavEntry(title, sections))
    elif isinstance(node, list):
        inside = (*sections, title) if title else sections
        for child in cast(list[object], node):
            _collect(child, None, inside, entries)
    elif isinstance(node, dict):
        for key, child in cast(dict[object, object], node).items():
            _collect(child, str(key), sections, entries)


def _options(config_file: Path) -> tuple[dict[str, Any], str | None]:
    try:
        text = config_file.read_text(encoding="utf-8-sig", errors="replace")
        loaded: object = load_yaml(text, _TolerantLoader)
    except (OSError, yaml.YAMLError) as error:
        return (
            {},
            f"{config_file.name} cannot be read ({str(error).splitlines()[0]}); defaults are used.",
        )
    return (cast(dict[str, Any], loaded), None) if isinstance(loaded, dict) else ({}, None)
