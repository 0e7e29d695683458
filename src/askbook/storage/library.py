"""The library: what readers see of every book. One transaction replaces a lesson; readers never see half of one."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence

import numpy as np
from sqlalchemy import ColumnElement, Connection, Text, and_, bindparam, cast, delete, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import DocumentChunk, Vector
from askbook.storage.dirty import DirtyPoints
from askbook.storage.remembering import Remembered
from askbook.storage.rows import (
    Choices,
    ChunkRow,
    Mark,
    ShelvedBook,
    ShelvedLesson,
    book_of,
    book_row,
    choices_of,
    chunk_of,
    chunk_row,
    lesson_of,
    lesson_row,
    slices,
    upsert,
)
from askbook.storage.steps import Steps
from askbook.storage.tables import (
    books,
    calibrations,
    chunks,
    conversation_threads,
    dirty_points,
    feedback,
    gaps,
    lessons,
    vectors,
)

_AMONG = and_(
    chunks.c.book_id == bindparam("book_id"),
    chunks.c.chunk_id.in_(bindparam("ids", expanding=True)),
)
_CHUNK = (chunks.c.chunk_id, chunks.c.payload, chunks.c.sections)
_CHUNKS = select(*_CHUNK).where(_AMONG)
_CHUNKS_AND_VECTORS = (
    select(*_CHUNK, vectors.c.vector)
    .outerjoin(
        vectors,
        and_(
            vectors.c.fingerprint == bindparam("fingerprint"),
            vectors.c.text_hash == chunks.c.text_hash,
        ),
    )
    .where(_AMONG)
)
_TEXTS = select(
    chunks.c.chunk_id,
    *(chunks.c.payload[name].as_string() for name in ("breadcrumb", "text")),
).where(_AMONG)
_STANDS = (
    select(books.c.book_id)
    .where(books.c.book_id == bindparam("book_id"))
    .with_for_update(read=True, key_share=True)
)
"""Finds a book, and keeps it from being deleted until the transaction ends."""


def _up_to(book_id: str, tier: int | None) -> ColumnElement[bool]:
    """The lessons of a book, with a tier only those up to it."""
    mine = lessons.c.book_id == book_id
    if tier is None:
        return mine
    return and_(mine, lessons.c.declared["hardware_tier"].as_integer() <= tier)


class Library:
    """Reads and writes books, lessons and chunks."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._steps = Steps(engine)
        self.dirty = DirtyPoints(self._steps)
        self._shelf = Remembered(self._read_shelf)

    async def books(self) -> list[ShelvedBook]:
        async with self._engine.connect() as connection:
            rows = await connection.execute(select(books).order_by(books.c.book_id))
            return [book_of(row) for row in rows]

    async def shelf(self) -> Sequence[ShelvedBook]:
        """The books as readers' questions see them: as of this second."""
        return await self._shelf.get(None)

    async def _read_shelf(self, _key: None) -> Sequence[ShelvedBook]:
        return await self.books()

    async def book(self, book_id: str) -> ShelvedBook | None:
        async with self._engine.connect() as connection:
            row = (
                await connection.execute(select(books).where(books.c.book_id == book_id))
            ).first()
            return None if row is None else book_of(row)

    async def save_book(self, shelved: ShelvedBook) -> None:
        async with self._engine.begin() as connection:
            await connection.run_sync(upsert, books, [book_row(shelved)])
        self._shelf.forget()

    async def update_book(self, shelved: ShelvedBook) -> bool:
        """Save a book that is there already; False: it is gone, and stays so."""
        this = books.c.book_id == shelved.book.book_id
        async with self._engine.begin() as connection:
            result = await connection.execute(books.update().where(this).values(book_row(shelved)))
        self._shelf.forget()
        return result.rowcount == 1

    async def delete_book(self, book_id: str) -> None:
        """Remove a book for good, and with it what was said about it: answers are made of its text."""
        # The book's row first, for `replace` waits on it; votes before the conversations they hang on.
        tables = (
            books,
            feedback,
            conversation_threads,
            chunks,
            lessons,
            dirty_points,
            gaps,
            calibrations,
        )
        async with self._engine.begin() as connection:
            for table in tables:
                await connection.execute(delete(table).where(table.c.book_id == book_id))
        self._shelf.forget()

    async def lessons(self, book_id: str) -> dict[str, ShelvedLesson]:
        """All lessons of a book by source file, in book order."""
        query = (
            select(lessons)
            .where(lessons.c.book_id == book_id)
            .order_by(lessons.c.position, lessons.c.source_file)
        )
        async with self._engine.connect() as connection:
            rows = await connection.execute(query)
            return {row.source_file: lesson_of(row) for row in rows}

    async def marks(self, book_id: str) -> list[Mark]:
        """What tells whether each lesson's file changed; a small part of `lessons`, for big books."""
        query = select(
            lessons.c.source_file,
            lessons.c.file_hash,
            lessons.c.inputs_hash,
            cast(lessons.c.includes, Text),
        ).where(lessons.c.book_id == book_id)
        async with self._engine.connect() as connection:
            rows = await connection.execute(query)
            return [
                Mark(file, file_hash, inputs, () if raw == "[]" else tuple(json.loads(raw)))
                for file, file_hash, inputs, raw in rows
            ]

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

        def read(connection: Connection) -> tuple[ShelvedLesson, list[DocumentChunk]] | None:
            row = connection.execute(query).first()
            if row is None:
                return None
            found = connection.execute(
                select(*_CHUNK)
                .where(chunks.c.book_id == book_id, chunks.c.source_file == row.source_file)
                .order_by(chunks.c.chunk_index)
            )
            return lesson_of(row), [chunk_of(r) for r in found]

        return await self._steps.read(read, one_moment=True)

    async def chunks(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, DocumentChunk]:
        """The visible ones among these chunks, all as of one moment."""
        parts = slices(chunk_ids)

        def read(connection: Connection) -> dict[str, DocumentChunk]:
            return {
                row.chunk_id: chunk_of(row)
                for ids in parts
                for row in connection.execute(_CHUNKS, {"book_id": book_id, "ids": ids})
            }

        return await self._steps.read(read, one_moment=len(parts) > 1)

    async def chunks_with_vectors(
        self, book_id: str, chunk_ids: Sequence[str], fingerprint: str
    ) -> dict[str, tuple[DocumentChunk, Vector | None]]:
        """The same chunks, each with its cached vector of this embedder."""
        parts = slices(chunk_ids)

        def read(connection: Connection) -> dict[str, tuple[DocumentChunk, Vector | None]]:
            return {
                row.chunk_id: (
                    chunk_of(row),
                    None if row.vector is None else np.frombuffer(row.vector, dtype=np.float32),
                )
                for ids in parts
                for row in connection.execute(
                    _CHUNKS_AND_VECTORS,
                    {"book_id": book_id, "ids": ids, "fingerprint": fingerprint},
                )
            }

        return await self._steps.read(read, one_moment=len(parts) > 1)

    async def texts(self, book_id: str, chunk_ids: Sequence[str]) -> dict[str, str]:
        """The embedded texts of the visible ones among these chunks."""

        def read(connection: Connection) -> dict[str, str]:
            return {
                row[0]: f"{row[1]}\n{row[2]}"
                for ids in slices(chunk_ids)
                for row in connection.execute(_TEXTS, {"book_id": book_id, "ids": ids})
            }

        return await self._steps.read(read)

    async def export(self, book_id: str) -> AsyncIterator[DocumentChunk]:
        """Every chunk of a book, in book order."""
        query = (
            select(*_CHUNK)
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
                yield chunk_of(row)

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

    async def modules(self, book_id: str, tier: int | None = None) -> list[str]:
        """The modules a book's lessons up to a tier stand in, in book order."""
        query = (
            select(lessons.c.module)
            .where(_up_to(book_id, tier))
            .group_by(lessons.c.module)
            .order_by(func.min(lessons.c.position))
        )
        async with self._engine.connect() as connection:
            return [row.module for row in await connection.execute(query)]

    async def choices(self, book_id: str, tier: int | None = None) -> Choices:
        """What a reader of a book up to a tier can choose between."""
        declared, place = lessons.c.declared, lessons.c.place
        columns = (
            lessons.c.module,
            place["module_title"].as_string().label("title"),
            declared["hardware_tier"].as_integer().label("tier"),
            declared["proficiency_level"].as_string().label("level"),
            declared["layer"].as_string().label("layer"),
        )
        query = (
            select(*columns)
            .where(_up_to(book_id, tier))
            .group_by(*columns)
            .order_by(func.min(lessons.c.position))
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return choices_of(rows)

    async def totals(self, book_id: str, tier: int | None = None) -> tuple[int, int]:
        """Lessons and chunks of a book up to a tier."""
        async with self._engine.connect() as connection:
            row = await connection.execute(
                select(func.count(), func.coalesce(func.sum(lessons.c.chunk_count), 0)).where(
                    _up_to(book_id, tier)
                )
            )
            lesson_count, chunk_count = row.one()
            return int(lesson_count), int(chunk_count)

    async def replace(
        self,
        book_id: str,
        written: Sequence[ShelvedLesson],
        rows: Mapping[str, ChunkRow],
        removed: Sequence[str] = (),
    ) -> bool:
        """The switch: these lessons and chunks take the place of what stood under their files, all at once.

        False: the book is gone, and nothing was written.
        """
        files = [*removed, *(lesson.source_file for lesson in written)]

        def write(connection: Connection) -> bool:
            if connection.execute(_STANDS, {"book_id": book_id}).first() is None:
                return False
            for names in slices(files):
                for table in (chunks, lessons):
                    connection.execute(
                        delete(table).where(
                            table.c.book_id == book_id, table.c.source_file.in_(names)
                        )
                    )
            upsert(connection, lessons, [lesson_row(lesson) for lesson in written])
            upsert(connection, chunks, [chunk_row(book_id, i, r) for i, r in rows.items()])
            return True

        return await self._steps.write(write)

    async def drop_chunks(self, book_id: str, chunk_ids: Sequence[str]) -> None:
        """Remove rows that belong to no lesson."""
        async with self._engine.begin() as connection:
            for ids in slices(chunk_ids):
                await connection.execute(
                    delete(chunks).where(chunks.c.book_id == book_id, chunks.c.chunk_id.in_(ids))
                )

    async def touch(self, book_id: str, positions: dict[str, int]) -> None:
        """Record the book order of lessons whose content did not change."""
        if not positions:
            return
        statement = (
            lessons.update()
            .where(lessons.c.book_id == book_id, lessons.c.source_file == bindparam("file"))
            .values(position=bindparam("to"))
        )
        async with self._engine.begin() as connection:
            await connection.execute(
                statement, [{"file": file, "to": to} for file, to in positions.items()]
            )

    async def distrust(self, book_id: str, source_files: Sequence[str]) -> None:
        """Have the next ingest read these lessons again, whatever their files' hashes say."""
        async with self._engine.begin() as connection:
            for names in slices(source_files):
                await connection.execute(
                    lessons.update()
                    .where(lessons.c.book_id == book_id, lessons.c.source_file.in_(names))
                    .values(inputs_hash="")
                )

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
        query = select(
            chunks.c.chunk_id,
            chunks.c.source_file,
            chunks.c.chunk_index,
            chunks.c.text_hash,
            chunks.c.payload,
            chunks.c.sections,
        )

        def read(connection: Connection) -> dict[str, ChunkRow]:
            return {
                row[0]: ChunkRow(*row[1:])
                for part in slices(values)
                for row in connection.execute(
                    query.where(chunks.c.book_id == book_id, column.in_(part))
                )
            }

        return await self._steps.read(read)
