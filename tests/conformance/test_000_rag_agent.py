"""Document 000: conversations, what a question found, the response made of it, and the settings of all this.

What of a conversation a model is sent stands in `test_001_messages.py`.
"""

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from askbook.bootstrap import Askbook, Scope
from askbook.chat import response_of
from askbook.config import describe_settings, load_settings
from askbook.errors import ConfigurationError, InvalidInput
from openai_chat_server import ChatServer, Say
from sample_chunks import make_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Which stop categories may an emergency stop have?"
FOREIGN = "What is the capital of Australia?"


async def say(client: httpx.AsyncClient, message: str, session: str | None = None) -> str:
    """Ask in a session, or in a new one; the session."""
    body = {"message": message} | ({"session_id": session} if session else {})
    response = await client.post("/chat/run", json=body)
    assert response.status_code == 200, response.text
    return response.json()["session_id"]


async def history_of(client: httpx.AsyncClient, session: str) -> dict[str, Any]:
    return (await client.get(f"/session/{session}/history")).json()


@pytest.mark.spec("A10", "A12")
async def test_every_conversation_has_an_id_of_its_own_and_knows_when_it_began(
    client: httpx.AsyncClient,
) -> None:
    before = datetime.now(UTC)
    first, second = await say(client, QUESTION), await say(client, QUESTION)
    assert first != second
    assert {uuid.UUID(session).version for session in (first, second)} == {4}
    began = [
        datetime.fromisoformat((await history_of(client, session))["created_at"])
        for session in (first, second)
    ]
    assert before <= began[0] < began[1] <= datetime.now(UTC)
    await say(client, FOREIGN, first)
    later = await history_of(client, first)
    assert datetime.fromisoformat(later["created_at"]) == began[0]


# As reconciled: a question and its answer are appended together, so that no turn is kept by half.
@pytest.mark.spec("A11", "A14")
async def test_messages_are_kept_in_order_and_new_ones_come_last(
    client: httpx.AsyncClient,
) -> None:
    session = await say(client, QUESTION)
    for question in (FOREIGN, "What is a ROS 2 topic?"):
        earlier = (await history_of(client, session))["messages"]
        await say(client, question, session)
        messages = (await history_of(client, session))["messages"]
        assert messages[:-2] == earlier
        assert [m["role"] for m in messages[-2:]] == ["user", "assistant"]
        assert messages[-2]["content"] == question
    times = [datetime.fromisoformat(m["timestamp"]) for m in messages]
    assert times == sorted(times)


@pytest.mark.spec("A31", "A50")
async def test_each_question_has_one_retrieval_its_results_and_one_response(
    askbook: Askbook,
) -> None:
    session, asked = str(uuid.uuid4()), (QUESTION, FOREIGN, QUESTION)
    responses = [await response_of(askbook.converse(q, session)) for q in asked]
    history = await askbook.conversations.history(session)
    assert [m.content for m in history.messages if m.role == "user"] == list(asked)
    answers = [m for m in history.messages if m.role == "assistant"]
    assert [m.content for m in answers] == [r.answer for r in responses]
    # Equal questions have retrievals of their own.
    assert [len(m.tool_calls or ()) for m in answers] == [1, 1, 1]
    looked = history.retrieval_history
    assert [(r.query, r.results_count) for r in looked] == [(q, 5) for q in asked]
    assert [r.timestamp for r in looked] == [
        m.timestamp for m in history.messages if m.role == "user"
    ]
    assert [(r.query, r.retrieval_count) for r in responses] == [(q, 5) for q in asked]


@pytest.mark.spec("A21", "A22", "A23")
async def test_a_context_keeps_the_question_its_results_and_when(askbook: Askbook) -> None:
    before = datetime.now(UTC)
    _, context = await askbook.search(QUESTION, top_k=4)
    assert context.query == QUESTION
    assert len(context.results) == context.total_found == 4
    assert before <= context.retrieved_at <= datetime.now(UTC)


@pytest.mark.spec("A24")
async def test_a_context_tells_the_filter_that_was_applied(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, Scope(module="intro", chapter_max=3))
    assert context.filter_applied is not None
    assert "module:intro" in context.filter_applied
    assert "chapter_max:3" in context.filter_applied
    assert make_context().filter_applied is None


@pytest.mark.spec("A25", "A29")
async def test_nothing_found_has_its_own_words_and_no_footer(askbook: Askbook) -> None:
    _, context = await askbook.search("xyzzyqwert", mode="sparse")
    assert context.results == ()
    assert context.format_for_agent() == "No relevant content found in the book."
    assert context.format_sources_footer() == ""


@pytest.mark.spec("A26", "A27", "A28")
async def test_the_agent_sees_numbered_sources(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=3)
    expected: list[str] = []
    for number, result in enumerate(context.results, 1):
        expected.append(f"[{number}] Source: {result.url}")
        expected.append(f"    Score: {result.score:.2f}")
        expected.append(f"    Content: {result.text}")
        expected.append("")
    assert context.format_for_agent() == "\n".join(expected)
    rounded = make_context((0.666, 1.0)).format_for_agent()
    assert re.findall(r"Score: (\S+)", rounded) == ["0.67", "1.00"]


