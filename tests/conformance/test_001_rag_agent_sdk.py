"""Document 001: what a retrieved result tells of itself. And what a session remembers."""

import uuid
from datetime import datetime

import httpx
import pytest

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
