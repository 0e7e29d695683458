"""Document 003: the chat interface, and when there is enough to answer from."""

import hashlib
import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from qdrant_client.models import Distance

from askbook.bootstrap import Askbook
from askbook.config import ConfidenceSettings, load_settings
from askbook.conversations import Message, Retrieval
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.embedding.openai import OpenAIEmbedder
from askbook.errors import EmbedderMismatch
from askbook.index import IndexPoint
from askbook.index.server import ServerIndex
from askbook.index.sparse import DENSE
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import ConfidenceMetrics, assess
from openai_server import KEY, OpenAIServer
from qdrant_server import QdrantServer
from sample_chunks import make_chunk, make_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Which stop categories may an emergency stop have?"
FOREIGN = "What is the capital of Australia?"


async def chat(client: httpx.AsyncClient, message: str = QUESTION, **given: Any) -> httpx.Response:
    return await client.post("/chat/run", json={"message": message} | given)


# --- Requests ---


@pytest.mark.spec("D1", "D2")
@pytest.mark.parametrize(
    ("message", "status"),
    [("", 422), ("  \n ", 422), ("x" * 1001, 422), ("x", 200), (f"{QUESTION:<1000}", 200)],
)
async def test_a_message_has_one_to_a_thousand_characters(
    client: httpx.AsyncClient, message: str, status: int
) -> None:
    assert (await chat(client, message)).status_code == status


@pytest.mark.spec("D1")
async def test_a_message_is_required(client: httpx.AsyncClient) -> None:
    assert (await client.post("/chat/run", json={"top_k": 5})).status_code == 422


@pytest.mark.spec("D3", "D13")
async def test_a_session_is_made_when_none_is_given(client: httpx.AsyncClient) -> None:
    found = {(await chat(client)).json()["session_id"] for _ in range(2)}
    assert len(found) == 2
    assert {uuid.UUID(session).version for session in found} == {4}


@pytest.mark.spec("D4", "D13")
async def test_a_given_session_is_a_uuid4_and_comes_back(client: httpx.AsyncClient) -> None:
    mine = str(uuid.uuid4())
    assert (await chat(client, session_id=mine)).json()["session_id"] == mine
    for wrong in ("mine", "", str(uuid.uuid1()), mine[:-1]):
        assert (await chat(client, session_id=wrong)).status_code == 422


@pytest.mark.spec("D6")
async def test_one_to_ten_chunks_are_retrieved(client: httpx.AsyncClient) -> None:
    assert (await chat(client)).json()["metrics"]["num_chunks"] == 5
    assert (await chat(client, top_k=1)).json()["metrics"]["num_chunks"] == 1
    assert (await chat(client, top_k=10)).json()["metrics"]["num_chunks"] == 10
    for wrong in (0, 11, -1, "many"):
        assert (await chat(client, top_k=wrong)).status_code == 422


@pytest.mark.spec("D7")
@pytest.mark.parametrize(
    ("threshold", "status"), [(-0.01, 422), (1.01, 422), (0.0, 200), (1.0, 200)]
)
async def test_a_similarity_threshold_lies_between_zero_and_one(
    client: httpx.AsyncClient, threshold: float, status: int
) -> None:
    assert (await chat(client, similarity_threshold=threshold)).status_code == status


@pytest.mark.spec("D7")
async def test_without_a_similarity_threshold_the_policy_decides(client: httpx.AsyncClient) -> None:
    absent = (await chat(client)).json()
    nothing, everything = [
        (await chat(client, similarity_threshold=cut)).json() for cut in (0.0, 1.0)
    ]
    assert absent["should_answer"]
    assert nothing["metrics"] == absent["metrics"]
    assert everything["metrics"]["num_chunks"] == 0
    assert not everything["should_answer"]


@pytest.mark.spec("D9", "D42")
async def test_a_request_is_one_retrieval_and_one_response(askbook: Askbook) -> None:
    response = await askbook.ask(QUESTION, top_k=10)
    assert response.retrieval_count == 10
    nothing = await askbook.search("xyzzyqwert", mode="sparse")
    assert nothing[1].total_found == 0


# --- Responses ---


@pytest.mark.spec("D10", "D12", "D16", "D19")
async def test_an_answer_has_sources_and_a_refusal_has_none(client: httpx.AsyncClient) -> None:
    answered, declined = (await chat(client)).json(), (await chat(client, FOREIGN)).json()
    assert answered["should_answer"] is True
    assert answered["response"].strip()
    assert len(answered["sources"]) >= 1
    assert declined["should_answer"] is False
    assert declined["response"].strip()
    assert declined["sources"] == []