@pytest.mark.spec("A30")
async def test_the_footer_lists_the_sources_in_result_order(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=3)
    lines = context.format_sources_footer().split("\n")
    assert lines[:3] == ["", "---", "**Sources:**"]
    assert lines[3:] == [
        f"[{n}] {r.url} (score: {r.score:.2f})" for n, r in enumerate(context.results, 1)
    ]


@pytest.mark.spec("A32")
async def test_a_response_always_says_something(askbook: Askbook) -> None:
    for question in (QUESTION, FOREIGN):
        assert (await askbook.ask(question)).answer.strip()
    answered = await askbook.ask(QUESTION)
    with pytest.raises(InvalidInput):
        replace(answered, answer=" ")


@pytest.mark.spec("A33", "A37")
async def test_sources_are_what_was_cited_and_the_count_what_was_retrieved(
    askbook: Askbook,
) -> None:
    response = await askbook.ask(QUESTION, top_k=5)
    assert response.sources
    assert {s.chunk_id for s in response.sources} == {c.chunk_id for c in response.citations}
    assert response.retrieval_count == 5
    assert len(response.sources) <= 5


@pytest.mark.spec("A34", "A39")
async def test_without_sources_the_text_is_left_as_it_is(askbook: Askbook) -> None:
    response = await askbook.ask(FOREIGN)
    assert response.sources == ()
    assert response.format_with_sources() == response.answer


@pytest.mark.spec("A35", "A36", "A38")
async def test_a_response_names_its_model_its_cost_and_its_time(askbook: Askbook) -> None:
    before = datetime.now(UTC)
    response = await askbook.ask(QUESTION)
    assert response.model == "extractive"
    assert response.tokens_used == 0
    assert before <= response.created_at <= datetime.now(UTC)
    with pytest.raises(InvalidInput):
        replace(response, tokens_used=-1)


@pytest.mark.spec("A40")
async def test_sources_follow_the_text_below_a_blank_line_and_a_rule(askbook: Askbook) -> None:
    response = await askbook.ask(QUESTION)
    footer = "\n".join(
        ["", "---", "**Sources:**"]
        + [f"[{n}] {s.url} (score: {s.score:.2f})" for n, s in enumerate(response.sources, 1)]
    )
    assert response.format_with_sources() == f"{response.answer}\n{footer}"


@pytest.mark.spec("A43")
async def test_the_number_of_chunks_is_five_or_what_the_environment_says(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        assert (await mine.ask(QUESTION)).retrieval_count == 5
    monkeypatch.setenv("AGENT_TOP_K", "3")
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        assert (await mine.ask(QUESTION)).retrieval_count == 3


@pytest.mark.spec("A46")
@pytest.mark.parametrize(
    ("name", "value"), [("AGENT_TOP_K", "five"), ("AGENT_SCORE_THRESHOLD", "high")]
)
async def test_malformed_numbers_in_the_environment_raise(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"{name} = '{value}'"):
        load_settings()


# The key is required where a model is to answer; without it, and without another server, the book is quoted.
@pytest.mark.spec("A41", "B9")
async def test_with_a_key_of_the_environment_the_model_answers_and_without_one_the_book(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        assert mine.turns.model_name == "extractive"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        assert mine.turns.model_name == "gpt-4o-mini"
    with ChatServer(Say("An emergency stop must be category 0 or 1. [1]")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        async with Askbook(load_settings(data_dir=data_dir)) as mine:
            response = await mine.ask(QUESTION)
    assert server.credentials == ["Bearer sk-of-the-environment"]
    assert (response.model, response.tokens_used) == ("gpt-4o-mini", 120)


# As reconciled: the threshold cuts on relevance.
@pytest.mark.spec("A44")
async def test_all_chunks_are_accepted_unless_the_environment_asks_for_better_ones(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().retrieval.score_threshold == 0.0
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        _, found = await mine.search(QUESTION)
    relevances = sorted(result.relevance for result in found.results)
    assert len(relevances) == 5
    least = (relevances[0] + relevances[-1]) / 2
    monkeypatch.setenv("AGENT_SCORE_THRESHOLD", str(least))
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        _, better = await mine.search(QUESTION)
    assert 0 < better.total_found < 5
    assert all(result.relevance >= least for result in better.results)


@pytest.mark.spec("A47")
async def test_the_agent_s_settings_are_part_of_the_one_settings_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "OPENAI_MODEL": "gpt-4-turbo",
        "AGENT_TOP_K": 7,
        "AGENT_SCORE_THRESHOLD": 0.2,
        "AGENT_MAX_TURNS": 9,
        "QDRANT_COLLECTION_NAME": "robots",
        "COHERE_MODEL": "embed-multilingual-v3.0",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, str(value))
    described = describe_settings(load_settings())
    assert {name: described[name] for name in given} == given
    assert {"OPENAI_API_KEY", "QDRANT_URL", "COHERE_API_KEY"} <= described.keys()
