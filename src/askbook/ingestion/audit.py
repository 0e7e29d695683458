"""Proves that a book's files, database and index agree, chunk by chunk, and repairs them where they do not.

The clean build is what reading and splitting the files gives now. It is compared batch by batch, so that
memory does not grow with the book. Of lessons that cannot be read, the database is the measure, and they are told.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from askbook.book import Vector
from askbook.embedding import Embedder
from askbook.errors import ConfigurationError, EmbedderMismatch, InvalidInput
from askbook.index import ChunkIndex, StoredPoint
from askbook.index.sparse import terms_of
from askbook.ingestion.counting import WordCounter
from askbook.ingestion.differences import (
    Difference,
    Differences,
    ExpectedChunk,
    Where,
    lesson_differences,
    linked,
    row_differences,
    same_terms,
    same_vector,
    split_links,
)
from askbook.ingestion.pipeline import Pipeline
from askbook.ingestion.planning import make_plan
from askbook.ingestion.preparing import Batch, prepare
from askbook.ingestion.readers import open_reader
from askbook.ingestion.switching import put_right
from askbook.storage.library import Library
from askbook.storage.rows import ChunkRow, ShelvedBook, ShelvedLesson
from askbook.storage.vectors import VectorCache

SAMPLE = 16
"""Vectors that are recomputed by an audit without repair, when the cache does not have them."""


@dataclass(slots=True)
class Audit:
    """What an audit of one book found, and what became of it."""

    book_id: str
    folder: str
    files_compared: bool = True
    lessons: int = 0
    chunks: int = 0
    found: Differences = field(default_factory=Differences)
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    """Files that could not be read, and why: no repair brings them into the book."""
    repaired: list[Difference] = field(default_factory=list[Difference])
    notes: list[str] = field(default_factory=list[str])

    @property
    def sound(self) -> bool:
        """Every file could be read, and nothing differs, or nothing does any more."""
        return not self.unreadable and len(self.repaired) == len(self.found.all())


class Auditor:
    """Audits books of one library and index."""

    def __init__(
        self,
        library: Library,
        cache: VectorCache,
        index: ChunkIndex,
        embedder: Embedder,
        pipeline: Pipeline,
    ) -> None:
        self._library = library
        self._cache = cache
        self._index = index
        self._embedder = embedder
        self._pipeline = pipeline

    async def audit(self, shelved: ShelvedBook, *, repair: bool = False) -> Audit:
        """Compare a book with its files; with `repair`, make it equal to them."""
        if shelved.fingerprint != str(self._embedder.fingerprint):
            raise EmbedderMismatch(
                f"Book {shelved.book.book_id!r} was indexed with the embedder "
                f"{shelved.fingerprint}, but {self._embedder.fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index it again with "
                "`askbook ingest PATH --mode recreate`.",
            )
        comparison = await self._compare(shelved, every_vector=repair)
        audit = comparison.audit
        found = audit.found.all()
        if repair and found:
            await self._repair(shelved, comparison)
            after = await self._compare(shelved, every_vector=True)
            remaining = set(after.audit.found.all())
            audit.repaired = [each for each in found if each not in remaining]
            audit.notes = after.audit.notes
            audit.unreadable = after.audit.unreadable
        return audit

    async def _compare(self, shelved: ShelvedBook, *, every_vector: bool) -> "_Comparison":
        comparison = _Comparison(
            self._library, self._cache, self._index, self._embedder, shelved, every_vector
        )
        await comparison.run()
        return comparison

    async def _repair(self, shelved: ShelvedBook, comparison: "_Comparison") -> None:
        """Note what is wrong where a rerun looks for it, and run again."""
        book_id, found = shelved.book.book_id, comparison.audit.found
        in_database = [each for each in found.all() if each.where == "database"]
        nowhere = [
            each.chunk_id
            for each in found.orphaned
            if each.chunk_id is not None
            and each.where == "database"
            and each.source_file not in comparison.shelved_files
        ]
        in_index = [
            each.chunk_id for each in found.all() if each.where == "index" and each.chunk_id
        ]
        # Which of two differing vectors is right only the embedder knows.
        await self._cache.drop(shelved.fingerprint, comparison.doubted_vectors)
        await self._library.dirty.mark(book_id, [*in_index, *nowhere])
        await self._library.drop_chunks(book_id, nowhere)
        await self._library.distrust(book_id, [each.source_file for each in in_database])
        if comparison.audit.files_compared:
            async for _ in self._pipeline.run(Path(shelved.folder), book_id):
                pass
        else:
            await put_right(self._library, self._cache, self._index, self._embedder, book_id)


class _Comparison:
    """One pass over a book."""

    def __init__(
        self,
        library: Library,
        cache: VectorCache,
        index: ChunkIndex,
        embedder: Embedder,
        shelved: ShelvedBook,
        every_vector: bool,
    ) -> None:
        self._library = library
        self._cache = cache
        self._index = index
        self._embedder = embedder
        self._shelved = shelved
        self._book_id = shelved.book.book_id
        self._to_recompute = -1 if every_vector else SAMPLE
        self._uncompared = 0
        self._kept: set[str] = set()
        self.audit = Audit(self._book_id, shelved.folder)
        self.shelved_files: frozenset[str] = frozenset()
        self.doubted_vectors: list[str] = []

    async def run(self) -> None:
        lessons = await self._library.lessons(self._book_id)
        self.shelved_files = frozenset(lessons)
        unread = set(lessons)
        async for batch in self._clean_build(lessons):
            self.audit.unreadable.update(batch.failed)
            for path in batch.removed:
                self._note("orphaned", "database", path, None, "lesson")
            unread.difference_update(batch.removed)
            unread.difference_update(prepared.lesson.source_file for prepared in batch.lessons)
            await self._compare_batch(batch, lessons)
        for path in (path for path in lessons if path in unread):
            await self._compare_unread(path, lessons[path])
        await self._find_orphans()
        if self._uncompared:
            self.audit.notes.append(
                f"{self._uncompared} vectors are not in the cache and were not compared; "
                "--repair computes them."
            )

    async def _clean_build(self, lessons: Mapping[str, ShelvedLesson]) -> AsyncIterator[Batch]:
        """The lessons as their files give them now; none when the folder is gone."""
        try:
            reader = await asyncio.to_thread(open_reader, Path(self._shelved.folder), self._book_id)
            plan = await asyncio.to_thread(
                make_plan, reader, lessons, mode="full", same_settings=False
            )
        except (InvalidInput, ConfigurationError) as error:
            self._leave_files_out(str(error))
            return
        if not plan.discovered:
            self._leave_files_out(f"No lesson was found in {reader.docs_root}.")
            return
        yield Batch(failed=plan.failed)
        count_tokens = WordCounter(self._embedder.count_tokens)
        batches = prepare(reader, plan.units, count_tokens, datetime.now(UTC), plan.failed)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield batch

    def _leave_files_out(self, reason: str) -> None:
        self.audit.files_compared = False
        self.audit.notes.append(f"{reason} Only database and index were compared.")

    async def _compare_batch(self, batch: Batch, lessons: Mapping[str, ShelvedLesson]) -> None:
        files = [prepared.lesson.source_file for prepared in batch.lessons]
        expected = {
            chunk.id: ExpectedChunk(
                prepared.lesson.source_file, batch.text_hashes[chunk.id], chunk.to_payload()
            )
            for prepared in batch.lessons
            for chunk in prepared.chunks
        }
        for prepared in batch.lessons:
            self._compare_lesson(prepared.lesson, lessons.get(prepared.lesson.source_file))
        rows = await self._library.rows(self._book_id, chunk_ids=list(expected))
        await self._compare_chunks(expected, rows)
        self.audit.lessons += len(files)

    async def _compare_unread(self, source_file: str, lesson: ShelvedLesson) -> None:
        rows = await self._library.rows(self._book_id, source_files=[source_file])
        if lesson.chunk_count != len(rows):
            self._note_fields("database", source_file, None, ["total_chunks"])
        await self._compare_chunks(linked(rows), rows)
        self.audit.lessons += 1

    def _compare_lesson(self, expected: ShelvedLesson, found: ShelvedLesson | None) -> None:
        if found is None:
            self._note("missing", "database", expected.source_file, None, "lesson")
            return
        self._note_fields(
            "database", expected.source_file, None, lesson_differences(expected, found)
        )

    async def _compare_chunks(
        self, expected: Mapping[str, ExpectedChunk], rows: Mapping[str, ChunkRow]
    ) -> None:
        self._kept.update(expected)
        self.audit.chunks += len(expected)
        points = await self._index.retrieve(list(expected), vectors=True)
        vectors = await self._vectors(expected, rows)
        for chunk_id, chunk in expected.items():
            row, point = rows.get(chunk_id), points.get(chunk_id)
            wrong = row_differences(chunk, row) if row is not None else []
            if row is None:
                self._note("missing", "database", chunk.source_file, chunk_id, "chunk")
            else:
                self._note_fields("database", chunk.source_file, chunk_id, wrong)
            if point is None:
                self._note("missing", "index", chunk.source_file, chunk_id, "chunk")
                continue
            measure, history = chunk, chunk.history
            if row is not None and not wrong:
                # Between database and index, dates and versions must agree too.
                measure = ExpectedChunk(chunk.source_file, chunk.text_hash, row.payload)
                history = True
            names = measure.differing(point.payload, history=history)
            if self._vector_differs(vectors.get(chunk.text_hash), point):
                names.append("vector")
                self.doubted_vectors.append(chunk.text_hash)
            if not same_terms(terms_of(_embedded_text(chunk.payload)), point.terms or {}):
                names.append("terms")
            self._note_fields("index", chunk.source_file, chunk_id, names)

    async def _vectors(
        self, expected: Mapping[str, ExpectedChunk], rows: Mapping[str, ChunkRow]
    ) -> dict[str, Vector]:
        """Cached vectors by the hash of their text; some or all of the missing ones computed."""
        texts = {c.text_hash: _embedded_text(c.payload) for c in expected.values()}
        fingerprint = self._shelved.fingerprint
        vectors = await self._cache.find(fingerprint, list(texts))
        # A text that the library never had was never embedded: it is reported as missing.
        known = {rows[i].text_hash for i in expected if i in rows}
        missing = [h for h in texts if h not in vectors and h in known]
        now = missing if self._to_recompute < 0 else missing[: self._to_recompute]
        if now:
            computed = await self._embedder.embed_passages([texts[h] for h in now])
            by_hash = dict(zip(now, computed, strict=True))
            vectors.update(by_hash)
            if self._to_recompute < 0:
                await self._cache.save(fingerprint, by_hash)
            else:
                self._to_recompute -= len(now)
        self._uncompared += len(missing) - len(now)
        return vectors

    def _vector_differs(self, cached: Vector | None, point: StoredPoint) -> bool:
        if point.vector is None:
            return True
        return cached is not None and not same_vector(cached, point.vector)

    async def _find_orphans(self) -> None:
        """Rows and points of the book that no lesson has."""
        stored = await self._library.chunk_ids(self._book_id)
        for source_file, chunk_ids in stored.items():
            for chunk_id in chunk_ids:
                if chunk_id not in self._kept:
                    self._note("orphaned", "database", source_file, chunk_id, "chunk")
        async for point in self._index.scroll(self._book_id):
            if point.chunk_id not in self._kept:
                source_file = str(point.payload.get("source_file", ""))
                self._note("orphaned", "index", source_file, point.chunk_id, "chunk")

    def _note_fields(
        self, where: Where, source_file: str, chunk_id: str | None, names: Sequence[str]
    ) -> None:
        links, others = split_links(names)
        if links:
            self._note("broken_links", where, source_file, chunk_id, ", ".join(links))
        if others:
            self._note("stale", where, source_file, chunk_id, ", ".join(others))

    def _note(
        self,
        kind: Literal["missing", "orphaned", "stale", "broken_links"],
        where: Where,
        source_file: str,
        chunk_id: str | None,
        what: str,
    ) -> None:
        difference = Difference(self._book_id, source_file, chunk_id, where, what)
        getattr(self.audit.found, kind).append(difference)


def _embedded_text(payload: Mapping[str, Any]) -> str:
    return f"{payload['breadcrumb']}\n{payload['text']}"
