"""The retrievable unit and its metadata, checked when made."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from askbook.book.ids import content_hash
from askbook.book.types import (
    HARDWARE_TIERS,
    PROFICIENCY_LEVELS,
    TEACHING_LAYERS,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from askbook.errors import InvalidInput

MIN_TEXT_LENGTH = 10
_A_LEVEL = "one of " + ", ".join(PROFICIENCY_LEVELS)
_A_LAYER = "one of " + ", ".join(TEACHING_LAYERS)
TOKENS_PER_WORD = 1.3


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMetadata:
    """Where a chunk stands, for whom it is, and what it was read from."""

    book_id: str
    module: str
    chapter: int
    lesson: int
    hardware_tier: HardwareTier
    source_file: str
    source_file_hash: str
    parent_doc_id: str
    chunk_index: int
    total_chunks: int
    content_hash: str
    page_title: str
    breadcrumb: str
    url: str
    char_start: int
    char_end: int
    created_at: datetime
    updated_at: datetime
    proficiency_level: ProficiencyLevel = "A2"
    layer: TeachingLayer = "L1"
    section_title: str | None = None
    chapter_title: str | None = None
    prev_chunk_id: str | None = None
    next_chunk_id: str | None = None
    page_start: int | None = None
    page_end: int | None = None
    version: int = 1

    def __post_init__(self) -> None:
        for name in ("book_id", "module", "source_file", "page_title"):
            _require(bool(getattr(self, name)), name, getattr(self, name), "a non-empty string")
        _require(self.chapter >= 0, "chapter", self.chapter, "0 or more")
        _require(self.lesson >= 0, "lesson", self.lesson, "0 or more")
        _require(self.hardware_tier in HARDWARE_TIERS, "hardware_tier", self.hardware_tier, "1-4")
        _require(
            self.proficiency_level in PROFICIENCY_LEVELS,
            "proficiency_level",
            self.proficiency_level,
            _A_LEVEL,
        )
        _require(
            self.layer in TEACHING_LAYERS,
            "layer",
            self.layer,
            _A_LAYER,
        )
        _require(self.total_chunks >= 1, "total_chunks", self.total_chunks, "1 or more")
        _require(
            0 <= self.chunk_index < self.total_chunks,
            "chunk_index",
            self.chunk_index,
            "0 or more and less than total_chunks",
        )
        first, last = self.chunk_index == 0, self.chunk_index == self.total_chunks - 1
        _require(
            first == (self.prev_chunk_id is None),
            "prev_chunk_id",
            self.prev_chunk_id,
            "absent exactly for the first chunk of a lesson",
        )
        _require(
            last == (self.next_chunk_id is None),
            "next_chunk_id",
            self.next_chunk_id,
            "absent exactly for the last chunk of a lesson",
        )
        for name in ("parent_doc_id", "prev_chunk_id", "next_chunk_id"):
            value = getattr(self, name)
            _require(value is None or _is_uuid(value), name, value, "a UUID")
        for name in ("content_hash", "source_file_hash"):
            value = getattr(self, name)
            _require(_is_sha256(value), name, value, "a SHA-256 in hex")
        _require(self.version >= 1, "version", self.version, "1 or more")


class Section(NamedTuple):
    """A heading inside a chunk: what follows `start` in its text stands under it."""

    start: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A retrievable unit: its id, its text and its metadata, which name the section it begins in."""

    id: str
    text: str
    metadata: DocumentMetadata
    sections: tuple[Section, ...] = field(default=(), compare=False)
    """Those that begin further on; they follow from the text and are no part of a payload."""

    def __post_init__(self) -> None:
        _require(_is_uuid(self.id), "id", self.id, "a UUID")
        _require(
            len(self.text.strip()) >= MIN_TEXT_LENGTH,
            "text",
            self.text,
            f"at least {MIN_TEXT_LENGTH} characters",
        )
        _require(
            self.metadata.content_hash == content_hash(self.text),
            "content_hash",
            self.metadata.content_hash,
            "the SHA-256 of the text",
        )

    @property
    def word_count(self) -> int:
        return max(1, len(self.text.split()))

    @property
    def token_count(self) -> int:
        """Words × 1.3, the documented estimate; splitting counts real tokens."""
        return _token_count(self.word_count)

    @property
    def char_count(self) -> int:
        return len(self.text)

    def section_at(self, position: int) -> Section:
        """The section that a place in the text belongs to."""
        inside = [section for section in self.sections if section.start <= position]
        if inside:
            return inside[-1]
        return Section(0, self.metadata.section_title or "", self.metadata.url.partition("#")[2])

    @property
    def embedded_text(self) -> str:
        """What the embedder sees: the breadcrumb, then the text."""
        return f"{self.metadata.breadcrumb}\n{self.text}"

    def to_payload(self) -> dict[str, Any]:
        """The flat JSON form stored with the vector, in the database and in exports."""
        payload = dict(zip(_METADATA_NAMES, _METADATA_VALUES(self.metadata), strict=True))
        payload["created_at"] = self.metadata.created_at.isoformat()
        payload["updated_at"] = self.metadata.updated_at.isoformat()
        payload["text"] = self.text
        payload["word_count"] = words = self.word_count
        payload["token_count"] = _token_count(words)
        payload["char_count"] = self.char_count
        return payload

    @classmethod
    def from_payload(
        cls, chunk_id: str, payload: dict[str, Any], sections: Iterable[Iterable[Any]] = ()
    ) -> "DocumentChunk":
        """Rebuild a chunk from its stored form."""
        values = {name: payload[name] for name in _METADATA_NAMES}
        values["created_at"] = datetime.fromisoformat(payload["created_at"])
        values["updated_at"] = datetime.fromisoformat(payload["updated_at"])
        return cls(
            id=chunk_id,
            text=payload["text"],
            metadata=DocumentMetadata(**values),
            sections=tuple(Section(*section) for section in sections),
        )


_METADATA_NAMES = tuple(each.name for each in fields(DocumentMetadata))
_METADATA_VALUES: Callable[[DocumentMetadata], tuple[Any, ...]] = attrgetter(*_METADATA_NAMES)


def _token_count(words: int) -> int:
    return max(1, round(words * TOKENS_PER_WORD))


_SHA256 = re.compile(r"[0-9a-f]{64}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


def _require(condition: bool, name: str, value: object, allowed: str) -> None:
    if not condition:
        raise InvalidInput(f"{name} is {value!r:.120}, but must be {allowed}.")


def _is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def _is_sha256(value: str) -> bool:
    return _SHA256.fullmatch(value) is not None
