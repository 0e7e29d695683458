"""A lesson as a reader hands it to splitting: its place in the book and its visible text in blocks."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from askbook.book.types import HardwareTier, ProficiencyLevel, TeachingLayer

BlockKind: TypeAlias = Literal["heading", "text", "code", "table"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with the anchor the site generator gives it (no `#`)."""

    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Block:
    """A run of visible text that splitting keeps whole when it can.

    `text` is what readers and the index see; `start`/`end` is the span of the source file it was
    read from (text that came from an include carries the span of the include directive).
    """

    kind: BlockKind
    text: str
    start: int
    end: int
    heading: Heading | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A lesson's place: no two lessons of a book share one."""

    module: str
    chapter: int
    lesson: int


@dataclass(frozen=True, slots=True)
class Lesson:
    """One source file, read."""

    source_file: str
    source_file_hash: str
    slot: Slot
    page_title: str
    chapter_title: str | None
    module_title: str
    url: str
    hardware_tier: HardwareTier
    proficiency_level: ProficiencyLevel
    layer: TeachingLayer
    blocks: tuple[Block, ...]
    includes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())
