"""Request bodies are checked once, where they enter."""

import re
import uuid
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from askbook.api.schemas import ChatRequest, SearchRequest, Source, iso_now
from sample_chunks import make_result


def mistakes(model: type[BaseModel], body: dict[str, Any]) -> list[str]:
    """The fields that are refused."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate(body)
    return [str(error["loc"][0]) for error in caught.value.errors()]


def test_a_chat_request_needs_only_a_message() -> None:
    request = ChatRequest.model_validate({"message": "What is URDF?"})
    assert (request.top_k, request.stream, request.session_id) == (5, False, None)
    assert request.metadata == {}
    assert request.scope.book_id is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", ""),
        ("message", " \t\n"),
        ("message", "x" * 1001),
        ("message", None),
        ("message", 7),
        ("session_id", "not-a-uuid"),
        ("session_id", "17b317fa-e144-11f1-8dbc-02fc00000001"),
        ("session_id", str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))),
        ("top_k", 0),
        ("top_k", 11),
        ("top_k", "many"),
        ("similarity_threshold", -0.1),
        ("similarity_threshold", 1.1),
        ("hardware_tier", 0),
        ("hardware_tier", 5),
        ("proficiency_levels", ["A3"]),
        ("layer", "L5"),
        ("stream", "perhaps"),
        ("metadata", {str(n): n for n in range(51)}),
        ("unknown", 1),
    ],
)
def test_a_bad_chat_request_names_the_field(field: str, value: Any) -> None:
    assert mistakes(ChatRequest, {"message": "What is URDF?", field: value}) == [field]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", "x"),
        ("message", "x" * 1000),
        ("session_id", "3f0d5f0e-7c86-4a3a-9c6e-0a4c1f1f4b11"),
        ("session_id", "3F0D5F0E-7C86-4A3A-9C6E-0A4C1F1F4B11"),
        ("top_k", 1),
        ("top_k", 10),
        ("similarity_threshold", 0.0),
        ("similarity_threshold", 1.0),
        ("hardware_tier", 4),
        ("proficiency_levels", ["A1", "C2"]),
        ("layer", "L4"),
    ],
)
def test_values_at_the_bounds_are_taken(field: str, value: Any) -> None:
    ChatRequest.model_validate({"message": "What is URDF?", field: value})


def test_a_message_is_stripped_and_filters_reach_the_scope() -> None:
    request = ChatRequest.model_validate(
        {
            "message": "  What is URDF?\n",
            "book_id": "robots",
            "module": "ros2",
            "hardware_tier": 2,
            "proficiency_levels": ["A1", "B2"],
            "layer": "L3",
        }
    )
    assert request.message == "What is URDF?"
    scope = request.scope
    assert (scope.book_id, scope.module, scope.hardware_tier) == ("robots", "ros2", 2)
    assert (scope.proficiency_levels, scope.layer) == (("A1", "B2"), "L3")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "ab"),
        ("text", "x" * 1001),
        ("limit", 0),
        ("limit", 21),
        ("hardware_tier_filter", 9),
        ("chapter_min", -1),
        ("chapter_max", -1),
        ("lesson_filter", -1),
        ("proficiency_levels", ["?"]),
        ("layer_filter", "L0"),
        ("mode", "magic"),
        ("unknown", 1),
    ],
)
def test_a_bad_search_request_names_the_field(field: str, value: Any) -> None:
    assert mistakes(SearchRequest, {"text": "URDF joints", field: value}) == [field]


def test_a_search_request_carries_every_filter() -> None:
    parent = str(uuid.uuid4())
    request = SearchRequest.model_validate(
        {
            "text": "abc",
            "limit": 20,
            "hardware_tier_filter": 3,
            "module_filter": "isaac",
            "chapter_min": 1,
            "chapter_max": 2,
            "lesson_filter": 0,
            "proficiency_levels": ["B1"],
            "layer_filter": "L1",
            "parent_doc_id": parent,
        }
    )
    scope = request.scope
    assert (scope.hardware_tier, scope.module) == (3, "isaac")
    assert (scope.chapter_min, scope.chapter_max, scope.lesson) == (1, 2, 0)
    assert (scope.proficiency_levels, scope.layer) == (("B1",), "L1")
    assert scope.parent_doc_id == parent


def test_a_source_shows_at_most_500_characters() -> None:
    source = Source.of(replace(make_result("word " * 200, score=0.9), link="/read/x"))
    assert len(source.chunk_text) == 500
    assert (source.url, source.similarity_score) == ("/read/x", 0.9)
    assert Source.of(make_result()).chunk_text == make_result().text


def test_timestamps_are_iso_8601_with_milliseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", iso_now())
