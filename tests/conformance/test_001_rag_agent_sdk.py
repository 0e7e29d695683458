"""Document 001: what a retrieved result tells of itself, what a session remembers, and what can be set.

The rules of the prompt stand in `test_001_instructions.py`, what a model is sent in `test_001_messages.py`.
"""

import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from agent_turns import BOOK, QUERY, turns_over
from askbook.bootstrap.parts import make_embedder, make_index, make_tutor
from askbook.config import load_settings
from askbook.embedding import Fingerprint
from askbook.errors import ConfigurationError
from cohere_server import KEY as COHERE_KEY
from cohere_server import CohereServer
from openai_chat_server import ChatServer, Say
from qdrant_server import QdrantServer

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.spec("B61")
async def test_a_result_carries_all_that_a_citation_needs(client: httpx.AsyncClient) -> None:
    body = {"text": "Which stop categories may an emergency stop have?", "limit": 5}
    results = (await client.post("/search", json=body)).json()["results"]
    assert [result["rank"] for result in results] == [1, 2, 3, 4, 5]
    best = results[0]
    assert "category 0 or 1" in best["text"]
    assert best["page_title"] == "Perceive, Plan, Act: the Loop and Its Safety"
    assert best["section_title"] == "Emergency stops and stop categories"
    assert best["breadcrumb"].startswith("Foundations")
    assert "perceive-plan-act" in best["url"]
    assert best["url"].endswith("#stop-categories")
    for result in results:
        assert 0.0 <= result["score"] <= 1.0
        assert 0 <= result["chunk_index"] < result["total_chunks"]
        assert result["text"]
        assert result["page_title"]
        assert result["url"]


@pytest.mark.spec("B36", "B37", "B38", "B39", "B40", "B41", "B48")
async def test_a_session_is_its_messages_in_order(client: httpx.AsyncClient) -> None:
    asked = ["What is a ROS 2 topic?", "Tell me more about it."]
    first = (await client.post("/chat/run", json={"message": asked[0]})).json()
    session = first["session_id"]
    assert uuid.UUID(session).version == 4
    await client.post("/chat/run", json={"message": asked[1], "session_id": session})
    history = (await client.get(f"/session/{session}/history")).json()
    assert [m["content"] for m in history["messages"] if m["role"] == "user"] == asked
    assert all(datetime.fromisoformat(m["timestamp"]) for m in history["messages"])
    assert datetime.fromisoformat(history["created_at"])
    assert history["turn_count"] == len(history["retrieval_history"]) == 2


@pytest.mark.spec("B42", "B43", "B44", "B45", "B46")
async def test_a_retrieval_tells_what_it_was_asked_and_found(client: httpx.AsyncClient) -> None:
    body = {"message": "What is a ROS 2 topic?", "module": "ros2"}
    answer = (await client.post("/chat/run", json=body)).json()
    history = (await client.get(f"/session/{answer['session_id']}/history")).json()
    [call] = history["retrieval_history"]
    assert (call["tool_name"], call["query"]) == ("retrieve_documentation", body["message"])
    assert call["results_count"] == answer["metrics"]["num_chunks"] == 5
    assert call["avg_similarity"] == pytest.approx(answer["metrics"]["average_similarity"])
    assert "module:ros2" in call["filter_applied"]
    assert datetime.fromisoformat(call["timestamp"])


# The document's default yields to gpt-4o-mini.
@pytest.mark.spec("B3")
async def test_a_model_is_always_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().model.openai_model == "gpt-4o-mini"
    monkeypatch.setenv("OPENAI_MODEL", "")
    assert load_settings().model.openai_model == "gpt-4o-mini"
    with pytest.raises(ConfigurationError, match="OPENAI_MODEL = ''"):
        load_settings(openai_model="")


# Which names are valid is the server's to say: any server that speaks OpenAI's API may be asked.
@pytest.mark.spec("B4")
@pytest.mark.parametrize("name", ["gpt-3.5-turbo", "gpt-4-turbo", "llama3.1:8b"])
async def test_the_model_that_is_set_is_asked(name: str) -> None:
    said = "The Falcon arm lifts at most 5 kg at full reach [1]."
    with ChatServer(Say(said), Say(status=404)) as server:
        async with turns_over(server.url, openai_model=name) as turns:
            answered = await turns.answer(QUERY, BOOK)
            unknown = await turns.answer(QUERY, BOOK)
    assert [seen["model"] for seen in server.seen] == [name, name]
    assert answered.model == name
    assert unknown.model == "extractive"
    assert unknown.citations
    assert "The model could not be reached; this answer quotes the book instead." in unknown.info


# As reconciled: a key that does not look like OpenAI's is worth a warning, and nothing more.
@pytest.mark.spec("B10")
@pytest.mark.parametrize(
    ("key", "url", "warned"),
    [
        ("sk-" + "x" * 37, None, False),
        ("sk-" + "x" * 36, None, True),
        ("x" * 40, None, True),
        ("local", "http://127.0.0.1:1/v1", False),
    ],
)
async def test_a_key_that_looks_wrong_is_told_and_used(
    key: str, url: str | None, warned: bool
) -> None:
    settings = load_settings(openai_api_key=key, openai_base_url=url)
    unused: Any = None
    with capture_logs() as logs:
        tutor = make_tutor(settings, unused, None, unused, None)
    assert tutor is not None
    await tutor.close()
    told = [line for line in logs if line["event"] == "openai_api_key_looks_wrong"]
    assert [line["log_level"] for line in told] == (["warning"] if warned else [])
    assert key not in str(logs)


@pytest.mark.spec("B67")
@pytest.mark.parametrize("name", [None, "robots"])
async def test_the_index_is_on_the_server_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    with QdrantServer(tmp_path, api_key="hidden") as server:
        monkeypatch.setenv("QDRANT_URL", server.url)
        monkeypatch.setenv("QDRANT_API_KEY", "hidden")
        if name is not None:
            monkeypatch.setenv("QDRANT_COLLECTION_NAME", name)
        settings = load_settings()
        index = make_index(settings, Fingerprint(name="null", dimension=4, revision="1"))
        assert await index.count() == 0
        await index.close()
    assert f"GET /collections/{name or 'documentation'}" in server.paths()
    assert "hidden" not in repr(settings)


@pytest.mark.spec("B68")
@pytest.mark.parametrize(("name", "dimension"), [(None, 1024), ("embed-english-light-v3.0", 384)])
async def test_cohere_embeds_with_the_key_and_model_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str | None, dimension: int
) -> None:
    monkeypatch.setenv("ASKBOOK_EMBEDDER", "cohere")
    with pytest.raises(ConfigurationError, match="COHERE_API_KEY"):
        make_embedder(load_settings())
    monkeypatch.setenv("COHERE_API_KEY", COHERE_KEY)
    if name is not None:
        monkeypatch.setenv("COHERE_MODEL", name)
    with CohereServer() as server:
        monkeypatch.setenv("ASKBOOK_COHERE_BASE_URL", server.url)
        embedder = make_embedder(load_settings())
        vector = await embedder.embed_query("What is a topic?")
        await embedder.close()
    assert [seen["model"] for seen in server.seen] == [name or "embed-english-v3.0"]
    assert len(vector) == embedder.fingerprint.dimension == dimension


@pytest.mark.spec("B9", "B71")
async def test_settings_are_read_from_the_file_env(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-of-the-file\nAGENT_TOP_K=8\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_TOP_K", "6")
    settings = load_settings()
    key = settings.openai.openai_api_key
    assert key is not None
    assert key.get_secret_value() == "sk-of-the-file"
    assert settings.retrieval.top_k == 6
