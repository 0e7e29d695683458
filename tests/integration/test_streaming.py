"""A model behind HTTP: events in order, faults survived, readers kept apart."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from agent_turns import BOOK, QUERY, events_of, results_of, turns_over
from askbook.access import LOCAL_GRANT
from askbook.agent.events import SentenceVerified
from askbook.api.routes import chat
from askbook.api.schemas import ChatRequest
from askbook.api.sse import event_stream
from askbook.chat import TurnEnded
from askbook.config import Settings, load_settings
from askbook.remote import Breaker
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchQuery
from openai_chat_server import ChatServer, Say

TRUE = "The Falcon arm lifts at most 5 kg at full reach [1]."
QUESTION = "What is a ROS 2 topic?"
SOON = {"retry-after": "0.05"}
Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def model() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


# --- The routes, on the sample book ---


def quote(body: dict[str, Any]) -> Say:
    """An honest model: it repeats the first sentence of the first chunk and cites it."""
    found = next(m for m in body["messages"] if m["role"] == "tool")
    text = json.loads(found["content"])["results"][0]["chunk_text"]
    lines = [li for li in text.splitlines()[1:-1] if li[:1].isalpha()]
    return Say(lines[0].split(". ")[0].rstrip(".") + ". [1]")


def events_in(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for block in text.split("\n\n"):
        lines = dict(li.split(": ", 1) for li in block.splitlines() if ": " in li and li[0] != ":")
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


@pytest.mark.spec("D5", "D71")
async def test_the_routes_stream_states_sources_sentences_and_the_whole(
    data_dir: Path, model: ChatServer, serve: Serve
) -> None:
    model.respond = quote
    async with serve(load_settings(data_dir=data_dir, openai_base_url=model.url)) as client:
        response = await client.post("/chat/stream", json={"message": QUESTION})
        also = await client.post("/chat/run", json={"message": QUESTION, "stream": True})
        whole = await client.post("/chat/run", json={"message": QUESTION})
        asked = len(model.seen)
        declined = await client.post(
            "/chat/stream", json={"message": "Who won the 1998 World Cup?"}
        )
        unknown = await client.post("/chat/stream", json={"message": QUESTION, "book_id": "x"})
        marked = await client.post(
            "/chat/run", json={"message": "Why?", "selected_text": "x" * 4001}
        )
        info = await client.get("/info")
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_in(response.text)
    names = [name for name, _ in events]
    assert names == ["state", "state", "sources", "sentence", "state", "done"]
    joined = "".join(d["joint"] + d["text"] for name, d in events if name == "sentence")
    done = events[-1][1]
    assert done["response"].startswith(joined)
    assert done["tokens_used"] == 120
    assert done["citations"][0]["quote"] in joined.replace(" [1]", "")
    assert set(done) == set(whole.json())
    assert [name for name, _ in events_in(also.text)] == names
    assert whole.json()["response"] == done["response"]
    assert [name for name, _ in events_in(declined.text)] == ["state", "state", "done"]
    assert events_in(declined.text)[-1][1]["should_answer"] is False
    assert len(model.seen) == asked
    assert unknown.status_code == 404
    assert marked.status_code == 422
    assert info.json()["model"] == "gpt-4o-mini"


# --- Faults, on a few passages ---


async def test_the_model_searches_through_http(model: ChatServer) -> None:
    model.script = [Say(search="gripper"), Say("The gripper closes in 0.4 seconds [3].")]
    async with turns_over(model.url) as turns:
        response = await turns.answer(QUERY, BOOK)
    assert response.answer == "The gripper closes in 0.4 seconds. [3]"
    assert response.tokens_used == 240
    roles = [m["role"] for m in model.seen[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert model.seen[0]["tools"][0]["function"]["name"] == "retrieve_documentation"
    assert model.seen[0]["temperature"] == 0.0
    assert model.seen[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    "faults",
    [
        [Say(status=429, headers=SOON)],
        [Say(status=500, headers=SOON)],
        [Say(status=503, headers=SOON), Say(status=502, headers=SOON)],
    ],
    ids=["429", "500", "503 then 502"],
)
async def test_busy_answers_are_tried_again(model: ChatServer, faults: list[Say]) -> None:
    model.script = [*faults, Say(TRUE)]
    async with turns_over(model.url) as turns:
        response = await turns.answer(QUERY, BOOK)
    assert response.model == "gpt-4o-mini"
    assert len(model.seen) == len(faults) + 1


@pytest.mark.parametrize(
    "fault",
    [
        Say(status=401),
        Say(status=400),
        Say(raw=b"<html>this is a router</html>"),
        Say(raw=b"{}"),
        Say(text=""),
        Say(text="lorem ipsum dolor [", cut_after=1),
        Say(text="%%%% \x00\x01 }{ [1] [2] ]["),
        Say(text="lorem ipsum " * 3000, size=400),
    ],
    ids=["401", "400", "html", "no choices", "empty", "cut at once", "nonsense", "endless"],
)
async def test_a_broken_model_leaves_no_reader_without_an_honest_end(
    model: ChatServer, fault: Say
) -> None:
    model.respond = lambda _: fault
    async with turns_over(model.url) as turns:
        response = await turns.answer(QUERY, BOOK)
    if response.should_answer:
        assert response.model == "extractive"
        assert any("quotes the book" in line for line in response.info)
    else:
        assert response.answer == BOOK.refusal
    assert "lorem" not in response.answer


async def test_a_stream_cut_in_the_middle_keeps_what_was_checked(model: ChatServer) -> None:
    text = f"{TRUE} And then something that is never finished because"
    model.script = [Say(text, cut_after=len(text) // 12)]
    async with turns_over(model.url) as turns:
        response = await turns.answer(QUERY, BOOK)
    assert response.model == "gpt-4o-mini"
    assert response.answer == "The Falcon arm lifts at most 5 kg at full reach. [1]"
    assert any("broke off" in line for line in response.info)


async def test_a_slow_model_is_given_up_in_time(model: ChatServer) -> None:
    model.respond = lambda _: Say("Slow. [1]", delay=20.0)
    async with turns_over(model.url, answer_timeout=0.5) as turns:
        started = time.perf_counter()
        response = await turns.answer(QUERY, BOOK)
    assert response.model == "extractive"
    assert time.perf_counter() - started < 15.0


async def test_a_model_that_dribbles_is_given_up_in_time(model: ChatServer) -> None:
    model.respond = lambda _: Say(f"{TRUE} " + "And on. " * 500, size=4, pace=0.05)
    async with turns_over(model.url, answer_timeout=3.0) as turns:
        response = await turns.answer(QUERY, BOOK)
    said = response.answer.removesuffix(BOOK.disclaimer).rstrip()
    assert said == "The Falcon arm lifts at most 5 kg at full reach. [1]"
    assert any("broke off" in line for line in response.info)


async def test_a_model_that_is_not_there_is_left_alone_after_a_while(model: ChatServer) -> None:
    model.http.stop()
    async with turns_over(model.url, breaker=Breaker(threshold=1, rest=60.0)) as turns:
        first = await turns.answer(QUERY, BOOK)
        started = time.perf_counter()
        second = await turns.answer(QUERY, BOOK)
    assert first.model == second.model == "extractive"
    assert time.perf_counter() - started < 0.4


# --- Readers ---


async def test_a_reader_who_goes_away_cancels_the_model_call(model: ChatServer) -> None:
    model.script = [Say(f"{TRUE} " + "More and more. " * 500, pace=0.02)]
    async with turns_over(model.url) as turns:
        events = turns.stream(QUERY, BOOK)
        async for event in events:
            if isinstance(event, SentenceVerified):
                break
        await events.aclose()
        for _ in range(250):
            if model.left:
                break
            await asyncio.sleep(0.02)
    assert (model.left, model.at_once) == (1, 0)


async def test_a_client_who_goes_away_cancels_the_model_call(model: ChatServer) -> None:
    model.script = [Say(f"{TRUE} " + "More and more. " * 500, pace=0.02)]
    async with turns_over(model.url) as turns:
        running: Any = SimpleNamespace(converse=lambda *_, **__: turns.stream(QUERY, BOOK))
        request = ChatRequest.model_validate({"message": "What?"})
        events = chat._events(request, running, LOCAL_GRANT, "local", "s")
        body: Any = event_stream(events).body_iterator
        async for event in body:
            if event.startswith(b"event: sentence"):
                break
        await body.aclose()
        for _ in range(250):
            if model.left:
                break
            await asyncio.sleep(0.02)
    assert (model.left, model.at_once) == (1, 0)


class Numbered:
    """A searcher whose every question has its own passage."""

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        number = query.text.rsplit(" ", 1)[-1]
        text = f"Robot number {number} carries {number} kg over rough ground."
        return RetrievalContext(query=query.text, results=results_of([text]), query_time_ms=1.0)


def echo(body: dict[str, Any]) -> Say:
    output = next(m for m in body["messages"] if m["role"] == "tool")["content"]
    text = json.loads(output)["results"][0]["chunk_text"].splitlines()[1]
    return Say(f"{text} [1]", size=5, pace=0.005)


async def test_a_hundred_streams_at_once_stay_apart(model: ChatServer) -> None:
    model.respond = echo
    async with turns_over(model.url, shelf=Numbered()) as turns:

        async def stream(number: int) -> str:
            query = SearchQuery(text=f"What does robot {number}", book_id="robots")
            events = await events_of(turns, query)
            ended = events[-1]
            assert isinstance(ended, TurnEnded)
            assert ended.response.model == "gpt-4o-mini"
            return ended.response.answer

        answers = await asyncio.gather(*(stream(n) for n in range(200, 300)))
    assert answers == [
        f"Robot number {n} carries {n} kg over rough ground. [1]" for n in range(200, 300)
    ]
    assert model.most_at_once > 20


async def test_the_first_sentence_leaves_while_the_model_still_writes(model: ChatServer) -> None:
    text = f"{TRUE} " + "The controller of the arm runs at 500 Hz [2]. " * 10
    model.respond = lambda _: Say(text, size=8, pace=0.02)
    async with turns_over(model.url) as turns:
        await turns.answer(QUERY, BOOK)
        started = time.perf_counter()
        times = [
            time.perf_counter() - started
            async for event in turns.stream(QUERY, BOOK)
            if isinstance(event, SentenceVerified | TurnEnded)
        ]
    assert times[0] < times[-1] - 0.5
