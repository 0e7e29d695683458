"""What a reader is told and what it gives back; one reader per kind of site."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from askbook.book import Book, HardwareTier, Lesson, ProficiencyLevel, Slot, TeachingLayer

READER_VERSION = 1
"""Raise it when a reader gives other text, places or anchors for the same file: lessons are then read again."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What one file says of its own place, before places are shared out among all files."""

    source_file: str
    title: str
    url_path: str
    module: str | None
    chapter: int | None
    lesson: int | None
    position: float | None
    hardware_tier: HardwareTier
    proficiency_level: ProficiencyLevel
    layer: TeachingLayer
    is_index: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A file's share of the book: its slot and the titles around it."""

    slot: Slot
    module_title: str
    chapter_title: str | None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Discovery:
    """The lesson files of a folder in book order, relative to the docs root, with `/`."""

    files: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    is_arranged: bool = False
    """Whether something besides the lessons' names and texts says where they stand, as the package of an e-book does."""


class Reader(Protocol):
    """Reads one book folder. Everything it returns depends only on the files as they are now."""

    book: Book
    docs_root: Path

    def discover(self) -> Discovery:
        """All lesson files; partials, hidden files and build output are not lessons."""
        ...

    def settings_hash(self) -> str:
        """Changes when something beside the lessons changes how they are read: manifest, site configuration, versions."""
        ...

    def load(self, source_file: str) -> bytes:
        """What a lesson, or something it includes, is made from: a file, or a document inside one."""
        ...

    def declare(self, source_file: str, data: bytes) -> Declared:
        """The place a file asks for (frontmatter, path, navigation)."""
        ...

    def places(self, declared: Sequence[Declared]) -> dict[str, Place]:
        """Share out slots among all files of the book; no two share one."""
        ...

    def read(self, declared: Declared, place: Place, data: bytes) -> Lesson:
        """The visible text of a lesson."""
        ...
