"""The Qdrant server or cluster as index, over HTTP or gRPC; many processes may share it.

The collection's metadata names the embedder that filled it. Every call is idempotent and is retried; when
the server stays away, a breaker answers at once until it is back. Above the server's indexing threshold
the dense ranking is approximate (HNSW); filters are exact at any size.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import httpx
import numpy as np
from qdrant_client import AsyncQdrantClient, models

from askbook.book import Vector
from askbook.config import IndexSettings, masked_address
from askbook.errors import ConfigurationError, EmbedderMismatch
from askbook.index.base import PAYLOAD_INDEXES, ChunkFilter, Hit, Hits, IndexPoint, StoredPoint
from askbook.index.server_errors import CollectionExists, CollectionGone, ServerErrors
from askbook.index.sparse import DENSE, SPARSE, Bm25
from askbook.remote import Backoff, Breaker, call

R = TypeVar("R")

FINGERPRINT = "askbook_fingerprint"
OLDEST_SERVER = (1, 19)
"""Rarity counted within one book (`params.idf`) came with Qdrant 1.19."""
UPSERT_BATCH = 64
IDS_BATCH = 1000
SCROLL_PAGE = 256
CONNECTIONS = 32


class ServerIndex:
    """A `ChunkIndex` in one collection of a Qdrant server."""

    def __init__(
        self,
        settings: IndexSettings,
        fingerprint: str,
        dimension: int,
        *,
        backoff: Backoff | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        secret = settings.qdrant_api_key
        api_key = secret.get_secret_value() if secret else None
        self._settings = settings
        self._url = masked_address(settings.qdrant_url or "")
        self._collection = settings.qdrant_collection_name
        self._fingerprint = fingerprint
        self._dimension = dimension
        # The key goes as a header: given as `api_key`, the client warns about every http:// address.
        self._client = AsyncQdrantClient(
            url=settings.qdrant_url,
            prefer_grpc=settings.qdrant_grpc,
            grpc_port=settings.qdrant_grpc_port,
            timeout=settings.qdrant_timeout,
            headers={"api-key": api_key} if api_key else None,
            check_compatibility=False,
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
        )
        self._errors = ServerErrors(self._url, self._collection, api_key)
        self._backoff = backoff or Backoff()
        self._breaker = breaker or Breaker()
        self._bm25 = Bm25()
        self._opening = asyncio.Lock()
        self._opened = False

    async def upsert(self, points: Sequence[IndexPoint]) -> None:
        for start in range(0, len(points), UPSERT_BATCH):
            batch = [self._point(p) for p in points[start : start + UPSERT_BATCH]]
            await self._call(lambda b=batch: self._client.upsert(self._collection, b, wait=True))

    async def overwrite_payloads(self, payloads: Mapping[str, dict[str, Any]]) -> None:
        operations = [
            models.OverwritePayloadOperation(
                overwrite_payload=models.SetPayload(payload=payload, points=[chunk_id])
            )
            for chunk_id, payload in payloads.items()
        ]
        for start in range(0, len(operations), UPSERT_BATCH):
            batch = operations[start : start + UPSERT_BATCH]
            await self._call(
                lambda b=batch: self._client.batch_update_points(self._collection, b, wait=True)
            )

    async def delete(self, chunk_ids: Sequence[str]) -> None:
        for start in range(0, len(chunk_ids), IDS_BATCH):
            ids: list[Any] = list(chunk_ids[start : start + IDS_BATCH])
            await self._delete(models.PointIdsList(points=ids))

    async def delete_book(self, book_id: str) -> None:
        await self._delete(models.FilterSelector(filter=_condition(ChunkFilter(book_id))))

    async def search(
        self, where: ChunkFilter, *, vector: Vector | None, text: str | None, limit: int
    ) -> Hits:
        condition = _condition(where)
        requests: list[models.QueryRequest] = []
        if vector is not None:
            requests.append(
                models.QueryRequest(
                    query=vector.tolist(),
                    using=DENSE,
                    filter=condition,
                    limit=limit,
                    with_payload=False,
                )
            )
        terms = None if text is None else self._bm25.query(text)
        # A text of stop words alone has no terms, and nothing matches it.
        if terms is not None and terms.indices:
            # Rarity is counted within the book, not across tenants.
            corpus = models.IdfCorpusParams(corpus=_condition(ChunkFilter(where.book_id)))
            requests.append(
                models.QueryRequest(
                    query=models.SparseVector(indices=terms.indices, values=terms.values),
                    using=SPARSE,
                    filter=condition,
                    params=models.SearchParams(idf=corpus),
                    limit=limit,
                    with_payload=False,
                )
            )
        if not requests:
            await self._open()
            return Hits((), ())
        answers = await self._call(
            lambda: self._client.query_batch_points(self._collection, requests)
        )
        rankings = [
            tuple(Hit(str(point.id), float(point.score)) for point in answer.points)
            for answer in answers
        ]
        dense = rankings.pop(0) if vector is not None else ()
        return Hits(dense=dense, sparse=rankings.pop(0) if rankings else ())

    async def retrieve(
        self, chunk_ids: Sequence[str], *, vectors: bool = False
    ) -> dict[str, StoredPoint]:
        found: dict[str, StoredPoint] = {}
        for start in range(0, len(chunk_ids), IDS_BATCH):
            ids = list(chunk_ids[start : start + IDS_BATCH])
            records = await self._call(
                lambda i=ids: self._client.retrieve(
                    self._collection, i, with_payload=True, with_vectors=_wanted(vectors)
                )
            )
            found.update((str(record.id), _stored(record)) for record in records)
        return found

    async def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        if not chunk_ids:
            return {}
        records = await self._call(
            lambda: self._client.retrieve(
                self._collection, list(chunk_ids), with_payload=False, with_vectors=[DENSE]
            )
        )
        return {str(record.id): _dense(record) for record in records}

    async def scroll(self, book_id: str, *, vectors: bool = False) -> AsyncIterator[StoredPoint]:
        where = _condition(ChunkFilter(book_id))
        offset: Any = None
        while True:
            page = partial(
                self._client.scroll,
                self._collection,
                scroll_filter=where,
                limit=SCROLL_PAGE,
                offset=offset,
                with_payload=True,
                with_vectors=_wanted(vectors),
            )
            records, offset = await self._call(page)
            for record in records:
                yield _stored(record)
            if offset is None:
                return

    async def count(self, book_id: str | None = None) -> int:
        where = None if book_id is None else _condition(ChunkFilter(book_id))
        counted = await self._call(
            lambda: self._client.count(self._collection, count_filter=where, exact=True)
        )
        return counted.count

    async def payload_indexes(self) -> dict[str, str]:
        info = await self._call(lambda: self._client.get_collection(self._collection))
        return {
            name: index.data_type.value.capitalize() for name, index in info.payload_schema.items()
        }

    async def recreate(self) -> None:
        async with self._opening:
            self._opened = False
            await self._check_version()
            info = await self._info()
            if info is not None:
                self._check_ours(info)
                await self._ask(lambda: self._client.delete_collection(self._collection))
            await self._create(None if info is None else info.config.params)
            self._opened = True

    async def is_there(self) -> bool:
        """Whether the collection is there, and ours for this embedder; makes none, as every other call does."""
        await self._check_version()
        info = await self._info()
        if info is None:
            return False
        self._check_ours(info)
        self._check_fingerprint(info)
        return True

    async def close(self) -> None:
        await self._client.close()

    async def _call(self, function: Callable[[], Awaitable[R]]) -> R:
        await self._open()
        try:
            return await self._ask(function)
        except CollectionGone:
            self._opened = False
            raise

    async def _ask(self, function: Callable[[], Awaitable[R]]) -> R:
        return await call(
            "qdrant",
            function,
            self._errors.translate,
            backoff=self._backoff,
            breaker=self._breaker,
        )

    async def _delete(self, selector: models.PointsSelector) -> None:
        await self._call(
            lambda: self._client.delete(self._collection, points_selector=selector, wait=True)
        )

    async def _open(self) -> None:
        """Find the collection and check whose it is, or make it."""
        if self._opened:
            return
        async with self._opening:
            if self._opened:
                return
            await self._check_version()
            info = await self._info()
            if info is None:
                try:
                    await self._create(None)
                except CollectionExists:
                    info = await self._info()
            if info is not None:
                self._check_ours(info)
                self._check_fingerprint(info)
                await self._index_payload(info)
            self._opened = True

    async def _info(self) -> models.CollectionInfo | None:
        try:
            return await self._ask(lambda: self._client.get_collection(self._collection))
        except CollectionGone:
            return None

    async def _create(self, before: models.CollectionParams | None) -> None:
        """Make the collection, spread over the cluster as set, or as the one `before` was."""
        shards, replicas = self._settings.qdrant_shards, self._settings.qdrant_replicas
        await self._ask(
            lambda: self._client.create_collection(
                self._collection,
                vectors_config={
                    DENSE: models.VectorParams(
                        size=self._dimension, distance=models.Distance.COSINE
                    )
                },
                sparse_vectors_config={
                    SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)
                },
                shard_number=shards or (before.shard_number if before else None),
                replication_factor=replicas or (before.replication_factor if before else None),
                write_consistency_factor=before.write_consistency_factor if before else None,
                metadata={FINGERPRINT: self._fingerprint},
            )
        )
        await self._index_payload(None)

    async def _index_payload(self, info: models.CollectionInfo | None) -> None:
        """Make the payload indexes that are missing: all of a new collection, or what a crash left out."""
        present = {} if info is None else info.payload_schema
        for name, kind in PAYLOAD_INDEXES.items():
            if name not in present:
                await self._ask(
                    lambda n=name, k=kind: self._client.create_payload_index(
                        self._collection, field_name=n, field_schema=_schema(k), wait=True
                    )
                )

    async def _check_version(self) -> None:
        version = (await self._ask(self._client.info)).version
        numbers = re.match(r"v?(\d+)\.(\d+)", version)
        if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST_SERVER:
            oldest = ".".join(str(number) for number in OLDEST_SERVER)
            raise ConfigurationError(
                f"The Qdrant server at {self._url} is version {version}; askbook needs {oldest} "
                "or newer.",
                "Upgrade the server, or unset QDRANT_URL to use the embedded index.",
            )

    def _check_ours(self, info: models.CollectionInfo) -> None:
        if FINGERPRINT not in (info.config.metadata or {}):
            raise ConfigurationError(
                f"The collection {self._collection!r} on the Qdrant server at {self._url} was not "
                "made by askbook.",
                "Set QDRANT_COLLECTION_NAME to another name; the collection was left as it is.",
            )

    def _check_fingerprint(self, info: models.CollectionInfo) -> None:
        found = (info.config.metadata or {}).get(FINGERPRINT)
        if found != self._fingerprint:
            raise EmbedderMismatch(
                f"The index was built with the embedder {found}, but {self._fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index again with "
                "`askbook ingest PATH --mode recreate`.",
            )

    def _point(self, point: IndexPoint) -> models.PointStruct:
        terms = self._bm25.document(point.sparse_text)
        vectors: dict[str, Any] = {DENSE: point.vector.tolist()}
        if terms.indices:
            vectors[SPARSE] = models.SparseVector(indices=terms.indices, values=terms.values)
        return models.PointStruct(id=point.chunk_id, vector=vectors, payload=point.payload)


def _schema(kind: str) -> Any:
    if kind == "tenant":
        return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    integer = kind == "integer"
    return models.PayloadSchemaType.INTEGER if integer else models.PayloadSchemaType.KEYWORD


def _condition(where: ChunkFilter) -> models.Filter:
    must: list[models.Condition] = [_match("book_id", where.book_id)]
    if where.hardware_tier is not None:
        must.append(_range("hardware_tier", lte=where.hardware_tier))
    if where.module is not None:
        must.append(_match("module", where.module))
    if where.chapter_min is not None or where.chapter_max is not None:
        must.append(_range("chapter", gte=where.chapter_min, lte=where.chapter_max))
    if where.lesson is not None:
        must.append(_match("lesson", where.lesson))
    if where.proficiency_levels is not None:
        levels = models.MatchAny(any=list(where.proficiency_levels))
        must.append(models.FieldCondition(key="proficiency_level", match=levels))
    if where.layer is not None:
        must.append(_match("layer", where.layer))
    if where.parent_doc_id is not None:
        must.append(_match("parent_doc_id", where.parent_doc_id))
    return models.Filter(must=must)


def _match(field: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _range(
    field: str, *, gte: float | None = None, lte: float | None = None
) -> models.FieldCondition:
    return models.FieldCondition(key=field, range=models.Range(gte=gte, lte=lte))


def _wanted(vectors: bool) -> bool | list[str]:
    return [DENSE, SPARSE] if vectors else False


def _dense(record: models.Record) -> Vector:
    vectors: Any = record.vector
    return np.asarray(vectors[DENSE], dtype=np.float32)


def _stored(record: models.Record) -> StoredPoint:
    vectors: Any = record.vector or {}
    sparse: Any = vectors.get(SPARSE)
    return StoredPoint(
        chunk_id=str(record.id),
        payload=record.payload or {},
        vector=_dense(record) if DENSE in vectors else None,
        terms=None if sparse is None else dict(zip(sparse.indices, sparse.values, strict=True)),
    )
