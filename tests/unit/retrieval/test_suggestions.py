"""First questions made from a book: grammatical, different, and spread over it. Pure."""

import pytest

from askbook.retrieval.suggestions import LONGEST, suggest
from sample_chunks import make_chunk


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("A **node** is one participant with one job.", "What is a node?"),
        ("An emergency stop is a circuit that a person can trigger.", "What is an emergency stop?"),
        (
            "The **real-time factor** (RTF) is simulated time by wall time.",
            "What is the real-time factor?",
        ),
        ("**Xacro** is a macro language.", "What is Xacro?"),
        ("**Links** are rigid parts.", "What are links?"),
        ("**Physical AI** is software that acts.", "What is Physical AI?"),
    ],
)
def test_a_definition_answers_a_question(text: str, question: str) -> None:
    assert suggest([make_chunk(text)]) == (question,)


@pytest.mark.parametrize(
    "text",
    [
        "This is a timer.",
        "The input is the camera image.",
        "```\nA node is one participant.\n```",
        "The result of this is a crash.",
        "Nodes talk to each other.",
    ],
)
def test_what_says_too_little_is_not_asked(text: str) -> None:
    assert suggest([make_chunk(text)]) == ()


def test_headings_that_ask_are_taken_as_they_are() -> None:
    chunks = [
        make_chunk("One is the first.", section_title="Why do robots fall?"),
        make_chunk("Two comes after one.", section_title="How to write a launch file"),
        make_chunk("Three comes after two.", section_title="What it means"),
        make_chunk("Four comes after three.", section_title="Further reading"),
    ]
    assert suggest(chunks) == ("Why do robots fall?", "How to write a launch file?")


def test_modules_take_turns_and_nothing_is_asked_twice() -> None:
    chunks = [
        make_chunk(f"A **{name}** is a part.", module=module, lesson=lesson)
        for lesson, (module, name) in enumerate(
            [("one", "wheel"), ("one", "gear"), ("two", "lidar"), ("two", "wheel")]
        )
    ]
    assert suggest(chunks) == ("What is a wheel?", "What is a lidar?", "What is a gear?")


def test_long_questions_are_left_out() -> None:
    assert (
        suggest([make_chunk("Robots fall over.", section_title=f"Why {'very ' * LONGEST}long?")])
        == ()
    )
