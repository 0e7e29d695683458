"""A folder, or a single file, that no known site generator builds: Markdown, HTML, EPUB and PDF side by side."""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from askbook.book import Book, Lesson
from askbook.book.manifest import slugify
from askbook.errors import InvalidInput
from askbook.ingestion.readers.base import Declared, Discovery, Place
from askbook.ingestion.readers.encoding import decode_html
from askbook.ingestion.readers.epub import Epub, open_epub
from askbook.ingestion.readers.html import HtmlPage, read_html
from askbook.ingestion.readers.markdown import Dialect
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.numbering import module_name, readable
from askbook.ingestion.readers.pdf import pdf_title, read_pdf
from askbook.ingestion.readers.places import ROOT_MODULE, Position
from askbook.ingestion.readers.site import Page, SiteReader
from askbook.ingestion.readers.walk import SUFFIXES, path_key, walk

HTML = (".html", ".htm", ".xhtml")
EPUB = ".epub"
PDF = ".pdf"
READ = (*SUFFIXES, *HTML, EPUB, PDF)
"""How the names of files end that are read."""

_REDIRECT = re.compile(
    rb"""<meta[^>]*http-equiv\s*=\s*["']?refresh["']?[^>]*url\s*=\s*([^"'>\s]+)""", re.I
)
_MADE_FOR_FINDING = {
    "objects.inv": ("genindex.html", "py-modindex.html", "search.html"),  # Sphinx
    "book*.js": ("print.html", "toc.html", "404.html"),  # mdBook
}
_MAX_REDIRECT = 4096
"""Bytes; a longer page says something itself."""


