"""Makes prepared lessons visible, and puts the index right after a crash.

Before the index is touched, the database notes which points may differ from it (dirty). New points go in
first, unseen because the database does not name them; one transaction switches the lessons; old points go
last. Whatever a crash leaves between these is put right from the notes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from askbook.book import DocumentChunk, Vector
from askbook.embedding import Embedder
from askbook.index import ChunkIndex, IndexPoint
from askbook.ingestion.preparing import Batch, PreparedLesson
from askbook.storage.library import Library
from askbook.storage.rows import ChunkRow, ShelvedLesson
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
    """Replace the batch's lessons; with `rewrite`, also write points that seem unchanged."""
    files = [*batch.removed, *(p.lesson.source_file for p in batch.lessons)]
    old = await library.rows(book_id, source_files=files)
    written = [_stamped(prepared, old, now) for prepared in batch.lessons]
    new = {chunk.id: chunk for _, chunks in written for chunk in chunks}
    added = [chunk_id for chunk_id in new if chunk_id not in old]
    gone = [chunk_id for chunk_id in old if chunk_id not in new]
    moved, relabelled = _kept_but_changed(new, old, batch.text_hashes, rewrite)
    dirty = [*added, *gone, *moved, *relabelled]

    def points(chunk_ids: Sequence[str]) -> list[IndexPoint]:
        return [_point(new[i], vectors[batch.text_hashes[i]]) for i in chunk_ids]

    if dirty:
        await library.mark_dirty(book_id, dirty)
        await index.upsert(points(added))
    await library.replace(book_id, written, batch.removed, batch.text_hashes)
    if dirty:
        await index.upsert(points(moved))
        await index.overwrite_payloads({i: new[i].to_payload() for i in relabelled})
        await index.delete(gone)
        await library.clear_dirty(book_id, dirty)
    return Switched(len(added), len(gone))


async def put_right(
    library: Library, cache: VectorCache, index: ChunkIndex, embedder: Embedder, book_id: str
) -> int:
    """Bring every dirty point to what the database says; returns how many there were."""
    dirty = await library.dirty(book_id)
    for start in range(0, len(dirty), SYNC_SLICE):
        part = dirty[start : start + SYNC_SLICE]
        rows = await library.rows(book_id, chunk_ids=part)
        await restore_points(cache, index, embedder, rows)
        await index.delete([chunk_id for chunk_id in part if chunk_id not in rows])
        await library.clear_dirty(book_id, part)
    return len(dirty)


async def restore_points(
    cache: VectorCache, index: ChunkIndex, embedder: Embedder, rows: Mapping[str, ChunkRow]
) -> None:
    """Write these chunks to the index from the database and the cached vectors."""
    fingerprint = str(embedder.fingerprint)
    vectors = await cache.find(fingerprint, [row.text_hash for row in rows.values()])
    chunks = {i: DocumentChunk.from_payload(i, row.payload) for i, row in rows.items()}
    missing = {
        row.text_hash: chunks[i].embedded_text
        for i, row in rows.items()
        if row.text_hash not in vectors
    }
    if missing:
        computed = dict(
            zip(missing, await embedder.embed_passages(list(missing.values())), strict=True)
        )
        await cache.save(fingerprint, computed)
        vectors.update(computed)
    await index.upsert([_point(chunks[i], vectors[row.text_hash]) for i, row in rows.items()])


def _stamped(
    prepared: PreparedLesson, old: Mapping[str, ChunkRow], now: datetime
) -> tuple[ShelvedLesson, tuple[DocumentChunk, ...]]:
    """A lesson that differs from what stood there before is its next version, of now."""
    lesson, chunks = prepared.lesson, prepared.chunks
    is_new = lesson.ingested_at == now and lesson.version == 1
    same = all(c.id in old and old[c.id].payload == c.to_payload() for c in chunks)
    if is_new or (same and len(chunks) == _count(old, lesson)):
        return lesson, chunks
    version = lesson.version + 1
    return (
        replace(lesson, version=version, ingested_at=now),
        tuple(
            replace(c, metadata=replace(c.metadata, version=version, updated_at=now))
            for c in chunks
        ),
    )


def _count(old: Mapping[str, ChunkRow], lesson: ShelvedLesson) -> int:
    return sum(row.payload["parent_doc_id"] == lesson.parent_doc_id for row in old.values())


def _kept_but_changed(
    new: Mapping[str, DocumentChunk],
    old: Mapping[str, ChunkRow],
    text_hashes: Mapping[str, str],
    rewrite: bool,
) -> tuple[list[str], list[str]]:
    """Kept chunks that need another vector, and those that need another payload only."""
    moved: list[str] = []
    relabelled: list[str] = []
    for chunk_id, chunk in new.items():
        row = old.get(chunk_id)
        if row is None:
            continue
        if rewrite or row.text_hash != text_hashes[chunk_id]:
            moved.append(chunk_id)
        elif row.payload != chunk.to_payload():
            relabelled.append(chunk_id)
    return moved, relabelled


def _point(chunk: DocumentChunk, vector: Vector) -> IndexPoint:
    return IndexPoint(chunk.id, vector, chunk.embedded_text, chunk.to_payload())
