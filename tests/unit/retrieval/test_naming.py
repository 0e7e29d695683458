"""Names that are asked for and that no passage has."""

import pytest

from askbook.retrieval.naming import lacks_a_maker, unheard_names

PASSAGES = ["The second law of a controller is that it must stop.", "Kálmán’s filter estimates."]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is Newton's second law?", ["Newton"]),
        ("What does Kubernetes do?", ["Kubernetes"]),
        ("What is the filter of Kalman?", []),
        ("What is the second law of Controllers?", []),
        ("What is the second LAW of DDS or NodeOptions.second?", []),
        ("Newton said what about the law?", []),
        ("Was ist ein Knoten?", []),
        ("How does the controller stop on Ubuntu with my Jetson?", []),
    ],
)
def test_a_name_is_unheard_where_no_passage_has_it(question: str, names: list[str]) -> None:
    assert unheard_names(question, PASSAGES) == names


@pytest.mark.parametrize(
    ("question", "passage", "is_lacking"),
    [
        ("Who invented the Kalman filter?", "The filter combines estimates.", True),
        ("Who was the inventor of the filter?", "The filter combines estimates.", True),
        ("Who invented the filter?", "It was published by Rudolf Kalman.", False),
        ("Who invented the filter?", "In 1960 Kalman proposed a filter.", False),
        ("Who invented the filter?", "Its inventor is not known.", False),
        ("Who uses the filter?", "The filter combines estimates.", False),
        ("What combines estimates?", "The filter combines estimates.", False),
    ],
)
def test_who_made_something_is_told_where_somebody_made_something(
    question: str, passage: str, is_lacking: bool
) -> None:
    assert lacks_a_maker(question, [passage]) == is_lacking
