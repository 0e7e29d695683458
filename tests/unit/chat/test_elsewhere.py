"""Where a lesson stands, for a reader whose filter keeps it out."""

from typing import Any

import pytest

from askbook.chat.elsewhere import describe_place
from askbook.retrieval.query import SearchQuery
from sample_chunks import make_metadata


def query(**given: Any) -> SearchQuery:
    return SearchQuery(text="How?", book_id="robots", **given)


def test_a_lesson_above_the_readers_tier_is_named_with_both_tiers() -> None:
    found = make_metadata(hardware_tier=3, module="isaac", page_title="Isaac Sim")
    assert describe_place(found, query()) == (
        "Covered in Tier 3, module isaac, lesson “Isaac Sim”; your tier is 1."
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"module_filter": "vla"}, "you asked within module vla."),
        ({"chapter_min": 2}, "you asked within chapters from 2 on."),
        ({"chapter_max": 0}, "you asked within chapters up to 0."),
        ({"chapter_min": 2, "chapter_max": 3}, "you asked within chapters 2–3."),
        ({"lesson_filter": 9}, "you asked within lesson 9."),
        ({"proficiency_levels": ("C1", "C2")}, "you asked for the levels C1, C2."),
        ({"layer_filter": "L4"}, "you asked for layer L4."),
        ({"parent_doc_id": "another"}, "you asked within one lesson."),
    ],
)
def test_the_bound_that_keeps_the_lesson_out_is_named(given: dict[str, Any], said: str) -> None:
    place = describe_place(make_metadata(), query(**given))
    assert place == f"Covered in module ros2, lesson “Nodes and topics”; {said}"
