"""An EPUB: its documents in reading order and what its table of contents calls them.

Everything is read in memory, within limits; nothing is ever extracted, and names only look up members.
"""

import html
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from askbook.book import is_text
from askbook.errors import AskbookError, InvalidInput
from askbook.ingestion.readers.encoding import decode_html
from askbook.ingestion.readers.epub_contents import Entry, places_of, read_nav, read_ncx
from askbook.ingestion.readers.html_parsing import parse_html

MAX_DOCUMENT = 30_000_000
MAX_TOTAL = 300_000_000
MAX_MEMBERS = 50_000

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_DOCUMENT_TYPES = (
    "application/xhtml+xml",
    "text/html",
    "application/x-dtbook+xml",
    "text/x-oeb1-document",
    "application/xml",
    "text/xml",
)
_PREFIX = re.compile(r"<(/?)[\w\-]+:(?=[A-Za-z])(?!title\b)")
_TAGS = re.compile(
    r"<(script|style|title)\b[^>]*+(?:(?<!/)>|\Z).*?(?:</\1|\Z)|<!--.*?(?:-->|\Z)|<[^>]*+(?:>|\Z)",
    re.S | re.I,
)
"""What is never closed goes to the end, as it does in a browser: every place is looked at once."""
_MIN_TEXT = 10


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Where a document stands, and what the table of contents says of it: its title and the parts around it."""

    number: int
    title: str
    sections: tuple[str, ...]


@dataclass(slots=True)
class Epub:
    """An opened EPUB; `problems` says of a document why it cannot be read."""

    title: str = ""
    documents: list[str] = field(default_factory=list[str])
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, DocumentPlace] = field(default_factory=dict[str, DocumentPlace])
    navigation: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


def open_epub(path: Path, name: str) -> Epub:
    """Read the EPUB at `path`, which the book knows as `name`; refuses what is none, or is protected."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _Opening(archive, name).read()
    except (AskbookError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a damaged archive fails in many ways
        raise InvalidInput(
            f"{name} is not an EPUB: it is no zip archive that can be read ({error}).",
            "Download or export it again.",
        ) from error


class _Opening:
    """One EPUB on its way in, with what is left of the memory it may take."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive = archive
        self._name = name
        self._left = MAX_TOTAL
        self._epub = Epub()
        if len(archive.infolist()) > MAX_MEMBERS:
            raise InvalidInput(
                f"{name} holds {len(archive.infolist()):,} files; at most {MAX_MEMBERS:,} are read.",
                "Split it into several books.",
            )
        self._members = {each.filename: each for each in archive.infolist()}

    def read(self) -> Epub:
        package_name = self._package_name()
        package = self._xml(package_name)
        base = posixpath.dirname(package_name)
        items = self._items(package, base)
        self._epub.title = _title(package)
        self._find_navigation(package, items)
        hidden = self._toc_pages(package, base)
        locked = self._locked()
        for member in self._spine(package, items):
            if member in locked:
                self._warn(f"{member} is encrypted (DRM); it was left out.")
            elif member not in hidden and member not in self._epub.documents:
                self._add(member)
        if not self._epub.documents:
            self._refuse_empty(locked)
        self._place_documents()
        return self._epub

    def _package_name(self) -> str:
        if _CONTAINER in self._members:
            for node in self._xml(_CONTAINER).css("rootfile"):
                path = posixpath.normpath(node.attributes.get("full-path") or "")
                if path in self._members:
                    return path
        found = [name for name in self._members if name.lower().endswith(".opf")]
        if len(found) == 1:
            self._warn(f"its {_CONTAINER} does not name the package; {found[0]} was taken.")
            return found[0]
        raise InvalidInput(
            f"{self._name} is not an EPUB: it has no package document (.opf).",
            "Export it again from the program that made it.",
        )

    def _items(self, package: LexborHTMLParser, base: str) -> "dict[str, _Item]":
        items: dict[str, _Item] = {}
        for node in package.css("item"):
            href = node.attributes.get("href") or ""
            kind = (node.attributes.get("media-type") or "").lower()
            properties = (node.attributes.get("properties") or "").split()
            items.setdefault(
                node.attributes.get("id") or "",
                _Item(_resolved(base, href), kind, properties, href),
            )
        return items

    def _spine(self, package: LexborHTMLParser, items: "dict[str, _Item]") -> Iterator[str]:
        for node in package.css("spine itemref"):
            identifier = node.attributes.get("idref") or ""
            item = items.get(identifier)
            if item is None:
                self._warn(f"its spine names {identifier!r:.60}, which its manifest does not list.")
            elif "nav" in item.properties:
                continue
            elif item.path is None or item.path not in self._members:
                self._warn(f"its document {item.href!r:.100} is missing; it was left out.")
            elif not item.kind or item.kind.partition(";")[0].strip() in _DOCUMENT_TYPES:
                yield item.path
            elif not item.kind.startswith("image/"):
                self._warn(
                    f"its document {item.href!r:.100} is {item.kind!r:.60}; it was left out."
                )

    def _toc_pages(self, package: LexborHTMLParser, base: str) -> set[str]:
        """Pages that only list the contents; a place inside a page says that there is more on it."""
        return {
            path
            for node in package.css("guide reference")
            if (node.attributes.get("type") or "").lower() == "toc"
            and "#" not in (node.attributes.get("href") or "")
            and (path := _resolved(base, node.attributes.get("href") or "")) is not None
        }

    def _locked(self) -> set[str]:
        """Encrypted members; fonts often are, without harm to the text."""
        if _ENCRYPTION not in self._members:
            return set()
        nodes = self._xml(_ENCRYPTION).css("cipherreference")
        found = (_resolved("", node.attributes.get("uri") or "") for node in nodes)
        return {path for path in found if path is not None}

    def _add(self, member: str) -> None:
        try:
            data = self._read(member)
            is_blank = not _has_text(decode_html(member, data)[0])
        except InvalidInput as error:
            self._epub.problems[member] = f"{error.message} {error.suggestion or ''}".strip()
            data, is_blank = b"", False
        if not is_blank:  # a cover shows a picture
            self._epub.documents.append(member)
            self._epub.contents[member] = data

    def _refuse_empty(self, locked: set[str]) -> None:
        if locked:
            raise InvalidInput(
                f"The text of {self._name} is encrypted (DRM).",
                "Use a copy without DRM, from the publisher or in another format.",
            )
        raise InvalidInput(
            f"{self._name} holds no document with text.",
            "If it is a book of pictures, give its text in another format.",
        )

    def _find_navigation(self, package: LexborHTMLParser, items: "dict[str, _Item]") -> None:
        spine = package.css_first("spine")
        listed = items.get((spine.attributes.get("toc") or "") if spine is not None else "")
        navs = [item.path for item in items.values() if "nav" in item.properties]
        ncx = [item.path for item in items.values() if item.kind == "application/x-dtbncx+xml"]
        for path in dict.fromkeys([*navs, listed.path if listed else None, *ncx]):
            if path is not None and path in self._members:
                self._epub.navigation.append(path)

    def _place_documents(self) -> None:
        entries: list[Entry] = []
        for path in self._epub.navigation:
            try:
                data = self._read(path)
                tree = _tree(path, data)
            except InvalidInput as error:
                self._warn(f"its contents cannot be read: {error.message}")
                continue
            is_ncx = tree.css_first("navmap") is not None
            self._epub.contents[path] = data
            for href, title, above in read_ncx(tree) if is_ncx else read_nav(tree):
                member = _resolved(posixpath.dirname(path), href.partition("#")[0])
                if member is not None:
                    entries.append(Entry(member, title, above))
            if entries:
                break
        told = places_of(self._epub.documents, entries)
        for number, (member, (title, sections)) in enumerate(told.items()):
            self._epub.places[member] = DocumentPlace(number, title, sections)

    def _xml(self, member: str) -> LexborHTMLParser:
        return _tree(member, self._read(member))

    def _read(self, member: str) -> bytes:
        """One member within the limits, whatever the archive says of its size."""
        limit = min(MAX_DOCUMENT, self._left)
        info = self._members.get(member)
        try:
            if info is None:
                raise KeyError(member)
            with self._archive.open(info) as file:
                data = file.read(limit + 1)
        except (
            KeyError,
            OSError,
            RuntimeError,  # an encrypted member, or a compression that is not known
            EOFError,
            ValueError,
            zlib.error,
            zipfile.BadZipFile,
        ) as error:
            raise InvalidInput(
                f"{member} in {self._name} cannot be read ({error}).", "Export the EPUB again."
            ) from error
        if len(data) > limit:
            raise InvalidInput(
                f"{member} in {self._name} unpacks to more than {limit:,} bytes.",
                "Split it into smaller documents, or leave the file out if you do not trust it.",
            )
        self._left -= len(data)
        return data

    def _warn(self, message: str) -> None:
        self._epub.warnings.append(f"{self._name}: {message}")


@dataclass(frozen=True, slots=True)
class _Item:
    """A line of the manifest; `path` is None when it leads out of the archive."""

    path: str | None
    kind: str
    properties: list[str]
    href: str


def _tree(member: str, data: bytes) -> LexborHTMLParser:
    """XML by an HTML parser: it knows no entities to expand and no files to fetch."""
    text, _ = decode_html(member, data)
    return parse_html("<?xml?>" + _PREFIX.sub(r"<\1", text))


def _resolved(base: str, href: str) -> str | None:
    """The member a link names; None when it leaves the archive or is no name."""
    path = posixpath.normpath(posixpath.join(base, unquote(href.partition("#")[0])))
    if path.startswith(("/", "../")) or path in (".", "..") or "\\" in path:
        return None
    return path if is_text(path) and path.isprintable() else None


def _title(package: LexborHTMLParser) -> str:
    for node in package.css("metadata *"):
        if node.tag in ("dc:title", "title"):
            return " ".join(node.text().split())[:200]
    return ""


def _has_text(markup: str) -> bool:
    return len("".join(html.unescape(_TAGS.sub(" ", markup)).split())) >= _MIN_TEXT
