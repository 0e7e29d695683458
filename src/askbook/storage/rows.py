"""Rows of the library's tables as values, and the few statements all repositories share."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from askbook.book import Book, DocumentChunk, Heading, Module

PARAMETERS = 900
"""Ids per statement: both databases take more, but plans and memory stay small."""


@dataclass(frozen=True, slots=True)
class ShelvedBook:
    """A book as it was last ingested."""

    book: Book
    folder: str
    fingerprint: str
    settings_hash: str
    last_full_ingest: datetime | None = None
    last_incremental_update: datetime | None = None


@dataclass(frozen=True, slots=True)
class ShelvedLesson:
    """A lesson as it was last ingested, with what decides whether to read it again."""

    book_id: str
    source_file: str
    position: int
    file_hash: str
    inputs_hash: str
    module: str
    chapter: int
    lesson: int
    parent_doc_id: str
    page_title: str
    url: str
    headings: tuple[Heading, ...]
    includes: tuple[str, ...]
    declared: dict[str, Any]
    place: dict[str, Any]
    warnings: tuple[str, ...]
    chunk_count: int
    version: int
    created_at: datetime
    ingested_at: datetime


@dataclass(frozen=True, slots=True)
class Choices:
    """The modules, tiers, levels and layers that the lessons of a book have, each in order."""

    modules: list[dict[str, str]]
    hardware_tiers: list[int]
    proficiency_levels: list[str]
    layers: list[str]


class Mark(NamedTuple):
    """What decides whether a lesson's file is as it was last ingested."""

    source_file: str
    file_hash: str
    inputs_hash: str
    includes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as stored: its place, the hash of its embedded text, which names its cached vector, its payload
    and the sections inside it."""

    source_file: str
    chunk_index: int
    text_hash: str
    payload: dict[str, Any]
    sections: Sequence[Sequence[Any]] = ()

    @property
    def embedded_text(self) -> str:
        return f"{self.payload['breadcrumb']}\n{self.payload['text']}"


def slices(items: Sequence[str]) -> list[list[str]]:
    """Distinct items, in parts small enough for one statement."""
    unique = list(dict.fromkeys(items))
    return [unique[start : start + PARAMETERS] for start in range(0, len(unique), PARAMETERS)]


def upsert(connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, replacing those with the same key.

    In the order of their keys: two that write the same rows otherwise wait for each other.
    """
    if rows:
        keys = itemgetter(*(column.name for column in table.primary_key))
        statement = _upsert_statement(table, connection.dialect.name)
        connection.execute(statement, sorted(rows, key=keys))


@cache
def _upsert_statement(table: Any, dialect_name: str) -> Any:
    dialect = sqlite if dialect_name == "sqlite" else postgresql
    statement: Any = dialect.insert(table)
    keys: list[str] = [column.name for column in table.primary_key]
    values: dict[str, Any] = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if column.name not in keys
    }
    if values:
        return statement.on_conflict_do_update(index_elements=keys, set_=values)
    return statement.on_conflict_do_nothing()


def chunk_of(row: Any) -> DocumentChunk:
    return DocumentChunk.from_payload(row.chunk_id, row.payload, row.sections)


def choices_of(rows: Sequence[Any]) -> Choices:
    """From the lessons' different modules (with title), tiers, levels and layers, in book order."""
    titles = {row.module: row.title or row.module for row in reversed(rows)}
    modules = dict.fromkeys(row.module for row in rows)
    return Choices(
        modules=[{"name": name, "title": titles[name]} for name in modules],
        hardware_tiers=sorted({row.tier for row in rows}),
        proficiency_levels=sorted({row.level for row in rows}),
        layers=sorted({row.layer for row in rows}),
    )


def book_of(row: Any) -> ShelvedBook:
    manifest = {name: row.manifest[name] for name in Book.__slots__ if name in row.manifest}
    manifest["modules"] = tuple(
        Module(m["name"], m["title"], tuple(m["aliases"])) for m in manifest["modules"]
    )
    manifest["examples"] = tuple(manifest.get("examples", ()))
    return ShelvedBook(
        book=Book(**manifest),
        folder=row.folder,
        fingerprint=row.fingerprint,
        settings_hash=row.settings_hash,
        last_full_ingest=utc(row.last_full_ingest),
        last_incremental_update=utc(row.last_incremental_update),
    )


def lesson_of(row: Any) -> ShelvedLesson:
    values = {name: getattr(row, name) for name in ShelvedLesson.__slots__}
    values["headings"] = tuple(Heading(*heading) for heading in row.headings)
    values["includes"] = tuple(row.includes)
    values["warnings"] = tuple(row.warnings)
    values["created_at"] = utc(row.created_at)
    values["ingested_at"] = utc(row.ingested_at)
    return ShelvedLesson(**values)


def book_row(shelved: ShelvedBook) -> dict[str, Any]:
    return {
        "book_id": shelved.book.book_id,
        "title": shelved.book.title,
        "folder": shelved.folder,
        "manifest": asdict(shelved.book),
        "fingerprint": shelved.fingerprint,
        "settings_hash": shelved.settings_hash,
        "last_full_ingest": shelved.last_full_ingest,
        "last_incremental_update": shelved.last_incremental_update,
    }


def chunk_row(book_id: str, chunk_id: str, row: ChunkRow) -> dict[str, Any]:
    return {
        "book_id": book_id,
        "chunk_id": chunk_id,
        "source_file": row.source_file,
        "chunk_index": row.chunk_index,
        "text_hash": row.text_hash,
        "payload": row.payload,
        "sections": row.sections,
    }


def lesson_row(lesson: ShelvedLesson) -> dict[str, Any]:
    row = {name: getattr(lesson, name) for name in lesson.__slots__}
    row["headings"] = [[h.level, h.title, h.anchor] for h in lesson.headings]
    row["includes"] = list(lesson.includes)
    row["warnings"] = list(lesson.warnings)
    return row


def utc(moment: datetime | None) -> Any:
    """SQLite forgets the time zone; everything stored is UTC."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
