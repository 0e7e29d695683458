"""Abbreviations that a text explains."""

import time

import pytest

from askbook.retrieval.abbreviations import (
    Gloss,
    glosses_in,
    initials_in,
    names_of,
    with_other_names,
)

IMU = Gloss(frozenset({"imu"}), frozenset({"inertial", "measurement", "unit"}))


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("an inertial measurement unit (IMU) reports", "imu", "inertial measurement unit"),
        ("An IMU (inertial measurement unit) reports", "imu", "inertial measurement unit"),
        ("A **vision-language model** (VLM) takes", "vlm", "vision-languag model"),
        (
            "**USD** (Universal Scene Description, also OpenUSD)",
            "usd",
            "universal scen description",
        ),
        (
            "### SLAM (Simultaneous Localization and Mapping)",
            "slam",
            "simultaneou localization mapp",
        ),
        ("Large language models (LLMs) are slow", "llm", "larg languag model"),
        ("set the quality of service (QoS; see below)", "qos", "quality servic"),
        ("an inertial\nmeasurement unit (IMU) in a\nline", "imu", "inertial measurement unit"),
        ("an IMU (inertial\nmeasurement unit)", "imu", "inertial measurement unit"),
        ("Fusion › Extended Kalman Filter (EKF)", "ekf", "extend kalman filter"),
    ],
)
def test_letters_are_spelled_out_by_the_words_beside_them(text: str, short: str, long: str) -> None:
    assert list(glosses_in(text)) == [Gloss(frozenset({short}), frozenset(long.split()))]


@pytest.mark.parametrize(
    "text",
    [
        "the robot (URDF) is described",
        "a node (see ABC) and a topic",
        "ROS 2 (Humble) runs",
        "the first Robotics Transformer (RT-1)",
        "- inertial\n- measurement unit\n- (IMU)",
        "call spin() and (IMU)",
        "a sensor (an IMU, for example) drifts",
        "the distance (m) and the Unit (U)",
    ],
)
def test_other_brackets_explain_nothing(text: str) -> None:
    assert list(glosses_in(text)) == []


def test_a_term_has_all_names_that_the_texts_give_it() -> None:
    texts = ["A vision-language-action model (VLA) moves.", "An inertial measurement unit (IMU)."]
    spelled = frozenset({"vision-language-action", "model"})
    assert names_of(frozenset({"vla"}), texts) == {frozenset({"vla"}), spelled}
    assert names_of(spelled, texts) == {frozenset({"vla"}), spelled}
    assert spelled in names_of(frozenset({"vla", "model"}), texts)
    assert names_of(frozenset({"node"}), texts) == {frozenset({"node"})}
    assert names_of(frozenset(), texts) == frozenset()


def test_many_abbreviations_of_one_word_come_to_an_end() -> None:
    texts = [
        f"an inertial measurement unit (IMU), inertial {c}easurement unit (I{c}U)"
        for c in "MABCDEFGH"
    ]
    assert frozenset({"imu"}) in names_of(frozenset({"imu"}), texts)


def test_letters_that_stand_for_two_things_do_not_make_them_one() -> None:
    texts = ["The tool center point (TCP) moves.", "The transmission control protocol (TCP) waits."]
    tool, protocol = frozenset({"tool", "center", "point"}), frozenset({"protocol"})
    assert names_of(tool, texts) == {tool, frozenset({"tcp"})}
    assert any(protocol < name for name in names_of(frozenset({"tcp"}), texts))
    same = [
        "An inertial measurement unit (IMU) drifts.",
        "An inertial measuring unit (IMU) drifts.",
    ]
    assert len(names_of(frozenset({"inertial", "measurement", "unit"}), same)) >= 2


def test_the_terms_of_a_text_say_the_same_under_both_names() -> None:
    assert with_other_names({"imu", "drift"}, [IMU]) == IMU.long | {"imu", "drift"}
    assert with_other_names({"inertial", "measurement", "unit"}, [IMU]) == IMU.long | {"imu"}
    assert with_other_names({"inertial", "frame"}, [IMU]) == {"inertial", "frame"}


def test_long_texts_take_little_time() -> None:
    started = time.process_time()
    for text in (
        "(AB " + "word " * 50_000,
        "(" * 50_000,
        "(AB) " * 20_000,
        "a" * 200_000 + " (AB)",
    ):
        assert len(list(glosses_in(text))) <= 20_000
    assert time.process_time() - started < 2.0


LARGE = "Every topic has a Quality of Service of its own."
HEADED = "Nodes › Topics › Quality of service\nPolicies say what is delivered."


@pytest.mark.parametrize("question", ["What is QoS?", "what is qos"])
@pytest.mark.parametrize("text", [LARGE, HEADED, "## Quality of service\n\nPolicies."])
def test_the_initials_of_a_term_stand_for_it_where_nothing_explains_them(
    question: str, text: str
) -> None:
    [gloss] = initials_in(question, [text])
    assert (gloss.short, gloss.long) == ({"qos"}, {"quality", "servic"})
    assert {"quality", "servic"} in names_of(gloss.short, [text], [gloss])


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("What is QoS?", ["the quality of service is good"]),
        ("What is QoS?", [LARGE, "Queues of Signals are short."]),
        ("What is QoS?", [LARGE, "A queue of signals (QoS) is short."]),
        ("What is a node?", ["A node › Named Objects Doing Everything"]),
        ("What does it do?", ["Interfaces and Topics › Data Objects"]),
    ],
)
def test_initials_stand_for_nothing_where_that_would_be_guessing(
    question: str, texts: list[str]
) -> None:
    assert initials_in(question, texts) == set()


def test_initials_are_looked_for_in_linear_time() -> None:
    started = time.perf_counter()
    initials_in("What is OOOOS?", ["# " + "of " * 20_000])
    assert time.perf_counter() - started < 2.0
