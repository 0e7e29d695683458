"""Sessions over HTTP, on the sample book: kept, continued, serialised, listed, deleted."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

from askbook.agent.events import SentenceVerified
from askbook.bootstrap import Askbook
from askbook.config import Settings, load_settings
from askbook.errors import NotFound, ServiceUnavailable
from openai_chat_server import ChatServer, Say

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]

FIRST = "For how long does a tf2 buffer remember transforms?"
THEN = "How can I make it longer?"
OTHER = "Which stop categories may an emergency stop have?"


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


async def chat(client: httpx.AsyncClient, message: str, **given: Any) -> dict[str, Any]:
    response = await client.post("/chat/run", json={"message": message} | given)
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_session_lives_from_its_first_message_to_its_deletion(
    data_dir: Path, serve: Serve
) -> None:
    settings = load_settings(data_dir=data_dir)
    async with serve(settings) as client:
        first = await chat(client, FIRST, metadata={"tags": ["tf2"]})
        session = first["session_id"]
        then = await client.post(
            "/chat/stream", json={"message": THEN, "session_id": session.upper()}
        )
        assert f'"session_id": "{session}"' in then.text
        assert "cache_time" in then.text
    async with serve(settings) as client:
        response = await client.get(f"/session/{session}/history")
        assert response.status_code == 200
        history = response.json()
        assert [m["role"] for m in history["messages"]] == ["user", "assistant"] * 2
        assert [m["content"] for m in history["messages"][::2]] == [FIRST, THEN]
        assert history["messages"][1]["content"] == first["response"]
        assert history["messages"][1]["confidence"] == first["confidence"]
        assert history["messages"][0]["confidence"] is None
        assert (history["turn_count"], history["archived_count"]) == (2, 0)
        assert history["metadata"] == {"tags": ["tf2"]}
        assert history["book_id"] == "physical-ai-robotics"
        looked = history["retrieval_history"]
        assert [(r["query"], r["results_count"]) for r in looked] == [(FIRST, 5), (THEN, 5)]
        assert {r["tool_name"] for r in looked} == {"retrieve_documentation"}
        [listed] = (await client.get("/sessions")).json()
        assert {**history, **listed} == history
        assert (await client.get("/sessions", params={"archived": True})).json() == []
        gone = await client.delete(f"/session/{session}")
        assert (gone.status_code, gone.content) == (204, b"")
        for again in (
            await client.delete(f"/session/{session}"),
            await client.get(f"/session/{session}/history"),
        ):
            assert (again.status_code, again.json()["error"]) == (404, "not_found")
        assert (await client.get("/sessions")).json() == []


async def test_what_is_no_session_is_refused(data_dir: Path, serve: Serve) -> None:
    async with serve(load_settings(data_dir=data_dir)) as client:
        for response in (
            await client.get("/session/mine/history"),
            await client.delete(f"/session/{uuid.uuid1()}"),
            await client.post("/chat/stream", json={"message": OTHER, "session_id": "mine"}),
        ):
            assert (response.status_code, response.json()["error"]) == (422, "invalid_input")
            assert response.json()["request_id"]
        deep: Any = []
        for _ in range(20):
            deep = [deep]
        for metadata in ({"deep": deep}, {"long": "x" * 20_000}, {str(n): n for n in range(51)}):
            response = await client.post("/chat/run", json={"message": OTHER, "metadata": metadata})
            assert response.status_code == 422
            assert response.json()["details"]["problems"][0]["field"] == "metadata"
        response = await client.post(
            "/chat/run",
            content=b'{"message": "What is a topic?", "metadata": {"n": NaN}}',
            headers={"Content-Type": "application/json"},
        )
        assert response.status_code in (400, 422)
        assert (await client.get("/sessions")).json() == []


async def test_sessions_are_listed_for_this_machine_only(data_dir: Path, serve: Serve) -> None:
    async with serve(load_settings(data_dir=data_dir)) as client:
        response = await client.get("/sessions", headers={"X-Forwarded-For": "192.0.2.1"})
        assert (response.status_code, response.json()["error"]) == (401, "unauthorized")


async def test_another_owners_session_is_not_there(data_dir: Path) -> None:
    session = str(uuid.uuid4())
    async with Askbook(load_settings(data_dir=data_dir)) as askbook:
        async for _ in askbook.converse(OTHER, session, owner="mine"):
            pass
        with pytest.raises(NotFound):
            async for _ in askbook.converse(OTHER, session, owner="yours"):
                pass
        with pytest.raises(NotFound):
            await askbook.conversations.history(session, "yours")
        assert (await askbook.conversations.history(session, "mine")).thread.turn_count == 1


async def test_messages_sent_at_once_are_all_kept(data_dir: Path, serve: Serve) -> None:
    session = str(uuid.uuid4())
    asked = [f"{OTHER} {n}" for n in range(6)]
    async with serve(load_settings(data_dir=data_dir)) as client:
        await asyncio.gather(*(chat(client, question, session_id=session) for question in asked))
        history = (await client.get(f"/session/{session}/history")).json()
    assert sorted(m["content"] for m in history["messages"][::2]) == asked
    assert [m["role"] for m in history["messages"]] == ["user", "assistant"] * 6


async def test_a_turn_that_is_broken_off_leaves_nothing_and_frees_its_session(
    data_dir: Path, model: ChatServer
) -> None:
    def slow(body: dict[str, Any]) -> Say:
        return Say("A category 0 stop removes power at once. [1] " + "More. " * 300, pace=0.01)

    model.respond = slow
    session = str(uuid.uuid4())
    async with Askbook(load_settings(data_dir=data_dir, openai_base_url=model.url)) as askbook:
        async with aclosing(askbook.converse(OTHER, session)) as events:
            async for event in events:
                if not isinstance(event, SentenceVerified):
                    break
        with pytest.raises(NotFound):
            await askbook.conversations.history(session)
        model.respond = lambda _: Say("Nothing. [1]")
        async with asyncio.timeout(60):
            async for _ in askbook.converse(OTHER, session):
                pass
        assert (await askbook.conversations.history(session)).thread.turn_count == 1


async def test_an_answer_that_cannot_be_kept_is_not_acknowledged(
    data_dir: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> bool:
        raise ServiceUnavailable("The database does not answer.", "Wait.")

    async with serve(load_settings(data_dir=data_dir)) as client:
        monkeypatch.setattr("askbook.storage.conversations.DatabaseConversations.write", refuse)
        response = await client.post("/chat/run", json={"message": OTHER})
        streamed = await client.post("/chat/stream", json={"message": OTHER})
    assert response.status_code == 503
    assert "event: error" in streamed.text
    assert "event: done" not in streamed.text


async def test_the_model_is_told_what_was_said(
    data_dir: Path, serve: Serve, model: ChatServer
) -> None:
    model.respond = lambda _: Say("An emergency stop must be category 0 or 1. [1]")
    async with serve(load_settings(data_dir=data_dir, openai_base_url=model.url)) as client:
        session = (await chat(client, OTHER))["session_id"]
        await chat(client, "Which of them removes power at once?", session_id=session)
    told = [m for m in model.seen[-1]["messages"] if m["role"] == "user"]
    assert len(told) >= 2
    assert OTHER in str(told[0]["content"])
