"""Questions that ask what something is, and the sentences that introduce it."""

import pytest

from askbook.retrieval.abbreviations import Name, names_of
from askbook.retrieval.definitions import (
    defines,
    defines_exactly,
    defines_head,
    head_of,
    introduces,
    is_headed_by,
    is_headed_by_longer,
    names_asked_for,
    names_kind,
    term_asked_for,
)
from askbook.retrieval.terms import content_terms

TOPIC = [frozenset({"topic"})]
IMU = names_of(frozenset({"imu"}), ["an inertial measurement unit (IMU)"])


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is a watchdog?", {"watchdog"}),
        ("define URDF", {"urdf"}),
        ("What does QoS mean?", {"qos"}),
        ("What is the purpose of a watchdog?", {"watchdog"}),
        ("What's the meaning of QoS?", {"qos"}),
        ("What is the difference between a topic and a service?", set()),
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
    assert head_of("What are the advantages of chunking?") == frozenset()
    assert head_of("What is the purpose of a ROS 2 topic?") == {"topic"}


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between a topic and a service?", ["topic", "service"]),
        ("What's the difference between the topic and a service", ["topic", "service"]),
        ("Compare topics with services.", ["topic", "service"]),
        ("How does a topic differ from a service?", ["topic", "service"]),
        ("How are topics different from services?", ["topic", "service"]),
        ("What is a topic?", ["topic"]),
        ("Compare the topics.", []),
        ("Why is there a difference between what I see and what the robot sees?", []),
    ],
)
def test_a_comparison_asks_for_both_sides(question: str, sides: list[str]) -> None:
    wanted = [{frozenset(content_terms(side))} for side in sides]
    assert names_asked_for(question, []) == wanted


def test_what_letters_stand_for_is_told_only_where_they_are_spelled_out() -> None:
    spelled = ["an inertial measurement unit (IMU)"]
    assert names_asked_for("What does IMU stand for?", spelled) == [IMU]
    assert names_asked_for("What does IMU stand for?", ["An IMU is a sensor."]) == []
    assert names_asked_for("What does IMU mean?", ["An IMU is a sensor."]) == [{frozenset({"imu"})}]


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
    assert defines(sentence, TOPIC) is answer


@pytest.mark.parametrize(
    "sentence",
    [
        "A topic is a named channel.",
        "In ROS 2, a topic is a named channel.",
        "In ROS 2, a\ntopic is a named channel.",
        "Under the surface a topic is a set of sockets.",
        "Topics (named channels) are typed.",
        "This channel is called a *topic*.",
        "ROS’s topics are named channels.",
        "A topic, the simplest of the three ways, carries a stream.",
    ],
)
def test_the_very_term_may_stand_behind_something_else(sentence: str) -> None:
    assert defines_exactly(sentence, TOPIC)


@pytest.mark.parametrize(
    "sentence",
    [
        "Gazebo topics are invisible to ROS.",
        "The rate of a topic is fixed.",
        "A topic name is a path.",
        "Thinking a topic is slow costs time.",
        "Nodes, a topic and a service are in the graph.",
    ],
)
def test_a_longer_term_is_another_one(sentence: str) -> None:
    assert not defines_exactly(sentence, TOPIC)


@pytest.mark.parametrize(
    "sentence",
    [
        "A topic is not a file.",
        "Topics are **never** locked.",
        "A topic isn't a queue.",
        "A topic is therefore never the fastest way.",
    ],
)
def test_what_something_is_not_defines_nothing(sentence: str) -> None:
    assert not defines(sentence, TOPIC)


@pytest.mark.parametrize(
    "sentence",
    [
        "The wheel counts, an inertial measurement unit (IMU) reports angular velocity.",
        "An IMU (inertial measurement unit) reports angular velocity.",
        "An **inertial measurement unit** drifts.",
        "An IMU is a sensor.",
    ],
)
def test_an_abbreviation_and_what_it_stands_for_are_one_term(sentence: str) -> None:
    assert defines_exactly(sentence, IMU)
    assert introduces(f"Some sensors look inwards. {sentence}", "Sensors", IMU)


@pytest.mark.parametrize(
    "sentence",
    ["If the topic is full, wait.", "It waits when a topic is made.", "Say that a topic is on."],
)
def test_when_something_is_so_does_not_say_what_it_is(sentence: str) -> None:
    assert not defines(sentence, TOPIC)


def test_what_only_uses_an_abbreviation_does_not_define_it() -> None:
    assert not defines("Mount the IMU near the centre.", IMU)


@pytest.mark.parametrize("asked", ["what is rt-2", "What is RT-2?"])
def test_a_name_beside_its_kind_is_introduced_in_any_case(asked: str) -> None:
    sentence = "The model RT-2, published in 2023, describes an action by eight numbers."
    assert defines_exactly(sentence, [term_asked_for(asked)])


def test_a_heading_that_is_the_very_term() -> None:
    names = [frozenset({"kalman", "filter"})]
    assert is_headed_by("Kalman Filter", names)
    assert is_headed_by("The Kalman Filter (KF)", names)
    assert not is_headed_by("Extended Kalman Filter", names)
    assert is_headed_by_longer("Extended Kalman Filter (EKF)", names)
    assert not is_headed_by_longer("The Kalman Filter (KF)", names)
    assert not is_headed_by_longer("Kalman Filters and Maps", names)
    assert introduces("Other\nmaths. A Kalman\nfilter is linear.", "Fusion", names)
    assert introduces("### Kalman Filter\nIt weighs.", "Fusion", names)
    assert introduces("Some maths.\n\n### Kalman filters\n\nIt weighs.", "Fusion", names)


def test_a_head_stands_alone() -> None:
    head = frozenset({"topic"})
    assert defines("Gazebo topics are invisible to ROS.", [head])
    assert not defines_head("Gazebo topics are invisible to ROS.", head)
    assert defines_head("A topic is a named channel.", head)


def test_nothing_asked_for_is_introduced_nowhere() -> None:
    assert not introduces("A topic is a channel.", "Topics", [])
    assert not defines("A topic is a channel.", [])
    assert not defines_head("A topic is a channel.", Name())


def test_a_heading_introduces_what_it_names() -> None:
    term = [frozenset({"watchdog"})]
    assert introduces("It keeps a timer.", "Watchdogs", term)
    assert not introduces("It keeps a timer.", "Timers, watchdogs, limits and other ways out", term)


def test_a_sentence_that_sets_a_kind_apart_tells_what_it_is() -> None:
    sentence = "Joints are *revolute* (they turn) or *prismatic* (they slide)."
    term, head = term_asked_for("What is a prismatic joint?"), head_of("What is a prismatic joint?")
    assert names_kind(sentence, term, head)
    assert not names_kind("A *prismatic* lens bends light.", term, head)
    assert not names_kind("Joints are revolute or prismatic.", term, head)
    assert not names_kind(sentence, term_asked_for("What is a joint?"), head_of("What is a joint?"))
