"""A search query refuses what cannot be searched for."""

from typing import Any

import pytest

from askbook.errors import InvalidInput
from askbook.retrieval.query import SearchQuery, check_question
from sample_chunks import make_result


def query(**given: Any) -> SearchQuery:
    values: dict[str, Any] = {"text": "How do nodes talk?", "book_id": "robots"} | given
    return SearchQuery(**values)


def test_defaults() -> None:
    made = query()
    assert (made.hardware_tier_filter, made.limit, made.mode) == (1, 5, "hybrid")
    filters = (made.module_filter, made.chapter_min, made.chapter_max, made.lesson_filter)
    assert filters == (None,) * 4
    assert (made.proficiency_levels, made.layer_filter, made.parent_doc_id) == (None,) * 3


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"text": ""}, "empty"),
        ({"text": " \n\t"}, "empty"),
        ({"text": "x" * 1001}, "1001 characters, at most 1000"),
        ({"text": "what is \udcff"}, "bytes that are no text"),
        ({"limit": 0}, "top_k is 0, but must be between 1 and 100"),
        ({"limit": 101}, "top_k is 101"),
        ({"hardware_tier_filter": 0}, "tier is 0"),
        ({"hardware_tier_filter": 5}, "tier is 5"),
        ({"layer_filter": "L9"}, "'L9', but must be one of L1, L2, L3, L4"),
        ({"proficiency_levels": ("A1", "D1")}, "'D1', but must be one of A1"),
        ({"chapter_min": 4, "chapter_max": 3}, "from 4 to 3"),
    ],
)
def test_a_bad_value_is_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        query(**given)


@pytest.mark.parametrize("text", ["a", "x" * 1000, "ünïcode ✓"])
def test_questions_up_to_the_limit_are_taken(text: str) -> None:
    check_question(text)


@pytest.mark.parametrize("limit", [1, 5, 100])
def test_limits_in_range_are_taken(limit: int) -> None:
    assert query(limit=limit).limit == limit


def test_every_filter_reaches_the_index() -> None:
    parent = "5b6ab3f8-7a0f-5e9b-9d8f-0d8f7b2f0001"
    where = query(
        hardware_tier_filter=2,
        module_filter="isaac",
        chapter_min=1,
        chapter_max=3,
        lesson_filter=4,
        proficiency_levels=("B1", "B2"),
        layer_filter="L2",
        parent_doc_id=parent,
    ).where
    assert (where.book_id, where.hardware_tier, where.module) == ("robots", 2, "isaac")
    assert (where.chapter_min, where.chapter_max, where.lesson) == (1, 3, 4)
    assert (where.proficiency_levels, where.layer) == (("B1", "B2"), "L2")
    assert where.parent_doc_id == parent


def test_titles_fall_back_to_the_page() -> None:
    plain = make_result(page_title="Nodes")
    assert (plain.chapter, plain.section) == ("Nodes", "Nodes")
    titled = make_result(page_title="Nodes", chapter_title="ROS 2", section_title="Topics")
    assert (titled.chapter, titled.section) == ("ROS 2", "Topics")


def test_an_explanation_is_given_only_when_asked_for() -> None:
    result = make_result()
    assert "explain" not in result.to_json()
    assert result.to_json(explain=True)["explain"]["dense_rank"] == 1
