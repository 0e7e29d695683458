"""A small Qdrant for tests: the real engine, embedded, behind Qdrant's HTTP API.

Every request is parsed with qdrant-client's own models, which reject unknown fields, and every answer has
the shape and the status a real server gives. Faults are served on demand.
"""

import asyncio
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as qe
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ValidationError
from qdrant_client import models

from http_server import HttpServer

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class Fault:
    """What the next `times` requests get instead of an answer, or `delay` seconds before it."""

    status: int | None = None
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    times: int = 1


class Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass
class Collection:
    shard: qe.EdgeShard
    config: models.CreateCollection
    schemas: dict[str, Any] = field(default_factory=dict)


class QdrantServer:
    """A running server; `faults` are used up from the front, `seen` holds what was asked."""

    def __init__(
        self, folder: Path, *, api_key: str | None = None, version: str = "1.20.0"
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.collections: dict[str, Collection] = {}
        self._folder = folder
        self._made = 0
        self._operations = 0
        self.http = HttpServer(self._app())

    @property
    def url(self) -> str:
        return self.http.url

    def __enter__(self) -> "QdrantServer":
        self.http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.stop()
        for collection in self.collections.values():
            collection.shard.close()

    def paths(self) -> list[str]:
        return [f"{seen.method} {seen.path}" for seen in self.seen]

    # --- The application ---

    def _app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)
        app.middleware("http")(self._guard)
        app.add_exception_handler(Refused, _refused)
        at = "/collections/{name}"
        app.get("/")(self._version)
        app.get(at)(self._get)
        app.put(at)(self._create)
        app.delete(at)(self._drop)
        app.put(f"{at}/index")(self._create_index)
        app.put(f"{at}/points")(self._upsert)
        app.post(f"{at}/points")(self._retrieve)
        app.post(f"{at}/points/delete")(self._delete)
        app.post(f"{at}/points/batch")(self._batch)
        app.post(f"{at}/points/query/batch")(self._query)
        app.post(f"{at}/points/scroll")(self._scroll)
        app.post(f"{at}/points/count")(self._count)
        return app

    async def _guard(self, request: Request, call_next: Any) -> Response:
        content = await request.body()
        body = json.loads(content) if content else None
        path, query = request.url.path, dict(request.query_params)
        self.seen.append(Seen(request.method, path, query, body))
        if self.faults:
            fault = self.faults[0]
            fault.times -= 1
            if fault.times <= 0:
                self.faults.pop(0)
            await asyncio.sleep(fault.delay)
            if fault.status is not None:
                if fault.body is not None:
                    return Response(fault.body, fault.status, fault.headers)
                return _error(fault.status, "Service internal error: on demand", fault.headers)
        given = request.headers.get("api-key")
        if self.api_key is not None and path != "/":
            if given is None:
                return PlainTextResponse(
                    "Must provide an API key or an Authorization bearer token", 401
                )
            if given != self.api_key:
                return PlainTextResponse("Invalid API key or JWT", 401)
        return await call_next(request)

    async def _version(self) -> dict[str, str]:
        return {"title": "qdrant - vector search engine", "version": self.version}

    # --- Collections ---

    async def _get(self, name: str) -> Response:
        collection = self._collection(name)
        config, info = collection.config, collection.shard.info()
        result = models.CollectionInfo(
            status=models.CollectionStatus.GREEN,
            optimizer_status=models.OptimizersStatusOneOf.OK,
            indexed_vectors_count=0,
            points_count=info.points_count,
            segments_count=info.segments_count,
            config=models.CollectionConfig(
                params=models.CollectionParams(
                    vectors=config.vectors,
                    sparse_vectors=config.sparse_vectors,
                    shard_number=config.shard_number or 1,
                    replication_factor=config.replication_factor or 1,
                    write_consistency_factor=config.write_consistency_factor or 1,
                    on_disk_payload=True,
                ),
                hnsw_config=models.HnswConfig(m=16, ef_construct=100, full_scan_threshold=10000),
                optimizer_config=models.OptimizersConfig(
                    deleted_threshold=0.2,
                    vacuum_min_vector_number=1000,
                    default_segment_number=0,
                    flush_interval_sec=5,
                ),
                wal_config=models.WalConfig(wal_capacity_mb=32, wal_segments_ahead=0),
                metadata=config.metadata,
            ),
            payload_schema={
                field_name: models.PayloadIndexInfo(
                    data_type=_data_type(schema),
                    params=schema if isinstance(schema, models.KeywordIndexParams) else None,
                    points=info.payload_schema[field_name].points,
                )
                for field_name, schema in collection.schemas.items()
            },
        )
        return _ok(result)

    async def _create(self, name: str, request: Request) -> Response:
        config = await _parse(request, models.CreateCollection)
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        assert isinstance(config.vectors, dict)
        assert config.sparse_vectors is not None
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir(parents=True)
        edge = qe.EdgeConfig(
            vectors={
                n: qe.EdgeVectorParams(size=p.size, distance=getattr(qe.Distance, p.distance.value))
                for n, p in config.vectors.items()
            },
            sparse_vectors={
                n: qe.EdgeSparseVectorParams(
                    modifier=qe.Modifier.Idf if p.modifier == models.Modifier.IDF else None
                )
                for n, p in config.sparse_vectors.items()
            },
        )
        self.collections[name] = Collection(qe.EdgeShard.create(str(folder), edge), config)
        return _ok(True)

    async def _drop(self, name: str) -> Response:
        collection = self.collections.pop(name, None)
        if collection is None:
            return _ok(False)
        collection.shard.close()
        shutil.rmtree(self._folder / str(self._made), ignore_errors=True)
        return _ok(True)

    async def _create_index(self, name: str, request: Request) -> Response:
        wanted = await _parse(request, models.CreateFieldIndex)
        collection, schema = self._collection(name), wanted.field_schema
        match schema:
            case models.KeywordIndexParams():
                edge: Any = qe.KeywordIndexParams(is_tenant=schema.is_tenant)
            case models.PayloadSchemaType():
                edge = getattr(qe.PayloadSchemaType, schema.value.capitalize())
            case _:
                raise Refused(400, f"Wrong input: index {schema} is not supported here")
        self._update(collection, qe.UpdateOperation.create_field_index(wanted.field_name, edge))
        collection.schemas[wanted.field_name] = schema
        return self._updated(request)

    def _collection(self, name: str) -> Collection:
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    # --- Points ---

    async def _upsert(self, name: str, request: Request) -> Response:
        points = (await _parse(request, models.PointsList)).points
        operation = qe.UpdateOperation.upsert_points(
            [qe.Point(p.id, _edge_vectors(p.vector), p.payload) for p in points]
        )
        self._update(self._collection(name), operation)
        return self._updated(request)

    async def _delete(self, name: str, request: Request) -> Response:
        collection = self._collection(name)
        body = await request.json()
        if "points" in body:
            ids = (await _parse(request, models.PointIdsList)).points
            operation = qe.UpdateOperation.delete_points(list(ids))
        else:
            selector = await _parse(request, models.FilterSelector)
            condition = _edge_filter(selector.filter)
            assert condition is not None
            operation = qe.UpdateOperation.delete_points_by_filter(condition)
        self._update(collection, operation)
        return self._updated(request)

    async def _batch(self, name: str, request: Request) -> Response:
        collection = self._collection(name)
        operations = (await _parse(request, models.UpdateOperations)).operations
        for operation in operations:
            assert isinstance(operation, models.OverwritePayloadOperation)
            change = operation.overwrite_payload
            self._update(
                collection,
                qe.UpdateOperation.overwrite_payload(list(change.points or []), change.payload),
            )
        return _ok([{"operation_id": n, "status": "completed"} for n, _ in enumerate(operations)])

    async def _query(self, name: str, request: Request) -> Response:
        searches = (await _parse(request, models.QueryRequestBatch)).searches
        shard = self._collection(name).shard
        queries = [_edge_query(search) for search in searches]
        rankings = self._run(lambda: shard.query_batch(qe.QueryBatchRequest(queries)))
        return _ok(
            [
                {
                    "points": [
                        {"id": str(h.id), "version": h.version, "score": h.score} for h in ranking
                    ]
                }
                for ranking in rankings
            ]
        )

    async def _retrieve(self, name: str, request: Request) -> Response:
        wanted = await _parse(request, models.PointRequest)
        shard = self._collection(name).shard
        with_vector: Any = wanted.with_vector or False
        with_payload = bool(wanted.with_payload)
        records = self._run(lambda: shard.retrieve(list(wanted.ids), with_payload, with_vector))
        return _ok([_record(record) for record in records])

    async def _scroll(self, name: str, request: Request) -> Response:
        wanted = await _parse(request, models.ScrollRequest)
        shard = self._collection(name).shard
        page = qe.ScrollRequest(
            offset=wanted.offset,
            limit=wanted.limit,
            filter=_edge_filter(wanted.filter),
            with_payload=True,
            with_vector=wanted.with_vector or False,
        )
        records, following = self._run(lambda: shard.scroll(page))
        return _ok(
            {
                "points": [_record(r) for r in records],
                "next_page_offset": following and str(following),
            }
        )

    async def _count(self, name: str, request: Request) -> Response:
        wanted = await _parse(request, models.CountRequest)
        shard = self._collection(name).shard
        count = qe.CountRequest(filter=_edge_filter(wanted.filter), exact=bool(wanted.exact))
        return _ok({"count": self._run(lambda: shard.count(count))})

    def _update(self, collection: Collection, operation: qe.UpdateOperation) -> None:
        self._operations += 1
        self._run(lambda: collection.shard.update(operation))

    def _updated(self, request: Request) -> Response:
        status = "completed" if request.query_params.get("wait") == "true" else "acknowledged"
        return _ok({"operation_id": self._operations, "status": status})

    @staticmethod
    def _run(function: Any) -> Any:
        try:
            return function()
        except Exception as error:
            if "No point with id" in str(error):
                raise Refused(404, f"Not found: {error} found") from error
            raise Refused(400, f"Wrong input: {error}") from error


