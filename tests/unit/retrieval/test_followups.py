"""What a follow-up leaves out, taken from earlier questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.followups import carried_words, follow_up, is_elliptical, rewritten
from askbook.retrieval.history import Message
from askbook.retrieval.pointing import LONGEST_WORD, WORDS
from askbook.retrieval.terms import content_terms


def said(*questions: str, answer: str = "An answer about penguins.") -> list[Message]:
    """Earlier questions, each with its answer."""
    return [
        message
        for question in questions
        for message in (
            Message(role="user", content=question),
            Message(role="assistant", content=answer),
        )
    ]


def test_a_first_question_stays_as_it_is() -> None:
    assert follow_up("What is a lidar?", []) is None


def test_a_follow_up_carries_what_the_earlier_question_was_about() -> None:
    followed = follow_up("And the price?", said("Where is the lidar driver?"))
    assert followed is not None
    assert followed.text == "And the price? lidar driver"
    assert followed.asked is None


def test_a_question_that_says_it_is_searched_after_the_one_it_leans_on() -> None:
    history = said("What is a gearbox?", "Where is the lidar driver?")
    followed = follow_up("And how do I start it?", history)
    assert followed is not None
    assert followed.text == "Where is the lidar driver? And how do I start it?"
    assert followed.asked == "And how do I start lidar driver?"


def test_a_question_that_somebody_made_complete_is_the_one_to_answer() -> None:
    assert rewritten("How do I start the lidar?").asked == "How do I start the lidar?"


def test_the_newest_question_comes_first_and_answers_are_not_read() -> None:
    history = said("What is Gazebo?", "How does SLAM use odometry?")
    assert carried_words("Why?", history) == ["SLAM", "odometry", "Gazebo"]


def test_words_the_question_repeats_are_not_carried() -> None:
    history = said("Which topics carry messages?")
    assert carried_words("What is a topic's message rate?", history) == ["carry"]


def test_nothing_is_carried_when_the_question_says_it_all_again() -> None:
    assert follow_up("Where is the lidar driver?", said("Where is the lidar driver?")) is None


def test_only_the_last_three_questions_count() -> None:
    history = said("penguins", "gears", "motors", "sensors")
    assert carried_words("Why?", history) == ["sensors", "motors", "gears"]


def test_a_question_that_says_enough_looks_less_far_back() -> None:
    history = said("penguins", "gears", "motors")
    assert carried_words("Which graphics card fits?", history) == ["motors", "gears"]


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Why does it drift?", "Why does odometry drift?"),
        ("How does it work?", "What is odometry? How does it work?"),
        ("And why does it matter?", "What is odometry?"),
    ],
)
def test_what_any_subject_may_be_asked_is_looked_for_as_the_subject(
    question: str, asked: str
) -> None:
    followed = follow_up(question, [Message(role="user", content="What is odometry?")])
    assert followed is not None
    assert followed.text == f"What is odometry? {question}"
    assert followed.asked == asked


def test_an_item_is_looked_for_with_the_question_that_listed_it() -> None:
    table = "| Category | Power |\n|---|---|\n| 0 | removed [1] |\n| 1 | stays [1] |"
    history = [
        Message(role="user", content="What are the stop categories?"),
        Message(role="assistant", content=table),
    ]
    followed = follow_up("What does the second one mean?", history)
    assert followed is not None
    assert followed.asked == "What does Category 1 mean?"
    assert followed.text == "What are the stop categories? What does Category 1 mean?"


def test_a_reader_who_says_only_yes_asked_nothing() -> None:
    history = said("penguins", "gears", "Yes.", "motors", "No, not that one.")
    assert carried_words("Why?", history) == ["motors", "gears", "penguins"]


@pytest.mark.parametrize("question", ["Tell me more", "And the second one?", "Why?", "What is it?"])
def test_a_question_with_few_words_of_its_own_leans_on_the_earlier_ones(question: str) -> None:
    assert is_elliptical(question)
    followed = follow_up(question, said("How does SLAM use odometry?"))
    assert followed is not None
    assert followed.weight > 1.0


def test_a_question_that_stands_alone_counts_as_much_as_the_follow_up() -> None:
    question = "Which graphics card does Isaac Sim need?"
    assert not is_elliptical(question)
    followed = follow_up(question, said("How does SLAM use odometry?"))
    assert followed is not None
    assert followed.weight == 1.0


@given(st.text(min_size=1, max_size=200), st.lists(st.text(min_size=1, max_size=400), max_size=6))
def test_few_short_and_new_words_are_carried(question: str, earlier: list[str]) -> None:
    history = [Message(role="user", content=text) for text in earlier if text.strip()]
    carried = carried_words(question, history)
    assert len(carried) <= WORDS
    assert all(len(word) <= LONGEST_WORD for word in carried)
    assert not set(content_terms(" ".join(carried))) & set(content_terms(question))
