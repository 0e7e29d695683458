"""What all readers of Markdown sites share: declare a lesson, place it, read it into blocks."""

import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from askbook.book import Block, Book, Lesson
from askbook.book.manifest import MANIFEST
from askbook.ingestion.readers.base import READER_VERSION, Declared, Discovery, Place
from askbook.ingestion.readers.frontmatter import (
    Frontmatter,
    decode,
    frontmatter_end,
    read_audience,
    read_frontmatter,
    read_number,
    read_string,
)
from askbook.ingestion.readers.markdown import Dialect, plain_text, read_blocks, split_heading_id
from askbook.ingestion.readers.numbering import (
    chapter_and_lesson,
    module_name,
    name_number,
    readable,
)
from askbook.ingestion.readers.places import ROOT_MODULE, Position, share_out
from askbook.ingestion.readers.traced import Edit, TracedText
from askbook.ingestion.readers.walk import path_key, walk

_FIRST_H1 = re.compile(
    r"^(?P<fence>`{3,}|~{3,})|^#[ \t]+(?P<atx>[^\n]+)|^(?P<setext>[^\s#>\-=|`][^\n]*)\n=+[ \t]*$",
    re.M,
)
_MIN_VISIBLE = 10


@dataclass(slots=True)
class Page:
    """A lesson on its way to blocks: its text so far, and what was included and noticed."""

    source_file: str
    source: TracedText
    includes: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])


