"""Documents 000 and 001: what of a conversation a model is sent, and what becomes of a conversation in which it answers."""

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent_turns import BOOK, QUERY, turns_with
from askbook.agent.response import AgentResponse
from askbook.bootstrap import Askbook
from askbook.chat import response_of
from askbook.config import load_settings
from askbook.conversations import History
from askbook.errors import ConfigurationError, NotFound
from askbook.retrieval.history import Message
from data_directories import copy_data
from openai_chat_server import ChatServer, Say

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Which stop categories may an emergency stop have?"
SAID = "An emergency stop must be category 0 or 1. [1]"
THEN = "For how long does a tf2 buffer remember transforms?"
TOOL = "retrieve_documentation"


@pytest.fixture(scope="module")
def model() -> Iterator[ChatServer]:
    """A model's server; each test says what it answers."""
    with ChatServer() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def taught(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory, model: ChatServer
) -> AsyncIterator[Askbook]:
    """The sample book with that model."""
    copy = copy_data(ingested, tmp_path_factory.mktemp("taught") / "data")
    async with Askbook(load_settings(data_dir=copy, openai_base_url=model.url)) as askbook:
        yield askbook


@pytest.fixture(autouse=True)
def quiet(model: ChatServer) -> None:
    """No test sees what another was told."""
    model.seen.clear()
    model.script.clear()
    model.respond = lambda _: Say(SAID)


def new_session() -> str:
    return str(uuid.uuid4())


async def chat(askbook: Askbook, session: str, *questions: str) -> list[AgentResponse]:
    return [await response_of(askbook.converse(question, session)) for question in questions]