class PlainReader(SiteReader):
    """Pages keep their file's path as address and get anchors as GitHub makes them, or their own.

    A document inside an EPUB is a lesson named after both: `book.epub/text/ch01.xhtml`.
    """

    kind = "plain"

    def __init__(self, book: Book, folder: Path, docs_root: Path, only: str | None = None) -> None:
        super().__init__(book, folder, docs_root)
        self._only = only
        self._opened: tuple[str, Epub] | None = None

    def discover(self) -> Discovery:
        found = (
            Discovery((self._only,))
            if self._only is not None
            else walk(self.docs_root, self.partial_prefix, READ)
        )
        files: list[str] = []
        warnings = list(found.warnings)
        is_arranged = False
        for name in found.files:
            if name.lower().endswith(EPUB):
                is_arranged = True
                files.extend(self._documents(name, warnings))
            elif name.lower().endswith(HTML) and (target := self._redirect(name)):
                warnings.append(f"{name} only leads on to {target}; it was left out.")
            elif self._is_made_for_finding(name):
                warnings.append(
                    f"{name} was made by a site generator to find pages; it was left out."
                )
            else:
                files.append(name)
        return Discovery(tuple(files), tuple(warnings), is_arranged)

    def load(self, source_file: str) -> bytes:
        name, member = self._parts(source_file)
        if not name:
            return super().load(source_file)
        epub = self._epub(name)
        if member in epub.problems:
            raise InvalidInput(epub.problems[member])
        if member not in epub.contents:
            raise FileNotFoundError(source_file)
        return epub.contents[member]

    def declare(self, source_file: str, data: bytes) -> Declared:
        name, member = self._parts(source_file)
        if name:
            return self._declared(source_file, self._document_title(name, member, data))
        lowered = source_file.lower()
        if lowered.endswith(HTML):
            page, _ = _html(source_file, data)
            title = page.main_heading or page.head_title or page.first_heading
            return self._declared(source_file, title, is_numbered=True)
        if lowered.endswith(PDF):
            return self._declared(source_file, pdf_title(source_file, data), is_numbered=True)
        return super().declare(source_file, data)

    def read(self, declared: Declared, place: Place, data: bytes) -> Lesson:
        source_file = declared.source_file
        name, _ = self._parts(source_file)
        lowered = source_file.lower()
        make = partial(self.lesson, declared, place, data)
        if name:
            page, warnings = _html(source_file, data, is_site=False)
            contents = [f"{name}/{member}" for member in self._epub(name).navigation]
            return make(page.blocks, contents, warnings)
        if lowered.endswith(HTML):
            page, warnings = _html(source_file, data)
            return make(page.blocks, warnings=warnings)
        if lowered.endswith(PDF):
            text = read_pdf(source_file, data)
            return make(text.blocks, warnings=text.warnings)
        return super().read(declared, place, data)

    def route(self, source_file: str, fields: dict[str, Any]) -> str:
        name, _ = self._parts(source_file)
        if name and self.book.base_url:
            return f"/{name}"  # a site has the book, not what is packed in it
        slug = fields.get("slug")
        return slug if isinstance(slug, str) and slug.startswith("/") else f"/{source_file}"

    def prepare(self, page: Page) -> Dialect:
        if not page.source_file.endswith(".mdx"):
            return Dialect()
        page.source = strip_mdx(page.source)
        return Dialect(indented_code=False)

    def order(self, source_file: str) -> Any:
        name, member = self._parts(source_file)
        if not name:
            return path_key(source_file)
        place = self._readable(name).places.get(member)
        number = place.number if place is not None else 0
        return (*path_key(name), (0, 1, ((0, number, ""),)))

    def positions(self, ordered: Sequence[Declared]) -> dict[str, Position]:
        positions = super().positions(ordered)
        for each in ordered:
            name, member = self._parts(each.source_file)
            if name:
                positions[each.source_file] = self._document_position(name, member, each)
        return positions

    # E-books -------------------------------------------------------------------------------

    def _documents(self, name: str, warnings: list[str]) -> list[str]:
        try:
            epub = self._epub(name)
        except (InvalidInput, OSError):
            return [name]  # it fails when it is loaded, and says why
        warnings.extend(epub.warnings)
        return [f"{name}/{member}" for member in epub.documents]

    def _parts(self, source_file: str) -> tuple[str, str]:
        """The EPUB and the member in it; two empty strings for an ordinary file."""
        if EPUB not in source_file.lower():
            return "", ""
        position = -1
        while (position := source_file.lower().find(EPUB, position + 1)) >= 0:
            end = position + len(EPUB)
            name, rest = source_file[:end], source_file[end:]
            known = self._opened is not None and self._opened[0] == name
            if rest[:1] in ("", "/") and (known or (self.docs_root / name).is_file()):
                return name, rest[1:]
        return "", ""

    def _epub(self, name: str) -> Epub:
        """The EPUB that was asked for last is kept: its documents are asked for one after the other."""
        if self._opened is None or self._opened[0] != name:
            self._opened = (name, open_epub(self.docs_root / name, name))
        return self._opened[1]

    def _readable(self, name: str) -> Epub:
        """An EPUB, or an empty one in its place: lessons of one that broke still need a place."""
        try:
            return self._epub(name)
        except (InvalidInput, OSError):
            return Epub()

    def _document_title(self, name: str, member: str, data: bytes) -> str:
        epub = self._epub(name)
        place = epub.places.get(member)
        if place is not None and place.title:
            return place.title
        page, _ = _html(member, data, is_site=False)
        return page.main_heading or page.first_heading or page.head_title

    def _document_position(self, name: str, member: str, each: Declared) -> Position:
        """An EPUB alone has its parts as modules; beside other files it is a module, its parts chapters."""
        epub = self._readable(name)
        place = epub.places.get(member)
        part, chapter, *_ = (*(place.sections if place is not None else ()), "", "")
        title = epub.title or readable(Path(name).stem)
        if self._only is not None:
            if not part:
                return Position(ROOT_MODULE, self.book.title)
            return Position(slugify(part) or ROOT_MODULE, part, chapter, chapter or None)
        if "/" in name:
            outside = super().positions([each])[each.source_file]
            return Position(outside.module, outside.module_title, name, title)
        return Position(module_name(Path(name).stem), title, part, part or None)

    # Helpers -------------------------------------------------------------------------------

    def _redirect(self, name: str) -> str:
        """Where a page that says nothing itself leads to."""
        try:
            if (self.docs_root / name).stat().st_size > _MAX_REDIRECT:
                return ""
            match = _REDIRECT.search(super().load(name))
        except OSError:
            return ""
        return match[1].decode("utf-8", "replace")[:200] if match else ""

    def _is_made_for_finding(self, name: str) -> bool:
        """An index, a search page or the whole site on one page, beside what names its generator."""
        page = Path(name).name.lower()
        folder = (self.docs_root / name).parent
        for sign, pages in _MADE_FOR_FINDING.items():
            if page in pages and any(folder.glob(sign)):
                return True
        return False

    def _declared(self, source_file: str, title: str, *, is_numbered: bool = False) -> Declared:
        is_index = is_numbered and self.is_index(source_file)
        chapter, lesson = self.named_numbers(source_file) if is_numbered else (None, None)
        return Declared(
            source_file=source_file,
            title=title or readable(Path(source_file).stem),
            url_path=self.route(source_file, {}),
            module=None,
            chapter=chapter,
            lesson=None if is_index else lesson,
            position=None,
            hardware_tier=self.book.hardware_tier,
            proficiency_level=self.book.proficiency_level,
            layer=self.book.layer,
            is_index=is_index,
        )


def _html(
    source_file: str, data: bytes, *, is_site: bool = True
) -> tuple[HtmlPage, tuple[str, ...]]:
    text, warnings = decode_html(source_file, data)
    return read_html(text, is_site=is_site), warnings
