"""The domain: books, lessons and chunks as frozen, validated values. Pure; no I/O beyond a manifest file."""

from askbook.book.chunk import DocumentChunk, DocumentMetadata, Section
from askbook.book.ids import chunk_id, content_hash, parent_doc_id
from askbook.book.lesson import Block, Heading, Lesson, Slot
from askbook.book.manifest import Book, Module, load_book
from askbook.book.text import is_text
from askbook.book.types import (
    HARDWARE_TIERS,
    PROFICIENCY_LEVELS,
    TEACHING_LAYERS,
    HardwareTier,
    IngestionMode,
    JobStatus,
    ProficiencyLevel,
    TeachingLayer,
    Vector,
)

__all__ = [
    "HARDWARE_TIERS",
    "PROFICIENCY_LEVELS",
    "TEACHING_LAYERS",
    "Block",
    "Book",
    "DocumentChunk",
    "DocumentMetadata",
    "HardwareTier",
    "Heading",
    "IngestionMode",
    "JobStatus",
    "Lesson",
    "Module",
    "ProficiencyLevel",
    "Section",
    "Slot",
    "TeachingLayer",
    "Vector",
    "chunk_id",
    "content_hash",
    "is_text",
    "load_book",
    "parent_doc_id",
]
