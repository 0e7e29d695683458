"""The words of a question that carry its meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.terms import content_terms, held, stem, term_set, with_both_spellings


def test_stop_words_and_repetitions_are_left_out() -> None:
    assert content_terms("What is the node and what are the nodes?") == ["node"]
    assert content_terms("How do I use it?") == []
    assert content_terms("What's a node that I'm not sure doesn't sleep?") == [
        "node",
        "sure",
        "sleep",
    ]
    assert content_terms("the robot's arm in O'Brien") == ["robot", "arm", "o'brien"]


def test_names_with_marks_inside_stay_whole() -> None:
    assert "ros_domain_id" in content_terms("the default ROS_DOMAIN_ID")
    assert "c++" not in content_terms("in C++")


@pytest.mark.parametrize(
    ("one", "other"),
    [("node", "nodes"), ("category", "categories"), ("drive", "drives"), ("robot's", "robot")],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@given(st.text(max_size=300))
def test_terms_are_distinct_and_lower_case(text: str) -> None:
    terms = content_terms(text)
    assert len(terms) == len(set(terms))
    assert all(term == term.lower() for term in terms)


WORDS = st.lists(
    st.sampled_from("a's ties tie tying robots robot's use Used x1 X1's naming names y ies".split())
    | st.from_regex(r"[A-Za-z0-9]{1,5}(?:ies|ing|ed|ly|es|s|'s|)", fullmatch=True)
    | st.from_regex(r"[a-b0-1._'+#-]{1,6}", fullmatch=True),
    max_size=12,
).map(" ".join)


@given(asked=WORDS, text=WORDS)
def test_the_terms_a_text_holds_are_those_of_all_its_terms(asked: str, text: str) -> None:
    terms = content_terms(asked)
    assert held(terms, text) == term_set(text) & set(terms)


@pytest.mark.parametrize(
    ("one", "other"),
    [("ROS 2", "ROS2"), ("Python3", "Python 3"), ("Nav 2", "Nav2's")],
)
def test_a_name_and_its_number_are_one_term_together_and_apart(one: str, other: str) -> None:
    assert content_terms(one) == content_terms(other)
    assert held(content_terms(one), f"This is {other}.") == set(content_terms(one))
    assert content_terms(one)[0] in term_set(f"This is {other}.")


def test_longer_numbers_and_single_letters_belong_to_their_words() -> None:
    assert content_terms("int32 and int64, x1") == ["int32", "int64", "x1"]


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("What is ROS2?", "ROS 2"),
        ("What is ROS 2?", "ROS2"),
        ("What is Nav-2 for?", "Nav2"),
        ("In 2 years, version 1.2 of 3 int32 in 2020", ""),
    ],
)
def test_words_are_ranked_by_both_spellings(text: str, added: str) -> None:
    assert with_both_spellings(text) == f"{text} {added}".strip()
