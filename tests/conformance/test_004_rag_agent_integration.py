"""Document 004: a query, what it retrieved, the response, and the states between."""

import itertools
from typing import Any, get_args

import httpx
import pytest

from askbook.bootstrap import Askbook, Scope
from askbook.chat import Turn, TurnState
from askbook.errors import IllegalTransition, InvalidInput
from sample_chunks import make_context

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Which stop categories may an emergency stop have?"
FOREIGN = "What is the capital of Australia?"
MODULES = ("intro", "ros2", "simulation", "isaac", "vla")


@pytest.mark.spec("E1", "E2")
@pytest.mark.parametrize("text", ["", " ", "\n\t "])
async def test_a_query_must_say_something(askbook: Askbook, text: str) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        await askbook.ask(text)
    with pytest.raises(InvalidInput, match="empty"):
        await askbook.search(text)


@pytest.mark.spec("E3", "E4", "E42")
async def test_top_k_is_five_and_goes_from_one_to_a_hundred(askbook: Askbook) -> None:
    assert (await askbook.search(QUESTION))[1].total_found == 5
    for top_k in (1, 100):
        _, context = await askbook.search(QUESTION, top_k=top_k, mode="dense")
        assert context.total_found == min(top_k, await askbook.index.count())
    for top_k in (0, 101, -3):
        with pytest.raises(InvalidInput, match="between 1 and 100"):
            await askbook.search(QUESTION, top_k=top_k)


@pytest.mark.spec("E5", "E8")
@pytest.mark.parametrize("module", MODULES)
async def test_the_five_modules_can_be_asked_for(askbook: Askbook, module: str) -> None:
    _, context = await askbook.search(QUESTION, Scope(module=module), top_k=20)
    assert {result.chunk.metadata.module for result in context.results} == {module}


@pytest.mark.spec("E5")
@pytest.mark.parametrize("module", ["cooking", "", "ros3"])
async def test_other_modules_are_refused(askbook: Askbook, module: str) -> None:
    with pytest.raises(InvalidInput, match="intro, ros2, simulation, isaac, vla"):
        await askbook.search(QUESTION, Scope(module=module))


@pytest.mark.spec("E6", "E7", "E8", "E9")
async def test_a_result_has_its_text_score_page_module_and_position(
    client: httpx.AsyncClient, askbook: Askbook
) -> None:
    body = {"text": QUESTION, "limit": 20}
    results = (await client.post("/search", json=body)).json()["results"]
    for result in results:
        assert result["text"]
        assert 0.0 <= result["score"] <= 1.0
        assert result["page_title"]
        assert result["url"]
        assert result["module"] in MODULES
        found = await askbook.library.lesson(
            "physical-ai-robotics", source_file=result["source_file"]
        )
        assert found is not None
        assert found[1][result["chunk_index"]].id == result["chunk_id"]


@pytest.mark.spec("E10", "E11", "E12")
async def test_a_context_counts_what_it_returns_and_its_time(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=7)
    assert context.query == QUESTION
    assert context.total_found == len(context.results) == 7
    assert context.query_time_ms > 0


@pytest.mark.spec("E10", "E13", "E14")
@pytest.mark.parametrize(
    ("scores", "relevant"),
    [((0.3,), True), ((0.9, 0.1), True), ((0.29, 0.1), False), ((), False)],
)
async def test_relevant_is_three_tenths_or_more(scores: tuple[float, ...], relevant: bool) -> None:
    assert make_context(scores).has_relevant_results is relevant


@pytest.mark.spec("E15", "E16", "E17", "E18")
async def test_citations_come_from_the_results_that_were_used(askbook: Askbook) -> None:
    response = await askbook.ask(QUESTION)
    used = {source.chunk_id: source for source in response.sources}
    assert response.citations
    for citation in response.citations:
        source = used[citation.chunk_id]
        assert citation.page_title == source.page_title
        assert citation.page_url
        assert citation.module_name in MODULES
        assert citation.quote in source.text


@pytest.mark.spec("E19", "E20", "E21", "E27")
async def test_a_response_is_complete(askbook: Askbook) -> None:
    response = await askbook.ask(QUESTION)
    document: dict[str, Any] = response.to_json()
    assert "[1]" in document["answer"]
    assert document["citations"][0]["n"] == 1
    assert document["query"] == QUESTION
    assert document["error"] is None
    assert isinstance(document["confidence"], float)


@pytest.mark.spec("E19", "E22")
async def test_times_are_told_and_add_up(askbook: Askbook) -> None:
    response = await askbook.ask(QUESTION)
    assert response.retrieval_time_ms > 0
    assert response.generation_time_ms > 0
    assert response.total_time_ms >= response.retrieval_time_ms
    assert response.total_time_ms >= response.generation_time_ms


LEGAL = {
    ("pending", "retrieving"),
    ("pending", "error"),
    ("retrieving", "generating"),
    ("retrieving", "no_results"),
    ("retrieving", "error"),
    ("generating", "completed"),
    ("generating", "low_confidence"),
    ("generating", "error"),
}


@pytest.mark.spec("E28", "E29", "E30", "E31")
async def test_a_turn_takes_only_the_documented_steps() -> None:
    for before, after in itertools.product(get_args(TurnState), repeat=2):
        turn = Turn()
        turn.state = before
        if (before, after) in LEGAL:
            turn.to(after)
            assert turn.state == after
        else:
            with pytest.raises(IllegalTransition):
                turn.to(after)


@pytest.mark.spec("E31")
@pytest.mark.parametrize("state", ["error", "no_results", "completed", "low_confidence"])
async def test_some_states_are_the_end(state: TurnState) -> None:
    turn = Turn()
    turn.state = state
    assert turn.is_over


@pytest.mark.spec("E28", "E29", "E30")
async def test_a_turn_ends_in_the_state_it_earned(client: httpx.AsyncClient) -> None:
    async def ends(message: str) -> str:
        return (await client.post("/chat/run", json={"message": message})).json()["state"]

    assert await ends(QUESTION) in ("completed", "low_confidence")
    assert await ends(FOREIGN) == "no_results"


@pytest.mark.spec("E32", "E33")
async def test_retrieval_comes_first_and_alone_when_it_finds_nothing(askbook: Askbook) -> None:
    declined = await askbook.ask(FOREIGN)
    assert declined.retrieval_time_ms > 0
    assert declined.retrieval_count == 5
    assert declined.generation_time_ms == 0.0
    answered = await askbook.ask(QUESTION)
    assert answered.retrieval_time_ms + answered.generation_time_ms <= answered.total_time_ms + 1


async def test_what_is_not_in_the_book_is_said_to_be_so(askbook: Askbook) -> None:
    response = await askbook.ask(FOREIGN)
    assert response.answer == "I couldn't find that information in the book."
