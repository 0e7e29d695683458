"""Makes prepared lessons visible, and puts the index right after a crash.

Before the index is touched, the database notes which points may differ from it (dirty). New points go in
first, unseen because the database does not name them; one transaction switches the lessons; old points go
last. Whatever a crash leaves between these is put right from the notes.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from askbook.book import Vector, content_hash
from askbook.embedding import Embedder
from askbook.errors import Conflict
from askbook.index import ChunkIndex, IndexPoint
from askbook.ingestion.preparing import Batch, PreparedLesson
from askbook.storage.library import Library
from askbook.storage.rows import ChunkRow, ShelvedBook, ShelvedLesson
from askbook.storage.vectors import VectorCache

SYNC_SLICE = 256


@dataclass(frozen=True, slots=True)
class Switched:
    chunks_created: int
    chunks_deleted: int


async def switch(
    library: Library,
    index: ChunkIndex,
    book_id: str,
    batch: Batch,
    vectors: Mapping[str, Vector],
    *,
    now: datetime,
    rewrite: bool,
) -> Switched:
    """Replace the batch's lessons; with `rewrite`, all their points, also those that seem unchanged."""
    files = [*batch.removed, *(p.lesson.source_file for p in batch.lessons)]
    old = await library.rows(book_id, source_files=files)
    lessons: list[ShelvedLesson] = []
    new: dict[str, ChunkRow] = {}
    doubted: set[str] = set()
    for prepared in batch.lessons:
        lesson, rows = _stamped(prepared, batch.text_hashes, old, now)
        lessons.append(lesson)
        new.update(rows)
        if rewrite or prepared.whole:
            doubted.update(rows)
    added = [chunk_id for chunk_id in new if chunk_id not in old]
    gone = [chunk_id for chunk_id in old if chunk_id not in new]
    moved, relabelled = _kept_but_changed(new, old, doubted)
    dirty = [*added, *gone, *moved, *relabelled]

    def points(chunk_ids: Sequence[str]) -> list[IndexPoint]:
        return [_point(i, new[i], vectors[new[i].text_hash]) for i in chunk_ids]

    if dirty:
        await library.dirty.mark(book_id, dirty)
        await index.upsert(points(added))
    if not await library.replace(book_id, lessons, new, batch.removed):
        await index.delete(dirty)
        await library.dirty.clear(book_id, dirty)
        raise book_is_gone(book_id)
    if dirty:
        await index.upsert(points(moved))
        await index.overwrite_payloads({i: new[i].payload for i in relabelled})
        await index.delete(gone)
        await library.dirty.clear(book_id, dirty)
    return Switched(len(added), len(gone))


def book_is_gone(book_id: str) -> Conflict:
    """What is said of an ingest whose book was deleted under it."""
    return Conflict(
        f"Book {book_id!r} was deleted while it was being ingested.",
        "Ingest its folder again if it is to come back.",
    )


async def put_right(
    library: Library, cache: VectorCache, index: ChunkIndex, embedder: Embedder, book_id: str
) -> int:
    """Bring every dirty point to what the database says; returns how many there were."""
    dirty = await library.dirty.of(book_id)
    for start in range(0, len(dirty), SYNC_SLICE):
        part = dirty[start : start + SYNC_SLICE]
        rows = await library.rows(book_id, chunk_ids=part)
        await restore_points(cache, index, embedder, rows)
        await index.delete([chunk_id for chunk_id in part if chunk_id not in rows])
        await library.dirty.clear(book_id, part)
    return len(dirty)


async def remove_book(
    library: Library, cache: VectorCache, index: ChunkIndex, shelved: ShelvedBook
) -> int:
    """Remove a book for good, its points first; returns how many chunks it had."""
    book_id = shelved.book.book_id
    by_file = await library.chunk_ids(book_id)
    chunk_ids = [chunk_id for part in by_file.values() for chunk_id in part]
    await library.dirty.mark(book_id, chunk_ids)
    await index.delete_book(book_id)
    await cache.forget(shelved.fingerprint, book_id)
    await library.delete_book(book_id)
    return len(chunk_ids)


async def restore_points(
    cache: VectorCache, index: ChunkIndex, embedder: Embedder, rows: Mapping[str, ChunkRow]
) -> None:
    """Write these chunks to the index from the database and the cached vectors."""
    fingerprint = str(embedder.fingerprint)
    texts = {content_hash(row.embedded_text): row.embedded_text for row in rows.values()}
    vectors = await cache.find(fingerprint, list(texts))
    missing = [text_hash for text_hash in texts if text_hash not in vectors]
    if missing:
        computed = await embedder.embed_passages([texts[text_hash] for text_hash in missing])
        by_hash = dict(zip(missing, computed, strict=True))
        await cache.save(fingerprint, by_hash)
        vectors.update(by_hash)
    await index.upsert(
        [_point(i, row, vectors[content_hash(row.embedded_text)]) for i, row in rows.items()]
    )


def _stamped(
    prepared: PreparedLesson,
    text_hashes: Mapping[str, str],
    old: Mapping[str, ChunkRow],
    now: datetime,
) -> tuple[ShelvedLesson, dict[str, ChunkRow]]:
    """A lesson that differs from what stood there before is its next version, of now."""
    lesson = prepared.lesson
    rows = {
        chunk.id: ChunkRow(
            lesson.source_file,
            chunk.metadata.chunk_index,
            text_hashes[chunk.id],
            chunk.to_payload(),
            chunk.sections,
        )
        for chunk in prepared.chunks
    }
    is_new = lesson.ingested_at == now and lesson.version == 1
    same = all(i in old and old[i].payload == row.payload for i, row in rows.items())
    if is_new or (same and len(rows) == _count(old, lesson)):
        return lesson, rows
    version = lesson.version + 1
    for row in rows.values():
        row.payload.update(version=version, updated_at=now.isoformat())
    return replace(lesson, version=version, ingested_at=now), rows


def _count(old: Mapping[str, ChunkRow], lesson: ShelvedLesson) -> int:
    return sum(row.payload["parent_doc_id"] == lesson.parent_doc_id for row in old.values())


def _kept_but_changed(
    new: Mapping[str, ChunkRow], old: Mapping[str, ChunkRow], doubted: Collection[str]
) -> tuple[list[str], list[str]]:
    """Kept chunks that need another vector, and those that need another payload only."""
    moved: list[str] = []
    relabelled: list[str] = []
    for chunk_id, row in new.items():
        before = old.get(chunk_id)
        if before is None:
            continue
        if chunk_id in doubted or before.text_hash != row.text_hash:
            moved.append(chunk_id)
        elif before.payload != row.payload:
            relabelled.append(chunk_id)
    return moved, relabelled


def _point(chunk_id: str, row: ChunkRow, vector: Vector) -> IndexPoint:
    return IndexPoint(chunk_id, vector, row.embedded_text, row.payload)
