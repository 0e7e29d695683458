"""Votes on answers, on real databases and over HTTP: one per exchange, gone with the session."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.bootstrap.feedback import rate_answer
from askbook.config import Settings, load_settings
from askbook.conversations import Conversations, Message
from askbook.errors import NotFound
from askbook.storage.conversations import DatabaseConversations
from askbook.storage.engine import open_engine
from askbook.storage.feedback import FeedbackStore, Vote

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]
QUESTION = "Which stop categories may an emergency stop have?"


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    kind: str = request.param
    url = request.getfixturevalue("database_url") if kind == "postgresql" else None
    engine = await open_engine(tmp_path, url)
    yield engine
    await engine.dispose()


async def talked(engine: AsyncEngine, turns: int, owner: str = "local") -> str:
    """A session with so many exchanges."""
    session = str(uuid.uuid4())
    conversations = Conversations(DatabaseConversations(engine))
    for number in range(1, turns + 1):
        async with conversations.turn(session, owner) as dialogue:
            asked = Message(role="user", content=f"Question {number}?")
            await dialogue.append(asked, f"Answer {number}.", book_id="robots", confidence=0.9)
    return session


async def rate(engine: AsyncEngine, session: str, rating: Any = "down", **given: Any) -> None:
    conversations = Conversations(DatabaseConversations(engine))
    values: dict[str, Any] = {"owner": "local", "comment": None, "turn": None} | given
    await rate_answer(
        conversations, FeedbackStore(engine), session_id=session, rating=rating, **values
    )


@pytest.mark.parametrize("turns", [1, 3, 30])
async def test_a_vote_is_about_the_last_exchange_or_the_named_one(
    engine: AsyncEngine, turns: int
) -> None:
    session = await talked(engine, turns)
    await rate(engine, session, comment="Too short.\x00")
    await rate(engine, session, turn=1)
    votes = await FeedbackStore(engine).votes("robots", "down", 10)
    found = {vote.turn: (vote.question, vote.answer) for vote in votes}
    wanted = {1: ("Question 1?", "Answer 1."), turns: (f"Question {turns}?", f"Answer {turns}.")}
    assert found == wanted
    for wrong in (0, turns + 1):
        with pytest.raises(NotFound, match=f"no exchange {wrong}"):
            await rate(engine, session, turn=wrong)


async def test_a_second_vote_replaces_the_first(engine: AsyncEngine) -> None:
    store, session = FeedbackStore(engine), await talked(engine, 2)
    await rate(engine, session, comment="Wrong.")
    assert await store.totals("robots") == {"up": 0, "down": 1}
    await rate(engine, session, "up")
    assert await store.totals("robots") == {"up": 1, "down": 0}
    assert await store.votes("robots", "down", 10) == []
    [vote] = await store.votes("robots", "up", 10)
    assert (vote.comment, vote.turn) == (None, 2)


async def test_votes_go_with_their_session(engine: AsyncEngine) -> None:
    store, session = FeedbackStore(engine), await talked(engine, 1)
    await rate(engine, session)
    [vote] = await store.votes("robots", "down", 10)
    await Conversations(DatabaseConversations(engine)).delete(session)
    assert await store.totals("robots") == {"up": 0, "down": 0}
    assert await store.save(vote) is False


async def test_the_newest_come_first_and_books_are_kept_apart(engine: AsyncEngine) -> None:
    store = FeedbackStore(engine)
    now = datetime.now(UTC)
    for age, book in enumerate(("robots", "gears", "robots", "robots")):
        session = await talked(engine, 1)
        given = Vote(
            thread_id=session,
            turn=1,
            book_id=book,
            rating="down",
            comment=None,
            question=f"{age}",
            answer="a",
            given_at=now,
        )
        assert await store.save(replace(given, given_at=now - timedelta(days=age)))
    assert [vote.question for vote in await store.votes("robots", "down", 2)] == ["0", "2"]


async def test_another_owners_session_does_not_exist(engine: AsyncEngine) -> None:
    session = await talked(engine, 1, owner="key-1")
    with pytest.raises(NotFound):
        await rate(engine, session)


async def test_over_http(serve: Serve, data_dir: Path) -> None:
    async with serve(load_settings(data_dir=data_dir)) as http:
        answer = (await http.post("/chat/run", json={"message": QUESTION})).json()
        session = answer["session_id"]
        body: dict[str, Any] = {"session_id": session, "rating": "down", "comment": " Too long. "}
        given = await http.post("/feedback", json=body)
        assert (given.status_code, given.content) == (204, b"")
        listed = (await http.get("/feedback")).json()
        [vote] = listed["votes"]
        assert (listed["up"], listed["down"]) == (0, 1)
        assert (vote["question"], vote["answer"]) == (QUESTION, answer["response"])
        assert vote["comment"] == "Too long."
        assert session not in str(listed)
        assert (await http.get("/feedback?rating=up")).json()["votes"] == []
        for wrong, status in (
            ({"session_id": str(uuid.uuid4())}, 404),
            ({"turn": 2}, 404),
            ({"session_id": "mine"}, 422),
            ({"turn": 0}, 422),
            ({"rating": "meh"}, 422),
            ({"comment": "x" * 1001}, 422),
            ({"nonsense": 1}, 422),
        ):
            assert (await http.post("/feedback", json=body | wrong)).status_code == status, wrong
        stranger = await http.get("/feedback", headers={"X-Forwarded-For": "192.0.2.1"})
        assert stranger.status_code == 401
        assert (await http.delete(f"/session/{session}")).status_code == 204
        assert (await http.get("/feedback")).json()["down"] == 0


async def test_votes_go_with_their_book(serve: Serve, data_dir: Path) -> None:
    async with serve(load_settings(data_dir=data_dir)) as http:
        answer = (await http.post("/chat/run", json={"message": QUESTION})).json()
        body = {"session_id": answer["session_id"], "rating": "up"}
        assert (await http.post("/feedback", json=body)).status_code == 204
        askbook: Any = http.askbook  # pyright: ignore[reportAttributeAccessIssue]  # set by `serving`
        await askbook.delete_book(answer["book_id"])
        assert await askbook.feedback.totals(answer["book_id"]) == {"up": 0, "down": 0}
