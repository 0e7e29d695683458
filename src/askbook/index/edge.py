"""The embedded index: Qdrant's engine in process, on the data directory, one process at a time.

Every engine call holds the GIL and the shard is not to be entered twice, so all calls go through one
executor thread and upserts are small.
"""

import asyncio
import errno
import json
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import qdrant_edge as qe

from askbook.book import Vector
from askbook.errors import (
    DataDirectoryBusy,
    DataDirectoryCorrupt,
    EmbedderMismatch,
    ServiceUnavailable,
    StorageFull,
)
from askbook.index.base import ChunkFilter, Hit, Hits, IndexPoint, StoredPoint
from askbook.index.edge_layout import field_indexes, layout
from askbook.index.sparse import DENSE, SPARSE, Bm25

R = TypeVar("R")

UPSERT_BATCH = 64
SCROLL_PAGE = 256
FLUSH_AFTER = 2048
"""Points changed until they are flushed: what waits for it is kept in memory, about two kilobytes a point."""
FINGERPRINT_FILE = "fingerprint.json"
RESERVE = 64 << 20
"""Bytes to leave free: the engine maps its files, and a map that finds no room kills the process."""


class EdgeIndex:
    """A `ChunkIndex` in a folder."""

    def __init__(self, folder: Path, fingerprint: str, dimension: int) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self._dimension = dimension
        self._executor = ThreadPoolExecutor(1, "edge-index")
        self._bm25 = Bm25()
        self._shard: qe.EdgeShard | None = None
        self._unflushed = 0

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        for start in range(0, len(points), UPSERT_BATCH):
            await self._call(self._upsert, points[start : start + UPSERT_BATCH])

    async def overwrite_payloads(self, payloads: Mapping[str, dict[str, Any]]) -> None:
        items = list(payloads.items())
        for start in range(0, len(items), UPSERT_BATCH):
            await self._call(self._overwrite_payloads, items[start : start + UPSERT_BATCH])

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        if chunk_ids:
            await self._call(self._delete, chunk_ids)

    async def delete_book(self, book_id: str) -> None:
        await self._call(self._delete_book, book_id)

    async def search(
        self, where: ChunkFilter, *, vector: Vector | None, text: str | None, limit: int
    ) -> Hits:
        return await self._call(self._search, where, vector, text, limit)

    async def retrieve(
        self, chunk_ids: Sequence[str], *, vectors: bool = False
    ) -> dict[str, StoredPoint]:
        if not chunk_ids:
            return {}
        return await self._call(self._retrieve, chunk_ids, vectors)

    async def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        return await self._call(self._vectors, chunk_ids) if chunk_ids else {}

    async def scroll(self, book_id: str, *, vectors: bool = False) -> AsyncIterator[StoredPoint]:
        offset: Any = None
        while True:
            page, offset = await self._call(self._scroll, book_id, vectors, offset)
            for point in page:
                yield point
            if offset is None:
                return

    async def count(self, book_id: str | None = None) -> int:
        return await self._call(self._count, book_id)

    async def payload_indexes(self) -> dict[str, str]:
        return await self._call(self._payload_indexes)

    async def recreate(self) -> None:
        await self._call(self._recreate)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=True)

    async def _call(self, function: Callable[..., R], *args: Any) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._translated, function, *args)

    def _translated(self, function: Callable[..., R], *args: Any) -> R:
        try:
            return function(*args)
        except (OSError, RuntimeError, ValueError) as error:
            raise _translate(error, self._folder) from error
        except BaseException as error:
            # The engine raises bare `Exception` for what it finds wrong, and panics on damaged files.
            if type(error) is Exception or type(error).__name__ == "PanicException":
                raise _translate(error, self._folder) from error
            raise

    def _open(self) -> qe.EdgeShard:
        if self._shard is None:
            if (self._folder / FINGERPRINT_FILE).exists():
                self._check_fingerprint()
                self._shard = qe.EdgeShard.load(str(self._folder), layout(self._dimension))
            else:
                self._shard = self._create()
        return self._shard

    def _create(self) -> qe.EdgeShard:
        # The fingerprint file is written last: a folder without it is an unfinished creation.
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        shard = qe.EdgeShard.create(str(self._folder), layout(self._dimension))
        for name, parameters in field_indexes().items():
            shard.update(qe.UpdateOperation.create_field_index(name, parameters))
        shard.flush()
        (self._folder / FINGERPRINT_FILE).write_text(
            json.dumps({"fingerprint": self._fingerprint}), encoding="utf-8"
        )
        return shard

    def _check_fingerprint(self) -> None:
        path = self._folder / FINGERPRINT_FILE
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataDirectoryCorrupt(
                f"{path} is not readable: {error}.",
                "Rebuild the index with `askbook ingest PATH --mode recreate`.",
            ) from error
        if found != self._fingerprint:
            raise EmbedderMismatch(
                f"The index was built with the embedder {found}, but {self._fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index again with "
                "`askbook ingest PATH --mode recreate`.",
            )

    def _upsert(self, points: Sequence[IndexPoint]) -> None:
        self._open()
        if shutil.disk_usage(self._folder).free < RESERVE:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._folder))
        self._update(
            qe.UpdateOperation.upsert_points(
                [
                    qe.Point(
                        p.chunk_id,
                        {
                            DENSE: p.vector.tolist(),
                            SPARSE: self._bm25.document(p.sparse_text),
                        },
                        p.payload,
                    )
                    for p in points
                ]
            )
        )
        self._changed(len(points))

    def _overwrite_payloads(self, items: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for chunk_id, payload in items:
            self._update(qe.UpdateOperation.overwrite_payload([chunk_id], payload))
        self._changed(len(items))

    def _delete(self, chunk_ids: Sequence[str]) -> None:
        self._update(qe.UpdateOperation.delete_points(list(chunk_ids)))
        self._changed(len(chunk_ids))

    def _delete_book(self, book_id: str) -> None:
        where = _condition(ChunkFilter(book_id))
        self._update(qe.UpdateOperation.delete_points_by_filter(where))
        self._settle()

    def _changed(self, points: int) -> None:
        self._unflushed += points
        if self._unflushed >= FLUSH_AFTER:
            self._settle()

    def _settle(self) -> None:
        """Bring what was changed to disk, write out segments that are full and tidy those with many holes."""
        shard = self._open()
        shard.flush()
        shard.optimize()
        self._unflushed = 0

    def _update(self, operation: qe.UpdateOperation) -> None:
        self._open().update(operation)

    def _search(
        self, where: ChunkFilter, vector: Vector | None, text: str | None, limit: int
    ) -> Hits:
        condition = _condition(where)
        requests: list[qe.QueryRequest] = []
        if vector is not None:
            query = qe.Query.Nearest(vector.tolist(), using=DENSE)
            requests.append(qe.QueryRequest(limit=limit, query=query, filter=condition))
        if text is not None:
            # Rarity is counted within the book, not across tenants.
            corpus = _condition(ChunkFilter(where.book_id))
            requests.append(
                qe.QueryRequest(
                    limit=limit,
                    query=qe.Query.Nearest(self._bm25.query(text), using=SPARSE),
                    filter=condition,
                    params=qe.SearchParams(idf=qe.IdfParams(corpus=corpus)),
                )
            )
        answers = self._open().query_batch(qe.QueryBatchRequest(requests)) if requests else []
        rankings = [
            tuple(Hit(str(point.id), float(point.score)) for point in answer) for answer in answers
        ]
        dense = rankings.pop(0) if vector is not None else ()
        sparse = rankings.pop(0) if text is not None else ()
        return Hits(dense=dense, sparse=sparse)

    def _retrieve(self, chunk_ids: Sequence[str], vectors: bool) -> dict[str, StoredPoint]:
        records = self._open().retrieve(
            list(chunk_ids), True, [DENSE, SPARSE] if vectors else False
        )
        return {str(record.id): _stored(record) for record in records}

    def _vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        records = self._open().retrieve(list(chunk_ids), False, [DENSE])
        return {str(record.id): _dense(record) for record in records}

    def _scroll(
        self, book_id: str, vectors: bool, offset: Any
    ) -> tuple[list[StoredPoint], Any | None]:
        records, following = self._open().scroll(
            qe.ScrollRequest(
                offset=offset,
                limit=SCROLL_PAGE,
                filter=_condition(ChunkFilter(book_id)),
                with_payload=True,
                with_vector=[DENSE, SPARSE] if vectors else False,
            )
        )
        return [_stored(record) for record in records], following

    def _count(self, book_id: str | None) -> int:
        where = None if book_id is None else _condition(ChunkFilter(book_id))
        return self._open().count(qe.CountRequest(filter=where, exact=True))

    def _payload_indexes(self) -> dict[str, str]:
        schema = self._open().info().payload_schema
        return {name: str(info.data_type).rsplit(".", 1)[-1] for name, info in schema.items()}

    def _recreate(self) -> None:
        self._close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._open()

    def _close(self) -> None:
        if self._shard is not None:
            self._shard.close()
            self._shard = None


def _condition(where: ChunkFilter) -> qe.Filter:
    must: list[Any] = [_match("book_id", where.book_id)]
    if where.hardware_tier is not None:
        must.append(
            qe.FieldCondition("hardware_tier", range=qe.RangeFloat(lte=where.hardware_tier))
        )
    if where.module is not None:
        must.append(_match("module", where.module))
    if where.chapter_min is not None or where.chapter_max is not None:
        bounds = qe.RangeFloat(gte=where.chapter_min, lte=where.chapter_max)
        must.append(qe.FieldCondition("chapter", range=bounds))
    if where.lesson is not None:
        must.append(_match("lesson", where.lesson))
    if where.proficiency_levels is not None:
        levels = qe.MatchAny(list(where.proficiency_levels))
        must.append(qe.FieldCondition("proficiency_level", match=levels))
    if where.layer is not None:
        must.append(_match("layer", where.layer))
    if where.parent_doc_id is not None:
        must.append(_match("parent_doc_id", where.parent_doc_id))
    return qe.Filter(must=must)


def _match(field: str, value: str | int) -> qe.FieldCondition:
    return qe.FieldCondition(field, match=qe.MatchValue(value))


def _dense(record: qe.Record) -> Vector:
    vectors: Any = record.vector
    return np.asarray(vectors[DENSE], dtype=np.float32)


def _stored(record: qe.Record) -> StoredPoint:
    vectors: Any = record.vector or {}
    sparse: Any = vectors.get(SPARSE)
    return StoredPoint(
        chunk_id=str(record.id),
        payload=record.payload or {},
        vector=_dense(record) if DENSE in vectors else None,
        terms=None if sparse is None else dict(zip(sparse.indices, sparse.values, strict=True)),
    )


def _translate(error: BaseException, folder: Path) -> Exception:
    text = str(error)
    if "WouldBlock" in text:
        return DataDirectoryBusy(
            f"Another askbook process uses the index in {folder}.",
            "Stop it, or give this one its own --data-dir.",
        )
    if "No space left" in text or "disk is full" in text.lower():
        return StorageFull(
            f"No space is left for the index in {folder}.",
            "Free some space and run the same command again; nothing already indexed is lost.",
        )
    if "Service runtime error" in text or type(error).__name__ == "PanicException":
        return DataDirectoryCorrupt(
            f"The index in {folder} cannot be read: {text}.",
            "Rebuild it from your files with `askbook ingest PATH --mode recreate`.",
        )
    return ServiceUnavailable(
        f"The embedded index failed: {text}.", "Run `askbook doctor` to find the cause."
    )
