"""Questions that only point are read as the question they stand for."""

import pytest

from askbook.retrieval.history import Message
from askbook.retrieval.pointing import asks_for_more, only_greets, read_as, with_it_named

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


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Where does it run?", "Where does watchdog run?"),
        ("What is its limit?", "What is watchdog limit?"),
        ("Which one is faster?", "Which watchdog is faster?"),
        ("Can that be raised?", "Can watchdog be raised?"),
        ("How does it work?", "How does watchdog work?"),
        ("how is it used?", "how is watchdog used?"),
        ("When should I use it?", "When should I use watchdog?"),
        ("and why does it matter?", "and why does watchdog matter?"),
        ("Why is that useful?", "Why is watchdog useful?"),
        ("Why?", "Why watchdog?"),
        ("How do I write one?", "How do I write watchdog?"),
    ],
)
def test_it_is_what_the_last_question_with_a_subject_was_about(question: str, asked: str) -> None:
    history = (*HISTORY, Message(role="user", content="What is a watchdog?"))
    assert read_as(question, history) == f"What is a watchdog? {question}"
    assert with_it_named(question, history) == asked


def test_questions_that_say_it_lead_back_to_the_one_with_a_subject() -> None:
    asked = ["What is a gearbox?", "What is a watchdog?", "What is its limit?", "Thanks!", "Yes."]
    history = [*HISTORY, *(Message(role="user", content=text) for text in asked)]
    read = "What is a watchdog? What is its limit? How do I raise it?"
    assert read_as("How do I raise it?", history) == read
    assert with_it_named("How do I raise it?", history) == "How do I raise watchdog?"


def test_it_after_a_pointer_is_what_the_pointer_meant() -> None:
    history = (*HISTORY, Message(role="user", content="What is the first one for?"))
    assert read_as("Is it fast?", history) == "What is Topics for? Is it fast?"


@pytest.mark.parametrize(
    "question",
    [
        "Does a lidar driver publish what it reads?",
        "Is this sensor a lidar?",
        "Is it possible to run Gazebo on a server?",
        "How long does it take to flash a Jetson?",
        "Does it matter which Jetson I take?",
        "Why is that node slow?",
        "Which node reads the lidar that publishes scans?",
        "Which one is faster, DDS or Zenoh?",
        "What happens in phase one?",
        "What is degree one?",
    ],
)
def test_an_it_inside_the_question_points_at_nothing_before(question: str) -> None:
    assert read_as(question, HISTORY) is None
    assert with_it_named(question, HISTORY) is None


def test_who_asks_to_hear_more_names_nothing() -> None:
    assert with_it_named("Tell me more about it.", HISTORY) is None
    assert with_it_named("What does the first one do?", HISTORY) is None


@pytest.mark.parametrize("question", ["no", "Yes.", "What is a node?", "What about C++?"])
def test_other_questions_are_left_alone(question: str) -> None:
    assert read_as(question, HISTORY) is None


def test_a_place_in_a_list_is_what_stands_there() -> None:
    asked = "Which tools does ROS 2 offer?"
    assert read_as("What is the first one for?", HISTORY) == f"{asked} What is Topics for?"
    assert read_as("And the last of them?", HISTORY) == f"{asked} And Services answer a question?"


def test_a_place_among_what_the_question_named_needs_no_other_words() -> None:
    history = (Message(role="user", content="What are the stop categories 0, 1 and 2?"),)
    assert read_as("What is the second one?", history) == "What is stop category 1?"


@pytest.mark.parametrize("text", ["ok thanks", "Hello!", "Thank you, great", "good morning"])
def test_who_greets_or_thanks_asks_nothing(text: str) -> None:
    assert only_greets(text)


@pytest.mark.parametrize(
    "text", ["Yes.", "no", "Why?", "Hi, what is a node?", "Tell me more", "ok"]
)
def test_other_messages_may_ask_something(text: str) -> None:
    assert not only_greets(text)


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
    assert read_as("Where does it run?", ()) is None
    assert with_it_named("Where does it run?", ()) is None


@pytest.mark.parametrize(
    "question",
    [
        "Tell me more.",
        "Tell me more about it.",
        "more?",
        "What else?",
        "Go on",
        "Can you elaborate?",
        "Can you say more about that?",
        "Explain that in more detail.",
    ],
)
def test_a_wish_for_more_is_recognised(question: str) -> None:
    assert asks_for_more(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is a node?",
        "How does it work?",
        "Is it more than 5?",
        "Which sensor needs more power than the lidar?",
        "Tell me more about how the wheel controller reads its parameters.",
    ],
)
def test_another_question_is_no_wish_for_more(question: str) -> None:
    assert not asks_for_more(question)
