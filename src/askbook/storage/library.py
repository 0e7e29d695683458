"""The library: what readers see of every book. One transaction replaces a lesson; readers never see half of one."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Row, and_, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from askbook.book import Book, DocumentChunk, Heading, Module
from askbook.embedding import Vector
from askbook.storage.tables import books, chunks, dirty_points, lessons, vectors

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
class ChunkRow:
    """A chunk as stored: the hash of its embedded text, which names its cached vector, and its payload."""

    text_hash: str
    payload: dict[str, Any]


class Library:
    """Reads and writes books, lessons, chunks and cached vectors."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        dialect = sqlite if engine.dialect.name == "sqlite" else postgresql
        self._insert = dialect.insert

    async def books(self) -> list[ShelvedBook]:
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(books).order_by(books.c.book_id))
            return [_shelved_book(row) for row in rows]

    async def book(self, book_id: str) -> ShelvedBook | None:
        async with self._engine.connect() as connection:
            row = (
                await connection.execute(
                    select(books).where(books.c.book_id == book_id)
                )
            ).first()
            return None if row is None else _shelved_book(row)

    async def save_book(self, shelved: ShelvedBook) -> None:
        row = {
            "book_id": shelved.book.book_id,
            "title": shelved.book.title,
            "folder": shelved.folder,
            "manifest": asdict(shelved.book),
            "fingerprint": shelved.fingerprint,
            "settings_hash": shelved.settings_hash,
            "last_full_ingest": shelved.last_full_ingest,
            "last_incremental_update": shelved.last_incremental_update,
        }
        async with self._engine.begin() as connection:
            await self._upsert(connection, books, [row])

    async def delete_book(self, book_id: str) -> None:
        async with self._engine.begin() as connection:
            for table in (chunks, lessons, dirty_points, books):
                await connection.execute(
                    delete(table).where(table.c.book_id == book_id)
                )

    async def lessons(self, book_id: str) -> dict[str, ShelvedLesson]:
        """All lessons of a book by source file, in book order."""
        query = (
            select(lessons)
            .where(lessons.c.book_id == book_id)
            .order_by(lessons.c.position, lessons.c.source_file)
        )
        async with self._engine.connect() as connection:
            rows = await connection.execute(query)
            return {row.source_file: _shelved_lesson(row) for row in rows}

    async def lesson(
        self,
        book_id: str,
        *,
        source_file: str | None = None,
        parent_doc_id: str | None = None,
    ) -> tuple[ShelvedLesson, list[DocumentChunk]] | None:
        """One lesson with its chunks in order, as of one moment."""
        query = select(lessons).where(lessons.c.book_id == book_id)
        if source_file is not None:
            query = query.where(lessons.c.source_file == source_file)
        if parent_doc_id is not None:
            query = query.where(lessons.c.parent_doc_id == parent_doc_id)
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).first()
            if row is None:
                return None
            found = await connection.execute(
                select(chunks.c.chunk_id, chunks.c.payload)
                .where(
                    chunks.c.book_id == book_id, chunks.c.source_file == row.source_file
                )
                .order_by(chunks.c.chunk_index)
            )
            return _shelved_lesson(row), [_chunk(r) for r in found]

    async def chunks(
        self, book_id: str, chunk_ids: Sequence[str]
    ) -> dict[str, DocumentChunk]:
        """The visible ones among these chunks, all as of one moment."""
        found: dict[str, DocumentChunk] = {}
        async with self._engine.connect() as connection:
            for ids in _slices(chunk_ids):
                rows = await connection.execute(
                    select(chunks.c.chunk_id, chunks.c.payload).where(
                        chunks.c.book_id == book_id, chunks.c.chunk_id.in_(ids)
                    )
                )
                found.update({row.chunk_id: _chunk(row) for row in rows})
        return found

    async def export(self, book_id: str) -> AsyncIterator[DocumentChunk]:
        """Every chunk of a book, in book order."""
        query = (
            select(chunks.c.chunk_id, chunks.c.payload)
            .join(
                lessons,
                and_(
                    lessons.c.book_id == chunks.c.book_id,
                    lessons.c.source_file == chunks.c.source_file,
                ),
            )
            .where(chunks.c.book_id == book_id)
            .order_by(lessons.c.position, lessons.c.source_file, chunks.c.chunk_index)
        )
        async with self._engine.connect() as connection:
            async for row in await connection.stream(query):
                yield _chunk(row)

    async def chunk_ids(self, book_id: str) -> dict[str, list[str]]:
        """Chunk ids by source file, in order."""
        query = (
            select(chunks.c.source_file, chunks.c.chunk_id)
            .where(chunks.c.book_id == book_id)
            .order_by(chunks.c.source_file, chunks.c.chunk_index)
        )
        by_file: dict[str, list[str]] = {}
        async with self._engine.connect() as connection:
            for row in await connection.execute(query):
                by_file.setdefault(row.source_file, []).append(row.chunk_id)
        return by_file

    async def modules(self, book_id: str) -> list[str]:
        """The modules a book's lessons stand in, in book order."""
        query = (
            select(lessons.c.module)
            .where(lessons.c.book_id == book_id)
            .group_by(lessons.c.module)
            .order_by(func.min(lessons.c.position))
        )
        async with self._engine.connect() as connection:
            return [row.module for row in await connection.execute(query)]

    async def totals(self, book_id: str) -> tuple[int, int]:
        """Lessons and chunks of a book."""
        async with self._engine.connect() as connection:
            row = await connection.execute(
                select(
                    func.count(), func.coalesce(func.sum(lessons.c.chunk_count), 0)
                ).where(lessons.c.book_id == book_id)
            )
            lesson_count, chunk_count = row.one()
            return int(lesson_count), int(chunk_count)

    async def replace(
        self,
        book_id: str,
        written: Sequence[tuple[ShelvedLesson, Sequence[DocumentChunk]]],
        removed: Sequence[str],
        text_hashes: dict[str, str],
    ) -> None:
        """The switch: these lessons take the place of what stood under their files, all at once."""
        files = [*removed, *(lesson.source_file for lesson, _ in written)]
        rows = [
            {
                "book_id": book_id,
                "chunk_id": chunk.id,
                "source_file": lesson.source_file,
                "chunk_index": chunk.metadata.chunk_index,
                "text_hash": text_hashes[chunk.id],
                "payload": chunk.to_payload(),
            }
            for lesson, lesson_chunks in written
            for chunk in lesson_chunks
        ]
        async with self._engine.begin() as connection:
            for names in _slices(files):
                for table in (chunks, lessons):
                    await connection.execute(
                        delete(table).where(
                            table.c.book_id == book_id, table.c.source_file.in_(names)
                        )
                    )
            await self._upsert(
                connection, lessons, [_lesson_row(lesson) for lesson, _ in written]
            )
            await self._upsert(connection, chunks, rows)

    async def touch(self, book_id: str, positions: dict[str, int]) -> None:
        """Record the book order of lessons whose content did not change."""
        async with self._engine.begin() as connection:
            for source_file, position in positions.items():
                await connection.execute(
                    lessons.update()
                    .where(
                        lessons.c.book_id == book_id,
                        lessons.c.source_file == source_file,
                    )
                    .values(position=position)
                )

    async def mark_dirty(self, book_id: str, chunk_ids: Iterable[str]) -> None:
        """Note that the index may differ from the database for these chunks, before it does."""
        rows = [{"book_id": book_id, "chunk_id": chunk_id} for chunk_id in chunk_ids]
        async with self._engine.begin() as connection:
            await self._upsert(connection, dirty_points, rows)

    async def clear_dirty(self, book_id: str, chunk_ids: Sequence[str]) -> None:
        async with self._engine.begin() as connection:
            for ids in _slices(chunk_ids):
                await connection.execute(
                    delete(dirty_points).where(
                        dirty_points.c.book_id == book_id,
                        dirty_points.c.chunk_id.in_(ids),
                    )
                )

    async def dirty(self, book_id: str) -> list[str]:
        query = select(dirty_points.c.chunk_id).where(dirty_points.c.book_id == book_id)
        async with self._engine.connect() as connection:
            return [row.chunk_id for row in await connection.execute(query)]

    async def rows(
        self,
        book_id: str,
        *,
        chunk_ids: Sequence[str] | None = None,
        source_files: Sequence[str] | None = None,
    ) -> dict[str, ChunkRow]:
        """Chunks as stored, by id, chosen by their ids or by their files."""
        column, values = (
            (chunks.c.chunk_id, chunk_ids)
            if chunk_ids is not None
            else (chunks.c.source_file, source_files or ())
        )
        found: dict[str, ChunkRow] = {}
        async with self._engine.connect() as connection:
            for part in _slices(values):
                rows = await connection.execute(
                    select(
                        chunks.c.chunk_id, chunks.c.text_hash, chunks.c.payload
                    ).where(chunks.c.book_id == book_id, column.in_(part))
                )
                found.update(
                    {r.chunk_id: ChunkRow(r.text_hash, r.payload) for r in rows}
                )
        return found

    async def cached_vectors(
        self, fingerprint: str, hashes: Sequence[str]
    ) -> dict[str, Vector]:
        found: dict[str, Vector] = {}
        async with self._engine.connect() as connection:
            for part in _slices(hashes):
                rows = await connection.execute(
                    select(vectors.c.text_hash, vectors.c.vector).where(
                        vectors.c.fingerprint == fingerprint,
                        vectors.c.text_hash.in_(part),
                    )
                )
                for row in rows:
                    found[row.text_hash] = np.frombuffer(row.vector, dtype=np.float32)
        return found

    async def save_vectors(self, fingerprint: str, computed: dict[str, Vector]) -> None:
        rows = [
            {
                "fingerprint": fingerprint,
                "text_hash": text_hash,
                "vector": vector.tobytes(),
            }
            for text_hash, vector in computed.items()
        ]
        async with self._engine.begin() as connection:
            await self._upsert(connection, vectors, rows)

    async def forget_vectors(self, book_id: str, fingerprint: str) -> None:
        """Drop cached vectors that only this book uses, so that a recreate embeds afresh."""
        mine = select(chunks.c.text_hash).where(chunks.c.book_id == book_id)
        others = select(chunks.c.text_hash).where(chunks.c.book_id != book_id)
        condition: ColumnElement[bool] = and_(
            vectors.c.fingerprint == fingerprint,
            vectors.c.text_hash.in_(mine),
            vectors.c.text_hash.not_in(others),
        )
        async with self._engine.begin() as connection:
            await connection.execute(delete(vectors).where(condition))

    async def _upsert(
        self, connection: AsyncConnection, table: Any, rows: Sequence[dict[str, Any]]
    ) -> None:
        if not rows:
            return
        statement = self._insert(table)
        keys = [column.name for column in table.primary_key]
        values = {
            column.name: statement.excluded[column.name]
            for column in table.columns
            if column.name not in keys
        }
        if values:
            statement = statement.on_conflict_do_update(
                index_elements=keys, set_=values
            )
        else:
            statement = statement.on_conflict_do_nothing()
        await connection.execute(statement, list(rows))


