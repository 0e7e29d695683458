"""What counts as an enumeration, and what its items are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.enumerations import enumerated, listed

NAMES = st.sampled_from(["URDF", "SDF", "Gazebo", "lidar", "odometry", "gearbox", "Humble"])


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("What are nodes, topics and services?", ("nodes", "topics", "services")),
        ("What is a node, a topic, and a service?", ("node", "topic", "service")),
        ("Should I use URDF or SDF?", ("URDF", "SDF")),
        ("How do URDF and SDF differ?", ("URDF", "SDF")),
        ("Compare Gazebo Sim vs. Isaac Sim.", ("Gazebo Sim", "Isaac Sim")),
        ("Do I need a camera, a lidar and an IMU, or is one enough?", ("camera", "lidar", "IMU")),
        ("Nodes, topics and services, right?", ("Nodes", "topics", "services")),
        ("What is the difference between URDF and SDF in Gazebo?", ("URDF", "SDF")),
    ],
)
def test_things_in_a_row_are_items(question: str, items: tuple[str, ...]) -> None:
    assert enumerated(question) == items


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("Which one can describe lights, URDF or SDF?", ("URDF", "SDF")),
        ("What is better, Gazebo or Isaac Sim?", ("Gazebo", "Isaac Sim")),
        ("Which can fly: an arm, a drone or a base?", ("arm", "drone", "base")),
        ("Which of nodes, topics or services is fastest?", ("nodes", "topics", "services")),
    ],
)
def test_what_asks_for_a_choice_is_no_item(question: str, items: tuple[str, ...]) -> None:
    assert enumerated(question) == items


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("What do categories 0 and 1 mean?", ("category 0", "category 1")),
        ("What are tiers 1, 2 and 3 for?", ("tier 1", "tier 2", "tier 3")),
        ("Compare ROS 1 and 2.", ("ROS 1", "ROS 2")),
    ],
)
def test_bare_numbers_keep_what_they_number(question: str, items: tuple[str, ...]) -> None:
    assert enumerated(question) == items


@pytest.mark.parametrize(
    "text",
    [
        "What is Isaac Sim?",
        "How do I install ROS and build a package?",
        "What is a node, and how do I write one?",
        "Are URDF and SDF files? Or are Xacro and YAML?",
        "",
        "and, or, and",
    ],
)
def test_other_sentences_have_no_items(text: str) -> None:
    assert enumerated(text) == ()


def test_of_the_twos_in_prose_only_those_that_are_announced_count() -> None:
    two = "Friction and backlash are modelled roughly."
    assert enumerated(two) == ("Friction", "backlash")
    assert enumerated(two, pairs=False) == ()
    told = "There are two kinds: reactive and deliberative layers. [1]"
    assert enumerated(told, pairs=False) == ("reactive", "deliberative layers")
    three = "The body may be an **arm**, a wheeled base or a drone. [2]"
    assert enumerated(three, pairs=False) == ("arm", "wheeled base", "drone")


def test_two_enumerations_are_not_clear() -> None:
    assert enumerated("An arm, a base or a drone. A cat, a dog and a bird.", pairs=False) == ()


def test_lines_of_a_list_go_by_their_names() -> None:
    answer = "Two: [1]\n\n- **Topics.** A stream. [1]\n- Services answer a question. [2]"
    assert listed(answer) == ("Topics", "Services answer a question")
    assert listed("1. Weigh each part. [1]\n2) Pull the robot. [1]") == (
        "Weigh each part",
        "Pull the robot",
    )


def test_rows_of_a_table_go_by_their_first_cells() -> None:
    rows = "| Sensor | Rate |\n|---|:-:|\n| **RGB camera** | 30 Hz [1] |\n| 2D lidar | 10 Hz [1] |"
    assert listed(rows) == ("RGB camera", "2D lidar")
    rows = "| Category | Power |\n|---|---|\n| 0 | removed [1] |\n| 1 | stays [1] |"
    assert listed(rows) == ("Category 0", "Category 1")


@pytest.mark.parametrize(
    "answer", ["", "No list.", "- One line.", "- a\n- b\n\nand\n\n- c\n- d", "| a |\n| b |"]
)
def test_one_list_of_several_lines_is_wanted(answer: str) -> None:
    assert listed(answer) == ()


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True), st.sampled_from(["and", "or"]))
def test_any_names_in_a_row_are_found_in_order(names: list[str], joint: str) -> None:
    row = f"{', '.join(names[:-1])} {joint} {names[-1]}"
    assert enumerated(f"What are {row}?") == tuple(names)


@given(st.text(max_size=400))
def test_any_text_gives_several_distinct_items_or_none(text: str) -> None:
    for items in (enumerated(text), enumerated(text, pairs=False), listed(text)):
        assert len(items) != 1
        assert all(items)


@pytest.mark.parametrize("part", [" ", ",", "a, ", "and ", "-", "|", "\n", "x and "])
def test_a_long_text_takes_no_longer_than_it_must(part: str) -> None:
    started = time.process_time()
    enumerated(part * 20_000)
    listed(part * 20_000)
    assert time.process_time() - started < 2.0