@pytest.mark.spec("D11", "D15", "D17", "D18")
@pytest.mark.parametrize("message", [QUESTION, FOREIGN])
async def test_confidence_is_that_of_the_metrics(client: httpx.AsyncClient, message: str) -> None:
    document = (await chat(client, message)).json()
    metrics = document["metrics"]
    assert 0.0 <= document["confidence"] <= 1.0
    assert document["confidence"] == metrics["confidence"]
    assert document["confidence_level"] in ("high", "medium", "low", "insufficient")
    assert document["confidence_level"] == metrics["confidence_level"]
    assert document["should_answer"] == metrics["should_answer"]


@pytest.mark.spec("D14")
async def test_the_time_is_iso_8601_in_utc(client: httpx.AsyncClient) -> None:
    stamp = (await chat(client)).json()["timestamp"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(stamp)).total_seconds()) < 60


@pytest.mark.spec("D20", "D21", "D22", "D23")
async def test_a_source_says_where_it_is_from(client: httpx.AsyncClient, askbook: Askbook) -> None:
    sources = (await chat(client)).json()["sources"]
    chunks = await askbook.library.chunks(
        "physical-ai-robotics", [source["chunk_id"] for source in sources]
    )
    assert sources
    for source in sources:
        chunk = chunks[source["chunk_id"]]
        assert source["chunk_text"] == chunk.text[:500]
        assert 0.0 <= source["similarity_score"] <= 1.0
        metadata = chunk.metadata
        assert source["chapter"] == (metadata.chapter_title or metadata.page_title)
        assert source["section"] == (metadata.section_title or metadata.page_title)
        assert source["chunk_index"] == metadata.chunk_index
        assert (await client.get(source["url"])).status_code == 200


# --- What was retrieved ---


@pytest.mark.spec("D43", "D44", "D45", "D48")
async def test_a_retrieval_is_complete_for_every_chunk(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=10)
    assert len(context.scores) == len(context.results) == 10
    assert all(0.0 <= score <= 1.0 for score in context.scores)
    assert context.average_score == pytest.approx(sum(context.scores) / 10)
    for result in context.results:
        assert result.chapter
        assert result.section
        assert result.url
        digest = hashlib.sha256(result.text.encode()).hexdigest()
        assert result.chunk.metadata.content_hash == digest


@pytest.mark.spec("D46")
@pytest.mark.parametrize(
    ("scores", "enough"),
    [
        ((0.75, 0.75, 0.75), True),
        ((0.9, 0.9, 0.5), True),
        ((0.9, 0.9), False),
        ((0.8, 0.7, 0.7), False),
        ((), False),
    ],
)
async def test_enough_context_is_three_chunks_of_three_quarters(
    scores: tuple[float, ...], enough: bool
) -> None:
    assert make_context(scores).has_sufficient_context is enough


class Renamed:
    """An embedder that says it is another one."""

    def __init__(self) -> None:
        self._embedder = BuiltinEmbedder()
        self.fingerprint = replace(self._embedder.fingerprint, name="another")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


@pytest.mark.spec("D68")
async def test_a_book_is_asked_only_with_the_embedder_that_indexed_it(data_dir: Path) -> None:
    other: Any = Renamed()
    async with Askbook(load_settings(data_dir=data_dir), embedder=other) as mine:
        with pytest.raises(EmbedderMismatch):
            await mine.ask(QUESTION)
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        assert (await mine.ask(QUESTION)).retrieval_count == 5


@pytest.mark.spec("D47")
async def test_a_query_has_the_dimensions_of_its_embedder() -> None:
    with OpenAIServer() as server:
        settings = load_settings(openai_api_key=KEY, openai_base_url=server.url)
        vendor = OpenAIEmbedder(settings.embedder, settings.openai)
        assert (await vendor.embed_query(QUESTION)).shape == (1536,)
        await vendor.close()
    assert (await BuiltinEmbedder().embed_query(QUESTION)).shape == (384,)


@pytest.mark.spec("D66", "D67")
async def test_a_collection_is_as_wide_as_its_embedder_and_its_points_name_their_place(
    tmp_path: Path,
) -> None:
    chunk = make_chunk("A node is a program that takes part in the graph.", section_title="Nodes")
    point = IndexPoint(
        chunk.id,
        np.eye(1, 1536, dtype=np.float32)[0],
        chunk.embedded_text,
        chunk.to_payload(),
    )
    with QdrantServer(tmp_path) as server:
        index = ServerIndex(load_settings(qdrant_url=server.url).index, "fingerprint", 1536)
        await index.upsert([point])
        indexes = await index.payload_indexes()
        [stored] = (await index.retrieve([chunk.id])).values()
        await index.close()
        vectors: Any = server.collections["documentation"].config.vectors
    assert (vectors[DENSE].size, vectors[DENSE].distance) == (1536, Distance.COSINE)
    assert indexes["content_hash"].lower() == "keyword"
    payload = stored.payload
    assert payload["page_title"] == chunk.metadata.page_title
    assert payload["section_title"] == "Nodes"
    assert payload["url"] == chunk.metadata.url
    assert payload["content_hash"] == hashlib.sha256(chunk.text.encode()).hexdigest()
    assert payload["text"] == chunk.text
    assert payload["chunk_index"] == 0