class SiteReader(ABC):
    """A folder of Markdown; subclasses say how their generator routes, numbers and writes it."""

    kind: ClassVar[str]
    partial_prefix: ClassVar[str | None] = "_"
    """Files and folders whose name starts so are included by others and no lessons themselves."""
    names_carry_numbers: ClassVar[bool] = True

    def __init__(self, book: Book, folder: Path, docs_root: Path) -> None:
        self.book = book
        self.folder = folder
        self.docs_root = docs_root

    # What a generator decides; without navigation the last three say nothing ---------------

    def is_index(self, source_file: str) -> bool:
        """Whether the file is its folder's own page."""
        return Path(source_file).stem.lower() in ("index", "readme", "_index")

    @abstractmethod
    def route(self, source_file: str, fields: dict[str, Any]) -> str:
        """The path of the page on the built site, with a leading `/`."""

    @abstractmethod
    def prepare(self, page: Page) -> Dialect:
        """Turn the generator's own syntax in `page.source` into Markdown; say how to read it."""

    def listed_title(self, source_file: str) -> str | None:  # noqa: B027
        """The title the site's navigation gives a page."""

    def folder_title(self, folder: str) -> str | None:  # noqa: B027
        """The title the site gives a folder."""

    def folder_number(self, folder: str) -> int | None:  # noqa: B027
        """The number the site gives a folder."""

    def configuration(self) -> Sequence[Path]:
        """The files beside the lessons that change how lessons are read."""
        return ()

    # The reader contract -------------------------------------------------------------------

    def discover(self) -> Discovery:
        return walk(self.docs_root, self.partial_prefix)

    def settings_hash(self) -> str:
        digest = hashlib.sha256(f"{READER_VERSION}:{self.kind}:{self.book!r}".encode())
        for path in (self.folder / MANIFEST, *self.configuration()):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def load(self, source_file: str) -> bytes:
        # Of tens of thousands of files, making a Path of each takes as long as hashing it.
        with open(f"{self.docs_root}{os.sep}{source_file}", "rb") as file:  # noqa: PTH123
            return file.read()

    def declare(self, source_file: str, data: bytes) -> Declared:
        text = decode(source_file, data)
        front = read_frontmatter(source_file, text)
        warnings = list(front.warnings)
        audience = read_audience(source_file, front.fields, self.book)
        warnings.extend(audience.warnings)
        is_index = self.is_index(source_file)
        named = self.named_numbers(source_file)
        chapter = read_number(source_file, front.fields, "chapter", warnings)
        lesson = read_number(source_file, front.fields, "lesson", warnings)
        position = front.fields.get("sidebar_position")
        return Declared(
            source_file=source_file,
            title=self._title(source_file, front, text),
            url_path=self.route(source_file, front.fields),
            module=_module_field(front.fields),
            chapter=chapter if chapter is not None else named[0],
            lesson=lesson if lesson is not None else (None if is_index else named[1]),
            position=float(position)
            if isinstance(position, int | float) and not isinstance(position, bool)
            else None,
            hardware_tier=audience.hardware_tier,
            proficiency_level=audience.proficiency_level,
            layer=audience.layer,
            is_index=is_index,
            warnings=tuple(warnings),
        )

    def places(self, declared: Sequence[Declared]) -> dict[str, Place]:
        ordered = sorted(declared, key=lambda each: self.order(each.source_file))
        return share_out(ordered, self.positions(ordered), self.book)

    def read(self, declared: Declared, place: Place, data: bytes) -> Lesson:
        text = decode(declared.source_file, data)
        page = Page(declared.source_file, self.source(text))
        dialect = self.prepare(page)
        blocks = read_blocks(page.source, dialect)
        return self.lesson(declared, place, data, blocks, page.includes, page.warnings)

    # Helpers -------------------------------------------------------------------------------

    def lesson(
        self,
        declared: Declared,
        place: Place,
        data: bytes,
        blocks: Sequence[Block],
        includes: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Lesson:
        """A lesson of these blocks, with a warning when there is nothing to index."""
        if sum(len(block.text.strip()) for block in blocks) < _MIN_VISIBLE:
            warnings = (
                *warnings,
                f"{declared.source_file} has fewer than {_MIN_VISIBLE} visible characters; "
                "nothing of it is indexed.",
            )
        return Lesson(
            source_file=declared.source_file,
            source_file_hash=hashlib.sha256(data).hexdigest(),
            slot=place.slot,
            page_title=declared.title,
            chapter_title=place.chapter_title,
            module_title=place.module_title,
            url=page_url(self.book.base_url, declared.url_path),
            hardware_tier=declared.hardware_tier,
            proficiency_level=declared.proficiency_level,
            layer=declared.layer,
            blocks=tuple(blocks),
            includes=tuple(dict.fromkeys(includes)),
            warnings=(*declared.warnings, *place.warnings, *dict.fromkeys(warnings)),
        )

    def order(self, source_file: str) -> Any:
        """The sort key of a lesson in the book."""
        return path_key(source_file)

    def positions(self, ordered: Sequence[Declared]) -> dict[str, Position]:
        """Where the folders put each lesson."""
        index_titles: dict[str, str] = {}
        for each in ordered:
            if each.is_index:
                index_titles.setdefault(each.source_file.rpartition("/")[0], each.title)
        return {each.source_file: self._position(each, index_titles) for each in ordered}

    def source(self, text: str) -> TracedText:
        """The lesson without byte order mark, frontmatter and carriage returns."""
        end = frontmatter_end(text)
        edits = [Edit(0, end)] if end else []
        if "\r" in text:
            edits.extend(
                Edit(match.start(), match.end(), "\n")
                for match in re.compile(r"\r\n?").finditer(text, end)
            )
        return TracedText(text).edited(edits)

    def _position(self, each: Declared, index_titles: dict[str, str]) -> Position:
        folders = each.source_file.split("/")[:-1]
        if not folders:
            stem = module_name(Path(each.source_file).stem)
            if self.book.module_named(stem) is not None:
                return Position(stem, each.title)
            return Position(ROOT_MODULE, self.book.title)
        top = folders[0]
        name = top if self.book.module_named(top) is not None else module_name(top)
        title = self.folder_title(top) or index_titles.get(top) or readable(top)
        if len(folders) == 1:
            numbered = name_number(top)
            number = numbered[1] if numbered and numbered[0] == "chapter" else None
            return Position(name, title, chapter=number)
        chapter = "/".join(folders[:2])
        numbered = name_number(folders[1])
        number = numbered[1] if numbered else self.folder_number(chapter)
        chapter_title = (
            self.folder_title(chapter) or index_titles.get(chapter) or readable(folders[1])
        )
        return Position(name, title, chapter, chapter_title, number)

    def named_numbers(self, source_file: str) -> tuple[int | None, int | None]:
        """The chapter and the lesson that a file's name asks for."""
        if not self.names_carry_numbers:
            return None, None
        stem = Path(source_file).stem
        both = chapter_and_lesson(stem)
        if both is not None:
            return both
        numbered = name_number(stem)
        if numbered is None:
            return None, None
        word, number = numbered
        if word == "chapter" and source_file.count("/") < 2:
            return number, 0
        return None, number

    def _title(self, source_file: str, front: Frontmatter, text: str) -> str:
        return (
            self.listed_title(source_file)
            or read_string(front.fields, "title")
            or first_heading(text, front.end)
            or readable(Path(source_file).stem)
        )


def first_heading(text: str, start: int) -> str | None:
    """The first level-1 heading after `start`, as plain text."""
    position = start
    while match := _FIRST_H1.search(text, position):
        if not match["fence"]:
            title, _ = split_heading_id(" ".join((match["atx"] or match["setext"]).split()))
            return plain_text(title.rstrip("# ")) or None
        closing = re.compile(r"^[ \t]*" + re.escape(match["fence"]), re.M).search(text, match.end())
        if closing is None:
            return None
        position = closing.end()
    return None


def page_url(base_url: str | None, path: str) -> str:
    """The address of a page; `base_url` may or may not already hold the site's base path."""
    encoded = quote(path, safe="/%:@!$&'()*+,;=~-._")
    if not base_url:
        return encoded
    base_path = urlsplit(base_url).path.rstrip("/")
    if base_path and (encoded == base_path or encoded.startswith(base_path + "/")):
        encoded = encoded[len(base_path) :] or "/"
    return base_url.rstrip("/") + encoded


def _module_field(fields: dict[str, Any]) -> str | None:
    # A bare number names no module; the folder does.
    value = fields.get("module")
    return (
        value.strip() or None if isinstance(value, str) and not value.strip().isdecimal() else None
    )
