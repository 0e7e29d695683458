"""An exercise is no answer, but the lesson that sets it teaches what it asks for."""

from dataclasses import replace

import pytest

from askbook.agent.scoring import place_units, score_units, signs_of
from askbook.agent.tasks import lessons_that_ask, sets_a_task
from askbook.retrieval.context import RetrievalContext
from sample_chunks import make_context, make_result

QUESTION = "Why can't one photo give the absolute position of a fruit?"
TASK = "Explain why one photo cannot give the absolute position of a fruit."
TAUGHT = "Every point of a ray falls on the same pixel."
OTHER = "A photo of a fruit is stored as a file."


def context_of(question: str) -> RetrievalContext:
    """The lesson with the exercise first, others between it and where the same lesson teaches."""
    results = (
        make_result(TASK, rank=1, lesson=2, section_title="10. Challenge Problem"),
        *(make_result(OTHER, rank=n, lesson=n + 1) for n in (2, 3, 4)),
        make_result(TAUGHT, rank=5, lesson=2, section_title="Rays"),
    )
    return replace(make_context(), query=question, results=results)


def test_the_lesson_that_sets_a_question_as_an_exercise_is_read_and_counts() -> None:
    context = context_of(QUESTION)
    assert lessons_that_ask(context) == {context.results[0].chunk.metadata.parent_doc_id}
    placed = place_units(context)
    signs = signs_of(context, placed)
    read = {p.unit.text: s["lesson"] for p, s in zip(placed, signs, strict=True)}
    assert (read[TAUGHT], read[OTHER]) == (1.0, 0.0)


@pytest.mark.parametrize(
    "question", ["How is a photo stored?", "Which exercise is about the position of a fruit?"]
)
def test_another_question_is_taught_by_no_exercise(question: str) -> None:
    context = context_of(question)
    assert not lessons_that_ask(context)
    assert TAUGHT not in {p.unit.text for p in place_units(context)}


async def test_the_exercise_itself_is_not_quoted() -> None:
    context = context_of(QUESTION)
    scored = await score_units(context, place_units(context), None)
    assert TASK not in {s.placed.unit.text for s in scored}


@pytest.mark.parametrize(
    ("text", "heading", "is_task"),
    [
        ("Then predict what number makes it unique.", "7. Interactive Demonstration", True),
        ("Using the figure, predict where the ray goes.", "Try It Yourself", True),
        ("Demonstrate the projection numerically.", "8. Coding Exercise", True),
        ("Demonstrate the projection numerically.", "Projection", False),
        ("The prediction falls on the same pixel.", "8. Coding Exercise", False),
    ],
)
def test_a_task_opens_with_what_to_do_under_a_heading_of_exercises(
    text: str, heading: str, is_task: bool
) -> None:
    assert sets_a_task(text, heading) == is_task
