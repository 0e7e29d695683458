"""Questions that ask what something is, and the sentences that introduce it."""

import pytest

from askbook.retrieval.definitions import (
    defines,
    defines_head,
    head_of,
    introduces,
    names_kind,
    term_asked_for,
)


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is a watchdog?", {"watchdog"}),
        ("define URDF", {"urdf"}),
        ("What does QoS mean?", {"qos"}),
        ("Why is a watchdog needed?", set()),
        ("What is the best way to mount a camera on an arm?", set()),
    ],
)
def test_the_term_a_question_wants_explained(question: str, term: set[str]) -> None:
    assert term_asked_for(question) == term


def test_the_head_is_the_last_word_of_a_longer_term() -> None:
    assert head_of("What is a ROS 2 topic?") == {"topic"}
    assert head_of("What is a topic?") == frozenset()
    assert head_of("What is a default constructor?") == {"constructor"}
    assert head_of("What is the default integer type?") == frozenset()
    assert head_of("What's the maximum payload?") == frozenset()


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("A **topic** is a named channel.", True),
        ("Topics are named channels.", True),
        ("This channel is called a *topic*.", True),
        ("Each topic carries one message type.", False),
    ],
)
def test_a_sentence_defines_what_it_emphasises_or_opens_with(sentence: str, answer: bool) -> None:
    assert defines(sentence, frozenset({"topic"})) is answer


def test_a_head_stands_alone() -> None:
    head = frozenset({"topic"})
    assert defines("Gazebo topics are invisible to ROS.", head)
    assert not defines_head("Gazebo topics are invisible to ROS.", head)
    assert defines_head("A topic is a named channel.", head)


def test_nothing_asked_for_is_introduced_nowhere() -> None:
    nothing = frozenset[str]()
    assert not introduces("A topic is a channel.", "Topics", nothing)
    assert not defines("A topic is a channel.", nothing)
    assert not defines_head("A topic is a channel.", nothing)


def test_a_heading_introduces_what_it_names() -> None:
    term = frozenset({"watchdog"})
    assert introduces("It keeps a timer.", "Watchdogs", term)
    assert not introduces("It keeps a timer.", "Timers, watchdogs, limits and other ways out", term)


def test_a_sentence_that_sets_a_kind_apart_tells_what_it_is() -> None:
    sentence = "Joints are *revolute* (they turn) or *prismatic* (they slide)."
    term, head = term_asked_for("What is a prismatic joint?"), head_of("What is a prismatic joint?")
    assert names_kind(sentence, term, head)
    assert not names_kind("A *prismatic* lens bends light.", term, head)
    assert not names_kind("Joints are revolute or prismatic.", term, head)
    assert not names_kind(sentence, term_asked_for("What is a joint?"), head_of("What is a joint?"))
