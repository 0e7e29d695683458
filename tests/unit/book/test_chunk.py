"""A chunk and its metadata refuse what they must not hold."""

import json
import uuid
from dataclasses import FrozenInstanceError, replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.book import DocumentChunk, content_hash
from askbook.errors import InvalidInput
from sample_chunks import MOMENT, TEXT, make_chunk, make_metadata

OTHER_ID = "3f0d5f0e-7c86-4a3a-9c6e-0a4c1f1f4b11"
BAD_METADATA: list[tuple[str, Any, str]] = [
    ("book_id", "", "non-empty"),
    ("module", "", "non-empty"),
    ("source_file", "", "non-empty"),
    ("page_title", "", "non-empty"),
    ("chapter", -1, "0 or more"),
    ("lesson", -1, "0 or more"),
    ("hardware_tier", 0, "1-4"),
    ("hardware_tier", 5, "1-4"),
    ("proficiency_level", "A3", "A1, A2, B1, B2, C1, C2"),
    ("proficiency_level", "a2", "A1, A2, B1, B2, C1, C2"),
    ("layer", "L5", "L1, L2, L3, L4"),
    ("parent_doc_id", "not-a-uuid", "UUID"),
    ("content_hash", "abc", "SHA-256"),
    ("content_hash", "G" * 64, "SHA-256"),
    ("source_file_hash", "", "SHA-256"),
    ("version", 0, "1 or more"),
]


@pytest.mark.parametrize(("field", "value", "allowed"), BAD_METADATA)
def test_metadata_names_the_field_the_value_and_what_is_allowed(
    field: str, value: Any, allowed: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_metadata(**{field: value})
    assert caught.value.message.startswith(f"{field} is {value!r}")
    assert allowed in caught.value.message


@pytest.mark.parametrize(
    "place",
    [
        {"total_chunks": 0},
        {"chunk_index": -1, "total_chunks": 3},
        {"chunk_index": 3, "total_chunks": 3, "prev_chunk_id": OTHER_ID},
        {"chunk_index": 0, "total_chunks": 2, "prev_chunk_id": OTHER_ID},
        {"chunk_index": 1, "total_chunks": 2, "prev_chunk_id": None},
        {"chunk_index": 1, "total_chunks": 2, "next_chunk_id": OTHER_ID},
        {"chunk_index": 0, "total_chunks": 2, "next_chunk_id": None},
        {"chunk_index": 1, "total_chunks": 2, "prev_chunk_id": "not-a-uuid"},
        {"chunk_index": 0, "total_chunks": 2, "next_chunk_id": "not-a-uuid"},
    ],
)
def test_a_place_in_the_chain_must_be_consistent(place: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        make_metadata(**place)


@pytest.mark.parametrize(("index", "total"), [(0, 1), (0, 3), (1, 3), (2, 3)])
def test_every_consistent_place_is_accepted(index: int, total: int) -> None:
    metadata = make_metadata(chunk_index=index, total_chunks=total)
    assert (metadata.prev_chunk_id is None) == (index == 0)
    assert (metadata.next_chunk_id is None) == (index == total - 1)


def test_metadata_has_the_documented_defaults() -> None:
    metadata = make_metadata()
    assert (metadata.proficiency_level, metadata.layer, metadata.version) == ("A2", "L1", 1)
    assert (metadata.section_title, metadata.prev_chunk_id, metadata.next_chunk_id) == (None,) * 3


def test_bounds_of_one_book_are_not_limits_of_the_product() -> None:
    metadata = make_metadata(chapter=412, lesson=77, module="anything")
    assert (metadata.chapter, metadata.lesson) == (412, 77)


@pytest.mark.parametrize("text", ["", "   ", "123456789", " 123456789 \n"])
def test_a_chunk_has_at_least_ten_characters(text: str) -> None:
    with pytest.raises(InvalidInput, match="at least 10 characters"):
        make_chunk(text)


def test_ten_characters_are_enough() -> None:
    assert make_chunk("0123456789").char_count == 10


def test_a_chunk_must_match_its_hash() -> None:
    with pytest.raises(InvalidInput, match="content_hash"):
        DocumentChunk(str(uuid.uuid4()), "Another text than hashed.", make_metadata(TEXT))


def test_a_chunk_has_a_uuid() -> None:
    with pytest.raises(InvalidInput, match="id is '7'"):
        DocumentChunk("7", TEXT, make_metadata(TEXT))


def test_a_chunk_cannot_be_changed() -> None:
    chunk = make_chunk()
    with pytest.raises(FrozenInstanceError):
        chunk.text = "something else"  # pyright: ignore[reportAttributeAccessIssue]  # on purpose
    with pytest.raises(FrozenInstanceError):
        chunk.metadata.lesson = 9  # pyright: ignore[reportAttributeAccessIssue]  # on purpose


@given(words=st.lists(st.text("abcdef", min_size=3, max_size=9), min_size=4, max_size=300))
def test_counts_are_of_the_text(words: list[str]) -> None:
    chunk = make_chunk(" ".join(words))
    assert chunk.word_count == len(words)
    assert chunk.token_count == pytest.approx(len(words) * 1.3, abs=0.5)
    assert chunk.char_count == len(chunk.text)


def test_the_embedder_sees_the_breadcrumb_first() -> None:
    chunk = make_chunk(breadcrumb="Robots › ROS 2")
    assert chunk.embedded_text == f"Robots › ROS 2\n{chunk.text}"


@given(
    text=st.text(st.characters(codec="utf-8"), min_size=10).filter(lambda t: len(t.strip()) >= 10),
    section=st.none() | st.text(st.characters(codec="utf-8"), max_size=20),
    tier=st.integers(1, 4),
)
def test_a_payload_survives_json_and_gives_the_same_chunk(
    text: str, section: str | None, tier: int
) -> None:
    chunk = make_chunk(text, section_title=section, hardware_tier=tier)
    stored = json.loads(json.dumps(chunk.to_payload()))
    assert DocumentChunk.from_payload(chunk.id, stored) == chunk


def test_moments_in_a_payload_are_iso_8601() -> None:
    payload = make_chunk().to_payload()
    for name in ("created_at", "updated_at"):
        assert datetime.fromisoformat(payload[name]) == MOMENT


def test_a_payload_from_a_damaged_store_is_refused() -> None:
    chunk = make_chunk()
    with pytest.raises(InvalidInput, match="content_hash"):
        DocumentChunk.from_payload(chunk.id, chunk.to_payload() | {"text": "tampered with it"})


def test_moving_a_chunk_makes_another_one() -> None:
    chunk = make_chunk()
    moved = replace(chunk.metadata, lesson=9)
    assert moved != chunk.metadata
    assert moved.content_hash == content_hash(chunk.text)