def roles(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


FIRST_TURN = ["system", "user", "assistant", "tool"]


@pytest.mark.spec("A15", "A16", "A18", "A19", "B49", "B50", "B53", "B54")
async def test_the_model_is_sent_the_messages_in_their_order(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    first, _ = await chat(taught, session, QUESTION, THEN)
    sent = model.seen[-1]["messages"]
    assert roles(sent) == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert len(model.seen) == 2
    # Each message of the conversation is its role and content; what the answer cited counts for that turn only.
    assert sent[1:3] == [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": first.answer.replace(" [1]", "")},
    ]
    assert sent[3]["content"] == f"USER QUESTION: {THEN}"
    [asking] = [message for message in sent if "tool_calls" in message]
    assert asking is sent[4]
    [call] = asking["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", TOOL)
    assert json.loads(call["function"]["arguments"])["query"] == THEN
    # As reconciled: the result names the call it belongs to.
    assert sent[5]["tool_call_id"] == call["id"]
    found = json.loads(sent[5]["content"])
    assert (found["query"], found["total_results"]) == (THEN, 5)


@pytest.mark.spec("A19", "B54")
async def test_whatever_was_said_before_questions_and_answers_alternate(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    # A turn with a search of the model's own, one that is declined, one whose model fails.
    model.script = [Say(search="stop categories"), Say(SAID), Say(status=400)]
    await chat(taught, session, QUESTION, "What is the capital of Australia?", THEN)
    await chat(taught, session, QUESTION)
    sent = roles(model.seen[-1]["messages"])
    assert sent == ["system", *["user", "assistant"] * 3, *FIRST_TURN[1:]]
    history = await taught.conversations.history(session)
    assert all(one.role != other.role for one, other in pairwise(history.messages))


# As reconciled: the first retrieval is made for the model and given to it as a tool call and its result, so that
# the call "before the tool" needs no model; a search the model asks for itself is followed by another call.
@pytest.mark.spec("B49", "B50", "B63", "B64")
async def test_a_search_of_the_model_is_followed_by_its_result_and_another_call(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    model.script = [Say(search="stop category 1"), Say(SAID)]
    [response] = await chat(taught, session, QUESTION)
    before, after = (seen["messages"] for seen in model.seen)
    assert roles(before) == FIRST_TURN
    assert after[: len(before)] == before
    assert roles(after[len(before) :]) == ["assistant", "tool"]
    asked, found = after[-2:]
    assert asked["tool_calls"][0]["function"]["name"] == TOOL
    assert found["tool_call_id"] == asked["tool_calls"][0]["id"]
    assert json.loads(found["content"])["query"] == "stop category 1"
    assert response.answer == SAID
    # Readers see question and answer; both searches are in the history of retrievals.
    history = await taught.conversations.history(session)
    assert [message.role for message in history.messages] == ["user", "assistant"]
    looked = history.retrieval_history
    assert [(r.tool_name, r.query) for r in looked] == [
        (TOOL, QUESTION),
        (TOOL, "stop category 1"),
    ]
    assert [r.results_count for r in looked] == [5, 5]
    assert all(0.0 < r.avg_similarity <= 1.0 for r in looked)
    assert looked[0].timestamp < looked[1].timestamp


@pytest.mark.spec("B64")
async def test_a_turn_that_found_too_little_adds_question_and_answer_alone(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    [response] = await chat(taught, session, "What is the capital of Australia?")
    assert (response.should_answer, model.seen) == (False, [])
    history = await taught.conversations.history(session)
    assert [message.role for message in history.messages] == ["user", "assistant"]


@pytest.mark.spec("B47", "B51", "B52", "B53")
async def test_a_conversation_grows_from_nothing_by_whole_turns(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    # Until its first turn has ended there is nothing of it.
    fresh = await taught.conversations.dialogue(session)
    assert (fresh.thread, fresh.history) == (None, ())
    with pytest.raises(NotFound):
        await taught.conversations.history(session)
    counts: list[int] = []
    histories: list[History] = []
    for question in (QUESTION, THEN):
        [response] = await chat(taught, session, question)
        history = await taught.conversations.history(session)
        assert history.messages[-1].role == "assistant"
        assert history.messages[-1].content == response.answer
        counts.append(history.thread.turn_count)
        histories.append(history)
    assert counts == [1, 2]
    assert roles(model.seen[0]["messages"]) == FIRST_TURN
    assert all(roles(seen["messages"]).count("system") == 1 for seen in model.seen)
    started = histories[0].thread.created_at
    assert started == histories[0].messages[0].timestamp == histories[1].thread.created_at


@pytest.mark.spec("B65")
async def test_tell_me_more_is_sent_with_all_that_was_said(
    taught: Askbook, model: ChatServer
) -> None:
    told = "A VLA is a VLM that has been trained further on robot demonstrations."
    complete = "What more is there about a VLA model?"
    model.script = [Say(f"{told} [1]"), Say(complete), Say(f"{told} [1]")]
    first, then = await chat(taught, new_session(), "What is a VLA model?", "Tell me more.")
    assert first.answer.startswith(told)
    sent = model.seen[-1]["messages"]
    assert roles(sent) == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert [message["content"] for message in sent[1:4]] == [
        "What is a VLA model?",
        told,
        "USER QUESTION: Tell me more.",
    ]
    found = json.loads(sent[-1]["content"])["results"]
    assert "Vision-Language-Action" in found[0]["page_title"]
    assert then.citations[0].chunk_id == first.citations[0].chunk_id


@pytest.mark.spec("A13")
async def test_a_conversation_names_the_model_that_answered(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    model.script = [Say(SAID), Say(status=400)]
    await chat(taught, session, QUESTION, THEN)
    assert {seen["model"] for seen in model.seen} == {"gpt-4o-mini"}
    history = await taught.conversations.history(session)
    named = [(m.evidence or {}).get("model") for m in history.messages]
    # The second turn's model refused: the book was quoted instead, and that is said.
    assert named == [None, "gpt-4o-mini", None, "extractive"]


# Fixed numbers of messages or turns yield to the history budget: nobody's conversation is cut off.
@pytest.mark.spec("A20", "B55")
async def test_a_long_conversation_goes_on_and_the_model_sees_what_fits(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    for n in range(60):
        async with taught.conversations.turn(session) as dialogue:
            asked = Message(role="user", content=f"Question {n}? {'?' * 300}"[:300])
            answer = f"Answer {n}. {'.' * 300}"[:300]
            await dialogue.append(asked, answer, book_id="physical-ai-robotics", confidence=0.9)
    [response] = await chat(taught, session, QUESTION)
    assert response.answer == SAID
    history = await taught.conversations.history(session, archived=True)
    assert history.thread.turn_count == 61
    kept = [*history.earlier, *history.messages]
    assert [m.content.split("?")[0] for m in kept[:-2:2]] == [f"Question {n}" for n in range(60)]
    sent = model.seen[-1]["messages"]
    earlier = sent[1:-3]
    # 3,000 tokens at four characters each are twenty exchanges of two messages of 300 characters.
    assert [m["content"].split("?")[0] for m in earlier[::2]] == [
        f"Question {n}" for n in range(40, 60)
    ]
    assert roles(earlier) == ["user", "assistant"] * 20


@pytest.mark.spec("A45", "B55")
@pytest.mark.parametrize(("value", "seen"), [(None, 50), ("20", 20), ("1", 1)])
async def test_the_model_sees_fifty_turns_at_most_or_what_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, value: str | None, seen: int
) -> None:
    if value is not None:
        monkeypatch.setenv("AGENT_MAX_TURNS", value)
    assert load_settings().model.max_turns == seen
    said = [
        Message(role=role, content=f"{role} {n}")
        for n in range(70)
        for role in ("user", "assistant")
    ]
    turns, scripted = turns_with(["The Falcon arm lifts at most 5 kg at full reach [1]."])
    response = await turns.answer(QUERY, BOOK, history=said)
    assert response.should_answer
    earlier = scripted.calls[0].input[:-3]
    assert [item["content"] for item in earlier] == [m.content for m in said[-2 * seen :]]


@pytest.mark.spec("A45")
@pytest.mark.parametrize("value", ["0", "many"])
async def test_a_number_of_turns_that_is_none_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("AGENT_MAX_TURNS", value)
    with pytest.raises(ConfigurationError, match=f"AGENT_MAX_TURNS = '{value}'"):
        load_settings()


@pytest.mark.spec("B1", "B2")
async def test_questions_follow_ups_and_citations_come_from_the_four_parts(
    taught: Askbook, model: ChatServer
) -> None:
    session = new_session()
    model.script = [Say(SAID), Say(SAID)]
    first, then = await chat(taught, session, QUESTION, "Which stop categories are left out?")
    asked, followed = model.seen
    # The configuration,
    assert (asked["model"], asked["temperature"]) == ("gpt-4o-mini", 0.0)
    # the tool,
    assert [tool["function"]["name"] for tool in asked["tools"]] == [TOOL]
    # its response, from which the question is answered,
    found = json.loads(asked["messages"][-1]["content"])
    assert set(found) == {"results", "total_results", "query", "error"}
    assert "category 0 or 1" in found["results"][0]["chunk_text"]
    # and the state of the conversation, in which the second question is asked.
    assert followed["messages"][1]["content"] == QUESTION
    assert (await taught.conversations.history(session)).thread.turn_count == 2
    for response in (first, then):
        assert response.should_answer
        [citation] = response.citations
        assert citation.page_title == "Perceive, Plan, Act: the Loop and Its Safety"
        assert citation.section_title == "Emergency stops and stop categories"
        assert "category 0 or 1" in citation.quote