@pytest.mark.spec("D50")
async def test_under_fixed_numbers_chunks_below_seven_tenths_do_not_count() -> None:
    metrics = fixed((0.9, 0.8, 0.71, 0.69, 0.5), similarity_threshold=None)
    assert (metrics.num_chunks, metrics.min_similarity) == (3, 0.71)


@pytest.mark.spec("D51")
async def test_the_same_text_twice_is_found_once(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text("# Gears\n\nThe gearbox ratio is fifty to one here.\n")
    async with Askbook(load_settings(data_dir=tmp_path / "data")) as mine:
        async for _ in mine.ingest(folder):
            pass
        assert await mine.index.count() == 3
        _, context = await mine.search("gearbox ratio", top_k=5)
        assert context.total_found == 1


# --- Confidence under the documents' fixed numbers ---


def fixed(scores: tuple[float, ...], **given: Any) -> ConfidenceMetrics:
    values: dict[str, Any] = {"similarity_threshold": 0.0} | given
    chosen = {name: value for name, value in values.items() if value is not None}
    nothing = Calibration(fingerprint=None, features=(), weights=(), intercept=0.0, prior=0.5)
    return assess(make_context(scores), ConfidenceSettings(policy="threshold", **chosen), nothing)  # pyright: ignore[reportCallIssue]  # by field name


@pytest.mark.spec("D52", "D53", "D54", "D55")
@pytest.mark.parametrize("question", [QUESTION, FOREIGN])
async def test_metrics_stay_in_their_bounds(client: httpx.AsyncClient, question: str) -> None:
    metrics = (await chat(client, question)).json()["metrics"]
    low, mean, high = (metrics[f"{name}_similarity"] for name in ("min", "average", "max"))
    assert 0.0 <= low <= mean <= high <= 1.0
    assert metrics["num_chunks"] == 5
    assert 0.0 <= metrics["chunk_diversity"] <= 1.0


@pytest.mark.spec("D55", "D56")
async def test_diversity_is_one_less_the_mean_cosine_of_the_chunks(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=3)
    texts = [result.chunk.embedded_text for result in context.results]
    one, two, three = await askbook.embedder.embed_passages(texts)
    mean = np.mean([float(one @ two), float(one @ three), float(two @ three)])
    assert context.diversity == pytest.approx(1.0 - float(mean), abs=1e-3)
    single = await askbook.ask(QUESTION, top_k=1)
    assert single.metrics.chunk_diversity == 0.0


@pytest.mark.spec("D57", "D58", "D59", "D60", "D62")
@pytest.mark.parametrize(
    ("scores", "level", "answers"),
    [
        ((0.85,) * 5, "high", True),
        ((0.84,) * 5, "medium", True),
        ((0.95,) * 4, "medium", True),
        ((0.75,) * 3, "medium", True),
        ((0.74,) * 3, "low", True),
        ((0.95,) * 2, "low", True),
        ((0.60,) * 2, "low", True),
        ((0.59,) * 5, "insufficient", False),
        ((0.95,), "insufficient", False),
        ((), "insufficient", False),
    ],
)
async def test_levels_are_tested_from_high_to_low(
    scores: tuple[float, ...], level: str, answers: bool
) -> None:
    metrics = fixed(scores)
    assert (metrics.confidence_level, metrics.should_answer) == (level, answers)


@pytest.mark.spec("D59")
async def test_a_low_answer_carries_the_disclaimer(data_dir: Path) -> None:
    settings = load_settings(
        data_dir=data_dir,
        policy="threshold",
        similarity_threshold=0.0,
        high=1.0,
        medium=1.0,
        low=0.1,
    )
    async with Askbook(settings) as mine:
        response = await mine.ask(QUESTION)
        book = (await mine.book(None)).book
    assert (response.confidence_level, response.should_answer) == ("low", True)
    assert response.answer.endswith(book.disclaimer)
    assert response.citations


@pytest.mark.spec("D60")
async def test_an_insufficient_retrieval_is_refused(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, policy="threshold", high=1, medium=1, low=1)
    async with Askbook(settings) as mine:
        response = await mine.ask(QUESTION)
    assert response.should_answer is False
    assert response.answer == "I couldn't find that information in the book."
    assert response.citations == ()


# --- Conversations ---


async def history_of(client: httpx.AsyncClient, session: str, **given: Any) -> dict[str, Any]:
    response = await client.get(f"/session/{session}/history", params=given)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.spec("D8", "D24", "D29", "D30", "D33", "D37", "D38", "D41")
async def test_a_request_creates_or_updates_its_thread(client: httpx.AsyncClient) -> None:
    mine = str(uuid.uuid4())
    assert (await client.get(f"/session/{mine}/history")).status_code == 404
    await chat(client, session_id=mine)
    begun = await history_of(client, mine)
    assert begun["metadata"] == {}
    await chat(client, FOREIGN, session_id=mine, metadata={"user_id": "u1", "tags": ["a"]})
    grown = await history_of(client, mine)
    assert [len(h["messages"]) for h in (begun, grown)] == [2, 4]
    assert grown["created_at"] == begun["created_at"] < begun["updated_at"] < grown["updated_at"]
    assert grown["updated_at"] == grown["messages"][-1]["timestamp"]
    assert datetime.fromisoformat(grown["updated_at"]).utcoffset() == timedelta(0)
    assert grown["metadata"] == {"user_id": "u1", "tags": ["a"]}


@pytest.mark.spec("D27", "D28", "D34", "D35", "D36")
async def test_messages_alternate_in_order_and_answers_have_a_confidence(
    client: httpx.AsyncClient,
) -> None:
    session = (await chat(client)).json()["session_id"]
    declined = (await chat(client, FOREIGN, session_id=session)).json()
    messages = (await history_of(client, session))["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert all(m["content"] for m in messages)
    times = [datetime.fromisoformat(m["timestamp"]) for m in messages]
    assert times == sorted(times)
    assert [m["confidence"] is None for m in messages] == [True, False, True, False]
    assert messages[-1]["confidence"] == declined["confidence"]


@pytest.mark.spec("D25", "D26", "D31", "D32", "B38", "B40")
async def test_the_last_fifty_messages_stay_and_no_other_is_lost(askbook: Askbook) -> None:
    session = str(uuid.uuid4())
    topics: list[str | None] = []
    for n in range(27):
        async with askbook.conversations.turn(session) as dialogue:
            asked = Message(role="user", content=f"Which gearbox has number {n}?")
            await dialogue.append(
                asked,
                f"Gearbox {n}.",
                book_id="physical-ai-robotics",
                confidence=0.9,
                retrievals=(
                    Retrieval(
                        query=asked.content,
                        results_count=5,
                        avg_similarity=0.5,
                        timestamp=asked.timestamp,
                    ),
                ),
            )
        topics.append((await askbook.conversations.history(session)).thread.topic_summary)
    assert topics[:4] == [None] * 4
    assert all(topic and len(topic) <= 200 for topic in topics[4:])
    newest = await askbook.conversations.history(session)
    assert (len(newest.messages), newest.archived_count) == (50, 4)
    whole = await askbook.conversations.history(session, archived=True)
    spoken = [m.content for m in (*whole.earlier, *whole.messages)]
    assert spoken[::2] == [f"Which gearbox has number {n}?" for n in range(27)]
    assert whole.thread.turn_count == len(whole.retrieval_history) == 27


@pytest.mark.spec("D39")
async def test_an_hour_of_silence_archives_a_thread_and_a_message_resumes_it(
    askbook: Askbook, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = (await chat(client)).json()["session_id"]
    with monkeypatch.context() as later:
        now = datetime.now(UTC) + timedelta(hours=1, seconds=1)
        later.setattr(askbook.conversations, "_clock", lambda: now)
        assert (await history_of(client, session))["archived_at"] is not None
        archived = (await client.get("/sessions", params={"archived": True, "limit": 200})).json()
        assert session in {thread["session_id"] for thread in archived}
    await chat(client, session_id=session)
    resumed = await history_of(client, session)
    assert (resumed["archived_at"], resumed["turn_count"]) == (None, 2)
    active = (await client.get("/sessions", params={"limit": 200})).json()
    assert session in {thread["session_id"] for thread in active}


@pytest.mark.spec("D40")
async def test_a_thread_is_deleted_on_request(client: httpx.AsyncClient) -> None:
    session = (await chat(client)).json()["session_id"]
    assert (await client.delete(f"/session/{session}")).status_code == 204
    assert (await client.get(f"/session/{session}/history")).status_code == 404
    assert (await client.delete(f"/session/{session}")).status_code == 404
