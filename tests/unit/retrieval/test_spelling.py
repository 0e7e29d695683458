"""Misspelt words are read as the book's own, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.book_words import english_words, is_english
from askbook.retrieval.spelling import describe, doubtful, meant, one_slip_from, respelt


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is a costamp?", ["costamp"]),
        ("Costamp layers of a costamp", ["costamp", "layers"]),
        ("Who was Marvin Minskey of the IEEEE?", ["marvin", "minskey"]),
        ("What does `costamp` or use_costamp, --costamp and pkg.costamp do?", []),
        ('Where does "the costamp" stand?', ["stand"]),
        ("the ROS2 and int32 nodes in /costamp", ["nodes"]),
        ("```\ncostamp layers\n```", []),
    ],
)
def test_plain_words_may_be_misspelt_and_names_and_code_may_not(
    text: str, words: list[str]
) -> None:
    assert doubtful(text) == words


@pytest.mark.parametrize(
    ("word", "counts", "right"),
    [
        ("costamp", {"costmap": 3, "cost": 9, "costs": 9}, "costmap"),
        ("inverze", {"inverse": 2, "invert": 7}, "inverse"),
        ("nodse", {"node": 40, "nodes": 3}, "nodes"),
        ("nodez", {"node": 40, "nodes": 3}, "node"),
        ("recieve", {"receives": 2, "relative": 1}, "receives"),
        ("manipluatro", {"manipulator": 2}, "manipulator"),
        ("kinmatcs", {"kinematics": 2}, None),
        ("framd", {"fraud": 9, "frame": 1}, "frame"),
        ("needies", {"needles": 9}, None),
        ("robat", {"rocket": 5}, None),
        ("bobot", {"robot": 5}, None),
        ("sourdough", {"surround": 5, "thought": 3}, None),
    ],
)
def test_the_nearest_word_is_meant(word: str, counts: dict[str, int], right: str | None) -> None:
    assert meant(word, counts) == right


@given(st.text("abcde", min_size=2, max_size=6), st.text("abcde", min_size=2, max_size=6))
def test_a_slip_is_one_in_both_directions(one: str, other: str) -> None:
    assert (other in one_slip_from(one)) == (one in one_slip_from(other))


@pytest.mark.parametrize("word", ["bread", "recipes", "baking", "newton", "compost"])
def test_english_words_are_no_slips(word: str) -> None:
    assert is_english(word, english_words())


@pytest.mark.parametrize("word", ["costamp", "inverze", "nodse", "bufer", "kinematcs"])
def test_slips_are_no_english_words(word: str) -> None:
    assert not is_english(word, english_words())


def test_words_are_replaced_whole_and_the_reader_is_told() -> None:
    spellings = {"costamp": "costmap"}
    assert (
        respelt("Costamp: a costamp, no costamps", spellings) == "costmap: a costmap, no costamps"
    )
    assert describe(spellings) == ["Read “costamp” as “costmap”."]
