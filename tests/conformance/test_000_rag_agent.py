"""Document 000: what a question found, and the response made of it."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from askbook.bootstrap import Askbook, Scope
from askbook.config import load_settings
from askbook.errors import ConfigurationError, InvalidInput
from sample_chunks import make_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Which stop categories may an emergency stop have?"
FOREIGN = "What is the capital of Australia?"


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