# --- Wire format ---


async def _parse(request: Request, model: type[M]) -> M:
    try:
        return model.model_validate(await request.json())
    except ValidationError as error:
        raise Refused(400, f"Format error in JSON body: {error}") from error


def _ok(result: Any) -> Response:
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json", exclude_none=True)
    return JSONResponse({"result": result, "status": "ok", "time": 0.0001})


def _error(status: int, reason: str, headers: dict[str, str] | None = None) -> Response:
    body = {"status": {"error": reason}, "time": 0.0001}
    return JSONResponse(body, status_code=status, headers=headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _error(error.status, error.reason)


def _record(record: qe.Record) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": str(record.id), "payload": record.payload}
    if record.vector:
        vectors: Any = record.vector
        answer["vector"] = {name: _vector(vector) for name, vector in vectors.items()}
    return answer


def _vector(vector: Any) -> Any:
    if isinstance(vector, qe.SparseVector):
        return {"indices": vector.indices, "values": vector.values}
    return vector


def _data_type(schema: Any) -> models.PayloadSchemaType:
    if isinstance(schema, models.KeywordIndexParams):
        return models.PayloadSchemaType.KEYWORD
    return schema


def _edge_vectors(vectors: Any) -> dict[str, Any]:
    return {
        name: qe.SparseVector(vector.indices, vector.values)
        if isinstance(vector, models.SparseVector)
        else vector
        for name, vector in vectors.items()
    }


def _edge_query(search: models.QueryRequest) -> qe.QueryRequest:
    query: Any = search.query
    if isinstance(query, models.NearestQuery):
        query = query.nearest
    if isinstance(query, models.SparseVector):
        query = qe.SparseVector(query.indices, query.values)
    params = None
    if search.params is not None:
        idf = search.params.idf
        corpus = _edge_filter(idf.corpus) if isinstance(idf, models.IdfCorpusParams) else None
        params = qe.SearchParams(idf=qe.IdfParams(corpus=corpus))
    return qe.QueryRequest(
        limit=search.limit or 10,
        query=qe.Query.Nearest(query, using=search.using),
        filter=_edge_filter(search.filter),
        params=params,
    )


def _edge_filter(condition: models.Filter | None) -> qe.Filter | None:
    if condition is None:
        return None
    if condition.should or condition.must_not or condition.min_should:
        raise Refused(400, "Wrong input: only `must` is supported here")
    assert isinstance(condition.must, list)
    return qe.Filter(must=[_edge_condition(c) for c in condition.must])


def _edge_condition(condition: Any) -> qe.FieldCondition:
    assert isinstance(condition, models.FieldCondition)
    match condition.match, condition.range:
        case models.MatchValue(value=value), None:
            return qe.FieldCondition(condition.key, match=qe.MatchValue(value))
        case models.MatchAny(any=values), None:
            listed: Any = list(values)
            return qe.FieldCondition(condition.key, match=qe.MatchAny(listed))
        case None, models.Range() as bounds:
            limits = qe.RangeFloat(gte=bounds.gte, gt=bounds.gt, lte=bounds.lte, lt=bounds.lt)
            return qe.FieldCondition(condition.key, range=limits)
        case _:
            raise Refused(400, f"Wrong input: {condition} is not supported here")
