"""Words that point at one of several things are replaced by what they point at."""

import time

import pytest

from askbook.retrieval.history import Message
from askbook.retrieval.items import points_at_an_item, unclear_pointer, with_item_named


def said(*messages: str) -> list[Message]:
    """A dialogue: questions and answers in turn."""
    roles = ("user", "assistant")
    return [Message(role=roles[number % 2], content=text) for number, text in enumerate(messages)]


CATEGORIES = said(
    "What are the stop categories 0, 1 and 2?", "An emergency stop has category 0. [1]"
)
FORMATS = said("Which one can describe lights, URDF or SDF?", "SDF describes entire scenes. [1]")


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What does the second one do?", "What does stop category 1 do?"),
        ("And the third?", "And stop category 2?"),
        ("When do I need the last of them?", "When do I need stop category 2?"),
        ("Is the first option safe?", "Is stop category 0 safe?"),
    ],
)
def test_a_place_is_the_item_that_stands_there(question: str, read: str) -> None:
    assert with_item_named(question, CATEGORIES) == read


def test_places_up_to_the_tenth_are_known() -> None:
    names = [f"step {letter}" for letter in "BCDEFGHJKL"]
    history = said("How do I start?", "\n".join(f"{n}. {name}" for n, name in enumerate(names, 1)))
    assert with_item_named("What is the tenth one?", history) == "What is step L?"


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("Is the latter faster?", "Is SDF faster?"),
        ("What is the former for?", "What is URDF for?"),
        ("What do both of them describe?", "What do URDF and SDF describe?"),
        ("Can I use them both?", "Can I use URDF and SDF?"),
    ],
)
def test_words_for_two_mean_one_or_both_of_two(question: str, read: str) -> None:
    assert with_item_named(question, FORMATS) == read


def test_words_for_two_mean_nothing_among_three() -> None:
    assert with_item_named("Is the latter safe?", CATEGORIES) is None
    assert with_item_named("Are both of them safe?", CATEGORIES) is None


@pytest.mark.parametrize("named", ["Is the former a tree?", "Is URDF a tree?"])
def test_the_other_one_is_the_one_not_spoken_of(named: str) -> None:
    history = [*FORMATS, *said(named, "URDF describes one robot as a tree. [1]")]
    assert with_item_named("And the other one?", history) == "And SDF?"


def test_without_one_spoken_of_there_is_no_other() -> None:
    assert with_item_named("And the other one?", FORMATS) is None


def test_a_pointer_after_a_pointer_means_the_same_enumeration() -> None:
    history = [*CATEGORIES, *said("What does the second one do?", "- It waits.\n- Then it stops.")]
    assert with_item_named("And the first one?", history) == "And stop category 0?"
    history += said("Tell me more.", "Power is removed after standstill. [1]")
    assert with_item_named("And the third one?", history) == "And stop category 2?"


def test_a_change_of_the_subject_ends_an_enumeration() -> None:
    history = [*CATEGORIES, *said("What is a gearbox?", "It trades speed for torque. [1]")]
    assert with_item_named("What does the second one do?", history) is None


def test_a_list_in_the_answer_comes_before_two_things_in_the_question() -> None:
    answer = "- **Topics** flow. [1]\n- **Services** answer. [1]"
    history = said("What do ROS and Gazebo offer?", answer)
    assert with_item_named("What is the second one?", history) == "What is Services?"


def test_a_question_about_three_things_comes_before_an_answer_that_lists_two() -> None:
    answer = "| Category | Power |\n|---|---|\n| 1 | removed [1] |\n| 2 | stays [1] |"
    history = said("What are the stop categories 0, 1 and 2?", answer)
    assert with_item_named("And the second one?", history) == "And stop category 1?"


def test_a_sentence_of_the_answer_names_the_items_where_nothing_else_does() -> None:
    history = said("What can have a body?", "It may be an arm, a wheeled base or a drone. [1]")
    assert with_item_named("Does the last one fly?", history) == "Does drone fly?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the fourth one?",
        "What is the second argument?",
        "What is the other side?",
        "Is that the last resort?",
        "What is a gearbox?",
    ],
)
def test_other_questions_stay_as_they_are(question: str) -> None:
    assert with_item_named(question, CATEGORIES) is None


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("the second one", "the second one"),
        ("Tell me about the first of these.", "the first of these"),
        ("How fast is the latter?", "the latter"),
        ("And both of them?", "both of them"),
    ],
)
def test_words_that_point_at_nothing_are_told(question: str, words: str) -> None:
    nothing = said("What is an action?", "Under the surface it is no new mechanism. [1]")
    assert unclear_pointer(question, nothing) == words
    assert unclear_pointer(question, []) == words


@pytest.mark.parametrize(
    "question",
    [
        "What is an action?",
        "Which robot was the first one?",
        "Which robots were sold, and when was the first one built?",
        "When was the first one sold in Japan?",
        "What is the first law of robotics?",
        "What is the first point of a trajectory?",
        "What is the first item in the checklist?",
    ],
)
def test_a_question_that_says_what_it_means_is_clear(question: str) -> None:
    assert unclear_pointer(question, []) is None


def test_what_was_listed_is_clear_as_far_as_it_goes() -> None:
    assert unclear_pointer("And the third one?", CATEGORIES) is None
    assert unclear_pointer("And the fifth one?", CATEGORIES) == "the fifth one"


def test_a_point_of_something_else_is_none_of_a_list() -> None:
    assert with_item_named("What is the second point of failure?", CATEGORIES) is None
    named = with_item_named("What is the second point of your list?", CATEGORIES)
    assert named == "What is stop category 1 of your list?"


def test_a_long_chain_of_pointers_takes_no_time() -> None:
    history = [*FORMATS, *said(*["And the other one?", "No. [1]"] * 200)]
    started = time.process_time()
    assert with_item_named("And the other one?", history) is None
    assert time.process_time() - started < 1.0


LISTED = (
    Message(role="user", content="Which tools does ROS 2 offer?"),
    Message(role="assistant", content="- Topics [1]\n- Services [1]\n- Actions [1]"),
)


@pytest.mark.parametrize(
    "question",
    [
        "What is the third option in Nav2?",
        "What does the second item on the safety checklist say?",
        "What is the first point from a lidar?",
    ],
)
def test_what_names_its_own_place_is_one_of_no_list(question: str) -> None:
    assert with_item_named(question, LISTED) is None
    assert not points_at_an_item(question)


@pytest.mark.parametrize(
    ("question", "read"),
    [
        ("What is the third option?", "What is Actions?"),
        ("Explain the third option in more detail.", "Explain Actions in more detail."),
        ("What is the second item on the list?", "What is Services on the list?"),
        ("And the second point in your answer?", "And Services in your answer?"),
        ("How is the third one in Nav2?", "How is Actions in Nav2?"),
        ("Is the third option good for Nav2?", "Is Actions good for Nav2?"),
    ],
)
def test_a_bare_pointer_means_an_item_of_the_list(question: str, read: str) -> None:
    assert with_item_named(question, LISTED) == read