def _slices(items: Sequence[str]) -> list[list[str]]:
    unique = list(dict.fromkeys(items))
    return [
        unique[start : start + PARAMETERS]
        for start in range(0, len(unique), PARAMETERS)
    ]


def _chunk(row: Row[Any]) -> DocumentChunk:
    return DocumentChunk.from_payload(row.chunk_id, row.payload)


def _shelved_book(row: Row[Any]) -> ShelvedBook:
    manifest = dict(row.manifest)
    manifest["modules"] = tuple(
        Module(m["name"], m["title"], tuple(m["aliases"])) for m in manifest["modules"]
    )
    return ShelvedBook(
        book=Book(**manifest),
        folder=row.folder,
        fingerprint=row.fingerprint,
        settings_hash=row.settings_hash,
        last_full_ingest=_utc(row.last_full_ingest),
        last_incremental_update=_utc(row.last_incremental_update),
    )


def _shelved_lesson(row: Row[Any]) -> ShelvedLesson:
    values = dict(row._mapping)
    values["headings"] = tuple(Heading(*heading) for heading in row.headings)
    values["includes"] = tuple(row.includes)
    values["warnings"] = tuple(row.warnings)
    values["created_at"] = _utc(row.created_at)
    values["ingested_at"] = _utc(row.ingested_at)
    return ShelvedLesson(**values)


def _lesson_row(lesson: ShelvedLesson) -> dict[str, Any]:
    row = {name: getattr(lesson, name) for name in lesson.__slots__}
    row["headings"] = [[h.level, h.title, h.anchor] for h in lesson.headings]
    row["includes"] = list(lesson.includes)
    row["warnings"] = list(lesson.warnings)
    return row


def _utc(moment: datetime | None) -> Any:
    """SQLite forgets the time zone; everything stored is UTC."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
