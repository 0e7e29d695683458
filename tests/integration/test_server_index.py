"""The Qdrant server adapter keeps the contract over real HTTP (and gRPC), and meets faults as it should."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from qdrant_client import AsyncQdrantClient, models

from askbook.config import IndexSettings
from askbook.errors import ConfigurationError, EmbedderMismatch, ServiceUnavailable
from askbook.index import ChunkFilter, ChunkIndex, IndexPoint
from askbook.index.edge import EdgeIndex
from askbook.index.server import FINGERPRINT as METADATA_KEY
from askbook.index.server import ServerIndex
from askbook.index.sparse import SPARSE, Bm25
from askbook.remote import Backoff, Breaker
from contracts.chunk_index import (
    DIMENSION,
    FINGERPRINT,
    ChunkIndexContract,
    OpenIndex,
    make_chunk,
    make_point,
    many_points,
    unit_vector,
)
from qdrant_grpc import QdrantGrpc
from qdrant_server import Fault, QdrantServer

REAL = os.environ.get("QDRANT_TEST_URL")
needs_real_qdrant = pytest.mark.skipif(
    REAL is None, reason="QDRANT_TEST_URL is not set: no real Qdrant to test against"
)
QUICK = Backoff(attempts=3, base=0.01, cap=0.05)
KEY = "qdrant-secret-key"


def settings_for(url: str, collection: str = "documentation", **given: Any) -> IndexSettings:
    return IndexSettings(qdrant_url=url, qdrant_collection_name=collection, **given)


class ServerIndexContract(ChunkIndexContract):
    """The contract, each test in a collection of its own; the fixture `reached` says how to reach the server."""

    @pytest_asyncio.fixture
    async def open_index(self, reached: IndexSettings) -> AsyncIterator[OpenIndex]:
        opened: list[ServerIndex] = []
        name = f"askbook-test-{uuid.uuid4().hex}"
        settings = reached.model_copy(update={"qdrant_collection_name": name})

        async def opening(fingerprint: str = FINGERPRINT) -> ChunkIndex:
            opened.append(ServerIndex(settings, fingerprint, DIMENSION, backoff=QUICK))
            return opened[-1]

        yield opening
        last = ServerIndex(settings, FINGERPRINT, DIMENSION, backoff=QUICK)
        await last._client.delete_collection(settings.qdrant_collection_name)
        for index in [*opened, last]:
            await index.close()

    async def is_tenant(self, index: ChunkIndex, field: str) -> bool:
        assert isinstance(index, ServerIndex)
        await index.count()
        info = await index._client.get_collection(index._collection)
        return bool(getattr(info.payload_schema[field].params, "is_tenant", False))


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path_factory.mktemp("qdrant")) as server:
        yield server


@pytest.fixture(scope="module")
def shared_grpc(shared_server: QdrantServer) -> Iterator[QdrantGrpc]:
    with QdrantGrpc(shared_server) as server:
        yield server


class TestServerIndexOverHttp(ServerIndexContract):
    @pytest.fixture
    def reached(self, shared_server: QdrantServer) -> IndexSettings:
        return settings_for(shared_server.url)

    async def test_ranks_as_the_embedded_index_does(
        self, index: ChunkIndex, tmp_path: Path
    ) -> None:
        texts = [
            "Run colcon build --symlink-install in the workspace.",
            "The node raises ERR_42 when rclpy.spin is called twice.",
            "A topic is a named channel on which nodes exchange messages.",
            "Überraschung: naïve façade, 日本語, emoji 🤖.",
        ]
        points = [
            make_point(make_chunk(text, book_id=book), seed=n, words=text)
            for n, text in enumerate(texts)
            for book in ("robots", "cooking")
        ]
        edge = EdgeIndex(tmp_path / "edge", FINGERPRINT, DIMENSION)
        await edge.upsert(points)
        await index.upsert(points)
        where = ChunkFilter("robots")
        for text in (
            "colcon build --symlink-install",
            "ERR_42",
            "rclpy.spin nodes",
            "naïve 日本語",
        ):
            ours = await edge.search(where, vector=unit_vector(9), text=text, limit=5)
            theirs = await index.search(where, vector=unit_vector(9), text=text, limit=5)
            for mine, other in ((ours.dense, theirs.dense), (ours.sparse, theirs.sparse)):
                assert [h.chunk_id for h in mine] == [h.chunk_id for h in other]
                assert [h.score for h in mine] == pytest.approx([h.score for h in other])
        await edge.close()


class TestServerIndexOverGrpc(ServerIndexContract):
    """The same server behind gRPC, each message converted by qdrant-client."""

    @pytest.fixture
    def reached(self, shared_grpc: QdrantGrpc) -> IndexSettings:
        port = shared_grpc.port
        return settings_for(shared_grpc.behind.url, qdrant_grpc=True, qdrant_grpc_port=port)


@needs_real_qdrant
class TestRealQdrantOverHttp(ServerIndexContract):
    grpc = False

    @pytest.fixture
    def reached(self) -> IndexSettings:
        assert REAL is not None
        key = os.environ.get("QDRANT_TEST_API_KEY")
        port = int(os.environ.get("QDRANT_TEST_GRPC_PORT", "6334"))
        return settings_for(REAL, qdrant_api_key=key, qdrant_grpc=self.grpc, qdrant_grpc_port=port)


@needs_real_qdrant
class TestRealQdrantOverGrpc(TestRealQdrantOverHttp):
    grpc = True


# --- Faults, as a server shows them ---


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


Connect = Callable[..., ServerIndex]


@pytest_asyncio.fixture
async def connect(server: QdrantServer) -> AsyncIterator[Connect]:
    opened: list[ServerIndex] = []

    def connecting(
        fingerprint: str = FINGERPRINT, breaker: Breaker | None = None, **given: Any
    ) -> ServerIndex:
        settings = settings_for(server.url, **given)
        index = ServerIndex(settings, fingerprint, DIMENSION, backoff=QUICK, breaker=breaker)
        opened.append(index)
        return index

    yield connecting
    for index in opened:
        await index.close()


@pytest_asyncio.fixture
async def filled(connect: Connect) -> ServerIndex:
    index = connect()
    await index.upsert(many_points(5))
    return index


async def search(index: ServerIndex) -> int:
    hits = await index.search(ChunkFilter("robots"), vector=unit_vector(1), text=None, limit=9)
    return len(hits.dense)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_tries_again_when_the_server_stumbles(
    server: QdrantServer, filled: ServerIndex, status: int
) -> None:
    server.faults = [Fault(status=status, times=2)]
    assert await search(filled) == 5


async def test_writes_are_tried_again_too(server: QdrantServer, filled: ServerIndex) -> None:
    server.faults = [Fault(status=503, times=2)]
    await filled.upsert(many_points(8))
    assert await filled.count() == 8


async def test_waits_as_long_as_the_server_asks(server: QdrantServer, filled: ServerIndex) -> None:
    server.faults = [Fault(status=429, headers={"Retry-After": "0"})]
    assert await search(filled) == 5
    # Longer than anyone should wait inside a call: the error comes at once.
    server.faults = [Fault(status=429, headers={"Retry-After": "120"})]
    server.seen.clear()
    with pytest.raises(ServiceUnavailable, match="busy"):
        await search(filled)
    assert len(server.seen) == 1


async def test_survives_dropped_connections(server: QdrantServer, filled: ServerIndex) -> None:
    server.http.drops = 2
    assert await search(filled) == 5


async def test_a_slow_server_is_not_waited_for_forever(
    server: QdrantServer, filled: ServerIndex, connect: Connect
) -> None:
    hasty = connect(qdrant_timeout=1)
    assert await hasty.count() == 5
    server.faults = [Fault(delay=1.5)]
    assert await hasty.count() == 5
    server.faults = [Fault(delay=1.3, times=3)]
    with pytest.raises(ServiceUnavailable, match="did not answer in time") as caught:
        await hasty.count()
    assert "QDRANT_URL" in caught.value.suggestion


async def test_says_that_the_server_is_away_and_recovers_when_it_is_back(
    server: QdrantServer, filled: ServerIndex
) -> None:
    server.http.stop()
    with pytest.raises(ServiceUnavailable, match="cannot be reached") as caught:
        await search(filled)
    assert server.url in caught.value.message
    assert "running" in caught.value.suggestion
    server.http.start()
    assert await search(filled) == 5


async def test_a_server_that_is_away_at_first_is_used_once_it_is_there(
    server: QdrantServer, connect: Connect
) -> None:
    server.http.stop()
    index = connect()
    with pytest.raises(ServiceUnavailable):
        await index.count()
    server.http.start()
    assert await index.count() == 0


async def test_the_breaker_spares_a_server_that_keeps_failing(
    server: QdrantServer, connect: Connect, filled: ServerIndex
) -> None:
    now = [0.0]
    index = connect(breaker=Breaker(threshold=2, rest=5.0, clock=lambda: now[0]))
    assert await index.count() == 5
    server.faults = [Fault(status=503, times=1000)]
    for _ in range(2):
        with pytest.raises(ServiceUnavailable):
            await index.count()
    server.seen.clear()
    with pytest.raises(ServiceUnavailable) as caught:
        await index.count()
    assert server.seen == []
    assert caught.value.details == {"breaker": "open"}
    now[0] = 6.0
    with pytest.raises(ServiceUnavailable):
        await index.count()
    assert len(server.seen) == QUICK.attempts
    server.faults = []
    with pytest.raises(ServiceUnavailable):
        await index.count()
    now[0] = 12.0
    assert await index.count() == 5
    assert await index.count() == 5


async def test_a_refused_request_is_not_repeated(server: QdrantServer, filled: ServerIndex) -> None:
    server.seen.clear()
    wrong = IndexPoint(str(uuid.uuid4()), unit_vector(1)[:3], "zorbal", {"book_id": "robots"})
    with pytest.raises(ServiceUnavailable, match="expected dim: 8, got 3"):
        await filled.upsert([wrong])
    assert len(server.seen) == 1


async def test_overwriting_a_point_that_is_not_there_is_an_error(filled: ServerIndex) -> None:
    with pytest.raises(ServiceUnavailable, match="No point with id"):
        await filled.overwrite_payloads({str(uuid.uuid4()): {"book_id": "robots"}})
    assert await filled.count() == 5


async def test_something_else_at_the_address_is_recognised(
    server: QdrantServer, filled: ServerIndex
) -> None:
    for body in (b"<html>It works!</html>", b'{"hello": "world"}', b'{"result": {"count": "x"}}'):
        server.faults = [Fault(status=200, body=body)]
        with pytest.raises(ServiceUnavailable, match="does not speak as Qdrant does"):
            await filled.count()


# --- Keys ---


@pytest.mark.parametrize("key", [None, "wrong-secret"])
async def test_a_refused_key_names_the_setting_and_never_the_key(
    server: QdrantServer, connect: Connect, key: str | None
) -> None:
    server.api_key = KEY
    with pytest.raises(ConfigurationError, match="401") as caught:
        await connect(qdrant_api_key=key).count()
    assert "QDRANT_API_KEY" in caught.value.suggestion
    assert "wrong-secret" not in str(caught.value)
    assert len([path for path in server.paths() if path != "GET /"]) == 1


async def test_the_right_key_opens_and_is_not_echoed(
    server: QdrantServer, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    server.api_key = KEY
    index = connect(qdrant_api_key=KEY)
    assert await index.count() == 0
    server.faults = [
        Fault(status=400, body=b'{"status": {"error": "bad key qdrant-secret-key"}, "time": 0}')
    ]
    with pytest.raises(ServiceUnavailable) as caught:
        await index.count()
    assert KEY not in str(caught.value)
    assert KEY not in caplog.text


# --- The collection ---


async def test_the_collection_is_made_as_the_documents_say(
    server: QdrantServer, filled: ServerIndex
) -> None:
    made = server.collections["documentation"].config
    assert isinstance(made.vectors, dict)
    assert made.vectors["dense"].size == DIMENSION
    assert made.vectors["dense"].distance == models.Distance.COSINE
    assert made.sparse_vectors is not None
    assert made.sparse_vectors[SPARSE].modifier == models.Modifier.IDF
    assert made.metadata == {METADATA_KEY: FINGERPRINT}
    writes = [s for s in server.seen if s.path.endswith(("/points", "/index"))]
    assert writes
    assert all(s.query == {"wait": "true"} for s in writes if s.method == "PUT")


async def test_sparse_vectors_are_those_of_the_embedded_index(
    server: QdrantServer, filled: ServerIndex
) -> None:
    text = "colcon build --symlink-install ERR_42"
    await filled.upsert([IndexPoint(str(uuid.uuid4()), unit_vector(1), text, {"book_id": "x"})])
    sent = server.seen[-1].body["points"][0]["vector"][SPARSE]
    expected = Bm25().document(text)
    assert sent["indices"] == expected.indices
    assert sent["values"] == pytest.approx(expected.values)


async def test_a_text_without_terms_is_stored_and_finds_nothing(filled: ServerIndex) -> None:
    await filled.upsert([make_point(make_chunk("Of the and."), words="the of and")])
    assert await filled.count() == 6
    hits = await filled.search(ChunkFilter("robots"), vector=None, text="the of and", limit=5)
    assert hits.sparse == ()


async def test_a_foreign_collection_is_neither_used_nor_removed(
    server: QdrantServer, connect: Connect
) -> None:
    client = AsyncQdrantClient(url=server.url, check_compatibility=False)
    await client.create_collection(
        "documentation",
        vectors_config={"v": models.VectorParams(size=3, distance=models.Distance.DOT)},
        sparse_vectors_config={},
    )
    index = connect()
    for call in (index.count, index.recreate):
        with pytest.raises(ConfigurationError, match="was not made by askbook") as caught:
            await call()
        assert not isinstance(caught.value, EmbedderMismatch)
        assert "QDRANT_COLLECTION_NAME" in caught.value.suggestion
    assert "documentation" in server.collections
    await client.close()


async def test_payload_indexes_left_out_by_a_crash_are_made_at_the_next_opening(
    server: QdrantServer, connect: Connect
) -> None:
    server.faults = [Fault(delay=0, times=5), Fault(status=400)]
    with pytest.raises(ServiceUnavailable):
        await connect().count()
    assert 0 < len(server.collections["documentation"].schemas) < 10
    assert len(await connect().payload_indexes()) == 10


async def test_two_processes_may_open_a_new_collection_at_once(
    server: QdrantServer, connect: Connect
) -> None:
    indexes = [connect() for _ in range(4)]
    assert await asyncio.gather(*(index.count() for index in indexes)) == [0] * 4
    assert len(await indexes[0].payload_indexes()) == 10


async def test_recreate_keeps_how_the_collection_is_spread(
    server: QdrantServer, connect: Connect
) -> None:
    await connect(qdrant_shards=3, qdrant_replicas=2).count()
    await connect(fingerprint="other/8/r1").recreate()
    made = server.collections["documentation"].config
    assert (made.shard_number, made.replication_factor) == (3, 2)
    assert made.metadata == {METADATA_KEY: "other/8/r1"}


async def test_a_collection_removed_meanwhile_is_named_and_then_made_anew(
    server: QdrantServer, filled: ServerIndex
) -> None:
    server.collections.clear()
    with pytest.raises(ServiceUnavailable, match="is not on the Qdrant server") as caught:
        await search(filled)
    assert "--mode full" in caught.value.suggestion
    assert await search(filled) == 0


async def test_a_server_too_old_is_refused(server: QdrantServer, connect: Connect) -> None:
    server.version = "1.17.3"
    with pytest.raises(ConfigurationError, match=r"1\.17\.3.*1\.19"):
        await connect().count()


async def test_grpc_meets_faults_and_keys_as_http_does(server: QdrantServer) -> None:
    with QdrantGrpc(server) as grpc:
        given: dict[str, Any] = {"qdrant_grpc": True, "qdrant_grpc_port": grpc.port}
        server.api_key = KEY
        index = ServerIndex(
            settings_for(server.url, qdrant_api_key=KEY, **given),
            FINGERPRINT,
            DIMENSION,
            backoff=QUICK,
        )
        await index.upsert(many_points(5))
        server.faults = [Fault(status=503, times=2)]
        assert await search(index) == 5
        server.faults = [Fault(status=500, times=3)]
        with pytest.raises(ServiceUnavailable, match="answered 500"):
            await search(index)
        server.api_key = "another-key"
        with pytest.raises(ConfigurationError, match="401") as caught:
            await search(index)
        assert KEY not in str(caught.value)
        await index.close()


async def test_an_unreachable_grpc_port_is_told_like_any_other(server: QdrantServer) -> None:
    settings = settings_for(server.url, qdrant_grpc=True, qdrant_grpc_port=1)
    index = ServerIndex(settings, FINGERPRINT, DIMENSION, backoff=QUICK)
    with pytest.raises(ServiceUnavailable, match="Qdrant server at"):
        await index.count()
    await index.close()
