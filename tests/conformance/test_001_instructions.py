"""Document 001, the rules of the prompt: the model is told each of them, and one that breaks them is not believed."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from agents import InputGuardrailTripwireTriggered, Runner
from agents.testing import ScriptedModel, assistant_message

from agent_turns import ARM, BOOK, CONTROLLER, QUERY, QUESTION, Shelf, search_for, turns_with
from askbook.agent.definition import Turn, book_agent, run_config
from askbook.agent.response import AgentResponse
from askbook.agent.sources import Sources
from askbook.agent.tools import RetrievalTool
from askbook.api.answers import render_answer
from askbook.book import Book
from askbook.config import ModelSettings
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchQuery
from sample_chunks import make_result

TRUE = "The Falcon arm lifts at most 5 kg at full reach [1]."
TOLD = "The Falcon arm lifts at most 5 kg at full reach. [1]"
ALSO_TRUE = "The controller of the arm runs at 500 Hz [2]."


class Chapters(Shelf):
    """A searcher that knows a passage of each of two chapters."""

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        arm: dict[str, Any] = {"page_title": "Chapter 1: The arm", "section_title": "Strength"}
        control: dict[str, Any] = {"page_title": "Chapter 2: Control", "section_title": "Rates"}
        return RetrievalContext(
            query=query.text,
            results=(
                make_result(ARM, rank=1, lesson=1, **arm),
                make_result(CONTROLLER, rank=2, lesson=2, **control),
            ),
            query_time_ms=1.0,
        )


async def ask(*script: Any, book: Book = BOOK, **given: Any) -> tuple[AgentResponse, ScriptedModel]:
    history = given.pop("history", ())
    turns, model = turns_with(script, **given)
    return await turns.answer(QUERY, book, history=history), model


def rule(model: ScriptedModel, about: str) -> str:
    """The one rule about something, of those the model was given."""
    lines = (model.calls[0].system_instructions or "").splitlines()
    [found] = [line for line in lines if line.startswith("- ") and about in line]
    return found


@pytest.mark.spec("B5")
async def test_the_model_always_has_instructions_made_for_the_book() -> None:
    _, model = await ask(TRUE)
    written = model.calls[0].system_instructions or ""
    assert written.startswith(f"You are the tutor of one book, “{BOOK.title}”.")
    assert len(re.findall(r"^- ", written, re.MULTILINE)) >= 10
    assert re.findall(r"\{\w+\}", written) == []


@pytest.mark.spec("B11")
async def test_the_book_is_searched_before_every_answer() -> None:
    _, model = await ask(TRUE)
    assert "Before every answer" in rule(model, "`retrieve_documentation`")
    call, found = model.calls[0].input[-2:]
    assert (call["type"], call["name"]) == ("function_call", "retrieve_documentation")
    assert (found["type"], found["call_id"]) == ("function_call_output", call["call_id"])
    assert json.loads(found["output"])["total_results"] == 2


@pytest.mark.spec("B11")
async def test_a_model_is_not_even_asked_where_nothing_was_searched() -> None:
    model = ScriptedModel([[assistant_message(TRUE)]])
    agent = book_agent(model, ModelSettings(), "Answer.")  # pyright: ignore[reportCallIssue]  # from the environment
    shelf: Any = Shelf()
    turn = Turn(RetrievalTool(shelf, QUERY, Sources(BOOK), max_calls=1), ())
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(agent, QUESTION, context=turn, run_config=run_config())
    assert model.calls == ()


@pytest.mark.spec("B12")
async def test_only_what_was_retrieved_counts() -> None:
    # The book says so, but in no chunk that was retrieved.
    elsewhere = "The gripper closes in 0.4 seconds [1]."
    response, model = await ask(f"{TRUE} {elsewhere} {ALSO_TRUE}", elsewhere)
    assert "only information from the retrieved chunks" in rule(model, "retrieved chunks")
    assert "gripper" not in response.answer
    assert "500 Hz" in response.answer
    looked, _ = await ask(search_for("gripper"), "The gripper closes in 0.4 seconds [3].")
    assert looked.answer == "The gripper closes in 0.4 seconds. [3]"


@pytest.mark.spec("B14")
@pytest.mark.parametrize(
    "invented",
    [
        "The word robot was first used by Karel Čapek in 1920 [1].",
        "The Falcon arm probably also lifts 8 kg for a short time [1].",
        "The controller of the arm was written in Rust [2].",
    ],
)
async def test_nothing_else_is_known_assumed_or_invented(invented: str) -> None:
    response, model = await ask(invented, invented)
    assert "Never use other knowledge, assume, or invent" in rule(model, "other knowledge")
    assert (response.answer, response.should_answer) == (BOOK.refusal, False)
    assert (response.citations, response.sources) == ((), ())


# The document's own sentence yields to the book's.
@pytest.mark.spec("B13")
@pytest.mark.parametrize("refusal", [BOOK.refusal, "This book is silent about that."])
async def test_what_the_chunks_do_not_say_is_declined_in_the_book_s_words(refusal: str) -> None:
    book = replace(BOOK, refusal=refusal)
    for said in (refusal, "I don't have information about that in the book content."):
        response, model = await ask(said, book=book)
        asked_for = rule(model, "exactly this sentence")
        assert asked_for.startswith("- When the chunks do not answer the question")
        assert asked_for.endswith(f": {refusal}")
        assert (response.answer, response.should_answer) == (refusal, False)
        assert response.sources == ()
    unasked, model = await ask(TRUE, book=book, probability=0.2)
    assert (unasked.answer, unasked.sources, model.calls) == (refusal, (), ())


@pytest.mark.spec("B15")
async def test_every_sentence_is_cited_with_its_page_and_section() -> None:
    response, model = await ask(
        f"{TRUE} The controller of the arm runs at 500 Hz.", shelf=Chapters()
    )
    cited = rule(model, "in square brackets")
    assert "End every sentence and every list item with the number of the chunk" in cited
    assert "page title, section and link are added for you" in cited
    # The second sentence came without a number: it is given the place that says it.
    assert response.answer == f"{TOLD} The controller of the arm runs at 500 Hz. [2]"
    assert [(c.page_title, c.section_title) for c in response.citations] == [
        ("Chapter 1: The arm", "Strength"),
        ("Chapter 2: Control", "Rates"),
    ]
    document = json.loads(model.calls[0].input[-1]["output"])
    assert [(r["page_title"], r["section_heading"]) for r in document["results"]] == [
        ("Chapter 1: The arm", "Strength"),
        ("Chapter 2: Control", "Rates"),
    ]


@pytest.mark.spec("B16")
async def test_a_follow_up_knows_what_was_said_and_may_search_again() -> None:
    said = (
        Message(role="user", content="How much can the Falcon arm lift?"),
        Message(role="assistant", content="At most 5 kg. [1]"),
    )
    shelf = Shelf()
    found = "The gripper closes in 0.4 seconds [3]."
    response, model = await ask(search_for("gripper"), found, history=said, shelf=shelf)
    assert "tell you what “it” or “the second one” means" in rule(model, "Earlier messages")
    assert "when a follow-up needs something new" in rule(model, "Search again")
    assert [item["content"] for item in model.calls[0].input[:2]] == [
        "How much can the Falcon arm lift?",
        "At most 5 kg.",
    ]
    assert [query.text for query in shelf.queries] == [QUESTION, "gripper"]
    assert response.answer == "The gripper closes in 0.4 seconds. [3]"
    # What was said is no source: a sentence that rests on it alone does not stand.
    rumour = (said[0], Message(role="assistant", content="The arm is painted blue."))
    told = "The arm is painted blue [1]."
    response, _ = await ask(told, told, history=rumour)
    assert response.answer == BOOK.refusal


@pytest.mark.spec("B17")
async def test_the_question_is_answered_directly() -> None:
    rambling = (
        "# About your question\n\nAs an AI language model I would love to help you today. "
        f"{TRUE} {ALSO_TRUE}"
    )
    response, model = await ask(rambling, "Nothing.")
    assert rule(model, "Answer the question").startswith("- Answer the question directly")
    assert response.answer == f"{TOLD} The controller of the arm runs at 500 Hz. [2]"


# "(from Chapter 2: Installation)" is how a number is rendered: the model writes [n] only.
@pytest.mark.spec("B18")
async def test_a_number_is_rendered_with_the_chapter_it_comes_from() -> None:
    response, model = await ask(f"{TRUE} {ALSO_TRUE}", shelf=Chapters())
    assert "Write no other citations" in rule(model, "in square brackets")
    shown = render_answer(response.answer, response.citations)
    assert re.findall(r'<a class="chip"[^>]* aria-label="Source (\d): ([^"]+)">\1</a>', shown) == [
        ("1", "Chapter 1: The arm › Strength"),
        ("2", "Chapter 2: Control › Rates"),
    ]
    assert "[" not in shown


@pytest.mark.spec("B19")
async def test_several_sources_are_all_listed() -> None:
    both = (
        "The Falcon arm lifts at most 5 kg at full reach and its controller runs at 500 Hz [1][2]."
    )
    response, model = await ask(both, shelf=Chapters())
    assert "Name all chunks that contribute" in rule(model, "in square brackets")
    assert response.answer.endswith("[1][2]")
    assert [c.page_title for c in response.citations] == [
        "Chapter 1: The arm",
        "Chapter 2: Control",
    ]
    assert [source.text for source in response.sources] == [ARM, CONTROLLER]
    footer = response.format_with_sources().partition("**Sources:**\n")[2]
    assert [line[:3] for line in footer.splitlines()] == ["[1]", "[2]"]
