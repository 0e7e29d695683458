"""gRPC in front of the small Qdrant of `qdrant_server.py`: every message is converted by qdrant-client itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc as rpc
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.grpc.collections_service_pb2_grpc import add_CollectionsServicer_to_server
from qdrant_client.grpc.points_service_pb2_grpc import add_PointsServicer_to_server
from qdrant_client.grpc.qdrant_pb2_grpc import add_QdrantServicer_to_server
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from qdrant_server import QdrantServer

CODES = {
    400: rpc.StatusCode.INVALID_ARGUMENT,
    401: rpc.StatusCode.UNAUTHENTICATED,
    403: rpc.StatusCode.PERMISSION_DENIED,
    404: rpc.StatusCode.NOT_FOUND,
    409: rpc.StatusCode.ALREADY_EXISTS,
    429: rpc.StatusCode.RESOURCE_EXHAUSTED,
    503: rpc.StatusCode.UNAVAILABLE,
}


class QdrantGrpc:
    """A running gRPC server; faults and keys are those of the server behind it."""

    def __init__(self, server: QdrantServer) -> None:
        self.behind = server
        self._grpc = rpc.server(ThreadPoolExecutor(4))
        self.port: int = self._grpc.add_insecure_port("127.0.0.1:0")
        service: Any = _Service(server)
        add_QdrantServicer_to_server(service, self._grpc)
        add_CollectionsServicer_to_server(service.collections, self._grpc)
        add_PointsServicer_to_server(service.points, self._grpc)

    def __enter__(self) -> "QdrantGrpc":
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.stop(None).wait()


class _Service:
    def __init__(self, server: QdrantServer) -> None:
        self.collections = _Named(server, {"Get": _get, "Create": _create, "Delete": _drop})
        self.points = _Named(
            server,
            {
                "Upsert": _upsert,
                "Delete": _delete,
                "UpdateBatch": _update_batch,
                "CreateFieldIndex": _create_field_index,
                "QueryBatch": _query_batch,
                "Get": _retrieve,
                "Scroll": _scroll,
                "Count": _count,
            },
        )
        self._server = server

    def HealthCheck(self, _request: Any, _context: Any) -> Any:  # noqa: N802  # the protocol's name
        return grpc.HealthCheckReply(title="qdrant", version=self._server.version)


class _Named:
    """A service whose methods are these functions; the others are not implemented."""

    def __init__(self, server: QdrantServer, methods: dict[str, Callable[..., Any]]) -> None:
        self._server = server
        self._methods = methods

    def __getattr__(self, name: str) -> Callable[[Any, Any], Any]:
        method = self._methods.get(name)

        def handle(request: Any, context: Any) -> Any:
            if method is None:
                context.abort(rpc.StatusCode.UNIMPLEMENTED, name)
            key = dict(context.invocation_metadata()).get("api-key")
            client = QdrantClient(
                url=self._server.url,
                headers={"api-key": key} if key else None,
                check_compatibility=False,
            )
            try:
                assert method is not None
                return method(client, request)
            except UnexpectedResponse as error:
                code = CODES.get(error.status_code or 500, rpc.StatusCode.INTERNAL)
                context.abort(code, error.content.decode())
            except ResponseHandlingException as error:
                context.abort(rpc.StatusCode.UNAVAILABLE, str(error.source))
            finally:
                client.close()

        return handle


def _get(client: QdrantClient, request: Any) -> Any:
    info = client.get_collection(request.collection_name)
    return grpc.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(info), time=0.1)


def _create(client: QdrantClient, request: Any) -> Any:
    def given(field: str) -> Any:
        return getattr(request, field) if request.HasField(field) else None

    done = client.create_collection(
        request.collection_name,
        vectors_config=GrpcToRest.convert_vectors_config(request.vectors_config),
        sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(
            request.sparse_vectors_config
        ),
        shard_number=given("shard_number"),
        replication_factor=given("replication_factor"),
        write_consistency_factor=given("write_consistency_factor"),
        metadata=GrpcToRest.convert_payload(request.metadata),
    )
    return grpc.CollectionOperationResponse(result=done, time=0.1)


def _drop(client: QdrantClient, request: Any) -> Any:
    done = client.delete_collection(request.collection_name)
    return grpc.CollectionOperationResponse(result=done, time=0.1)


def _updated(result: models.UpdateResult) -> Any:
    return grpc.PointsOperationResponse(result=RestToGrpc.convert_update_result(result), time=0.1)


def _create_field_index(client: QdrantClient, request: Any) -> Any:
    if request.HasField("field_index_params"):
        schema: Any = GrpcToRest.convert_payload_schema_params(request.field_index_params)
    else:
        schema = {
            grpc.FieldType.FieldTypeKeyword: models.PayloadSchemaType.KEYWORD,
            grpc.FieldType.FieldTypeInteger: models.PayloadSchemaType.INTEGER,
        }[request.field_type]
    name = request.collection_name
    return _updated(
        client.create_payload_index(name, request.field_name, schema, wait=request.wait)
    )


def _upsert(client: QdrantClient, request: Any) -> Any:
    points = [GrpcToRest.convert_point_struct(point) for point in request.points]
    return _updated(client.upsert(request.collection_name, points, wait=request.wait))


def _delete(client: QdrantClient, request: Any) -> Any:
    selector = GrpcToRest.convert_points_selector(request.points)
    return _updated(client.delete(request.collection_name, selector, wait=request.wait))


def _update_batch(client: QdrantClient, request: Any) -> Any:
    operations = [
        models.OverwritePayloadOperation(
            overwrite_payload=models.SetPayload(
                payload=GrpcToRest.convert_payload(operation.overwrite_payload.payload),
                points=[
                    GrpcToRest.convert_point_id(point)
                    for point in operation.overwrite_payload.points_selector.points.ids
                ],
            )
        )
        for operation in request.operations
    ]
    results = client.batch_update_points(request.collection_name, operations, wait=request.wait)
    converted = [RestToGrpc.convert_update_result(result) for result in results]
    return grpc.UpdateBatchResponse(result=converted, time=0.1)


def _query_batch(client: QdrantClient, request: Any) -> Any:
    queries = [GrpcToRest.convert_query_points(query) for query in request.query_points]
    answers = client.query_batch_points(request.collection_name, queries)
    return grpc.QueryBatchResponse(
        result=[
            grpc.BatchResult(result=[RestToGrpc.convert_scored_point(p) for p in answer.points])
            for answer in answers
        ],
        time=0.1,
    )


def _retrieve(client: QdrantClient, request: Any) -> Any:
    records = client.retrieve(
        request.collection_name,
        [GrpcToRest.convert_point_id(point) for point in request.ids],
        with_payload=request.with_payload.enable,
        with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
    )
    whole = [record.model_copy(update={"payload": record.payload or {}}) for record in records]
    return grpc.GetResponse(
        result=[RestToGrpc.convert_retrieved_point(record) for record in whole], time=0.1
    )


def _scroll(client: QdrantClient, request: Any) -> Any:
    following: Any
    records, following = client.scroll(
        request.collection_name,
        scroll_filter=GrpcToRest.convert_filter(request.filter),
        limit=request.limit,
        offset=GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None,
        with_vectors=GrpcToRest.convert_with_vectors_selector(request.with_vectors),
    )
    converted = [RestToGrpc.convert_retrieved_point(record) for record in records]
    page = None if following is None else RestToGrpc.convert_extended_point_id(following)
    return grpc.ScrollResponse(result=converted, next_page_offset=page, time=0.1)


def _count(client: QdrantClient, request: Any) -> Any:
    where = GrpcToRest.convert_filter(request.filter) if request.HasField("filter") else None
    counted = client.count(request.collection_name, count_filter=where, exact=request.exact)
    return grpc.CountResponse(result=RestToGrpc.convert_count_result(counted), time=0.1)
