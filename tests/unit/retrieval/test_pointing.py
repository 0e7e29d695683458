"""Questions that only point are read as the question they stand for."""

import pytest

from askbook.retrieval.history import Message
from askbook.retrieval.pointing import read_as

LIST = (
    "There are two: [1]\n\n- **Topics.** A stream of values. [1]\n- Services answer a question. [2]"
)
HISTORY = (
    Message(role="user", content="What is a real-time factor?"),
    Message(role="assistant", content="Simulated time by elapsed time. [1]"),
    Message(role="user", content="Which tools does ROS 2 offer?"),
    Message(role="assistant", content=LIST),
)


@pytest.mark.parametrize("question", ["Tell me more.", "Why?", "How does it work?", "Go on."])
def test_a_request_without_a_subject_is_about_the_last_question(question: str) -> None:
    assert read_as(question, HISTORY) == f"Which tools does ROS 2 offer? {question}"
    again = (*HISTORY, Message(role="user", content="Tell me more."))
    assert read_as(question, again) == f"Which tools does ROS 2 offer? {question}"


def test_a_last_question_that_leans_on_another_brings_it_along() -> None:
    history = (*HISTORY, Message(role="user", content="Are they fast?"))
    assert read_as("Why?", history) == "Which tools does ROS 2 offer? Are they fast? Why?"


@pytest.mark.parametrize("question", ["no", "Yes.", "What is a node?", "What about C++?"])
def test_other_questions_are_left_alone(question: str) -> None:
    assert read_as(question, HISTORY) is None


def test_a_place_in_a_list_is_what_stands_there() -> None:
    assert read_as("What is the first one for?", HISTORY) == "What is Topics for?"
    assert read_as("And the last of them?", HISTORY) == "And Services answer a question?"


@pytest.mark.parametrize(
    "question", ["What is the third one?", "What is the second argument?", "The second half?"]
)
def test_nothing_is_guessed(question: str) -> None:
    assert read_as(question, HISTORY) is None


def test_a_list_counts_only_in_the_last_answer() -> None:
    later = (
        *HISTORY,
        Message(role="user", content="What is a node?"),
        Message(role="assistant", content="A program. [1]"),
    )
    assert read_as("What does the second one do?", later) is None


def test_without_a_history_there_is_nothing_to_point_at() -> None:
    assert read_as("Tell me more.", ()) is None
    assert read_as("The second one?", ()) is None
