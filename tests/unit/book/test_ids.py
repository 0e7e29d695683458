"""Ids, computed here a second time from the documents' own words."""

import hashlib
import uuid

from hypothesis import given
from hypothesis import strategies as st

from askbook.book import chunk_id, content_hash, parent_doc_id

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
names = st.text(min_size=1, max_size=20)
numbers = st.integers(0, 99)


@given(book=names, module=names, chapter=numbers, lesson=numbers, text=st.text(max_size=200))
def test_a_chunk_id_is_the_uuid_of_its_place_and_text(
    book: str, module: str, chapter: int, lesson: int, text: str
) -> None:
    digest = hashlib.sha256(text.encode()).hexdigest()
    expected = uuid.uuid5(NAMESPACE, f"{book}:{module}:{chapter}:{lesson}:{digest[:16]}")
    assert content_hash(text) == digest
    assert chunk_id(book, module, chapter, lesson, content_hash(text)) == str(expected)


@given(book=names, module=names, chapter=numbers, lesson=numbers)
def test_a_parent_id_is_the_uuid_of_its_place(
    book: str, module: str, chapter: int, lesson: int
) -> None:
    expected = uuid.uuid5(NAMESPACE, f"{book}:{module}:{chapter}:{lesson}:parent")
    assert parent_doc_id(book, module, chapter, lesson) == str(expected)


def test_known_ids_stay_what_they_are() -> None:
    """Stored books rely on them: these values must never change."""
    digest = content_hash("ROS 2 nodes communicate over topics.")
    place = ("physical-ai-robotics", "ros2", 1, 2)
    assert parent_doc_id(*place) == "5df8e4c6-b613-5f8f-bf36-76dce32af825"
    assert chunk_id(*place, digest) == "5408a61e-f08e-54eb-ad3c-7dd68b1bd08e"


def test_repeated_texts_of_a_lesson_have_ids_of_their_own() -> None:
    digest = content_hash("the same text")
    ids = [chunk_id("b", "m", 1, 1, digest, occurrence) for occurrence in range(4)]
    assert len(set(ids)) == 4
    assert ids[0] == str(uuid.uuid5(NAMESPACE, f"b:m:1:1:{digest[:16]}"))
    assert ids[2] == str(uuid.uuid5(NAMESPACE, f"b:m:1:1:{digest[:16]}:2"))


def test_any_text_can_be_hashed() -> None:
    assert content_hash("lone surrogate \ud800") != content_hash("lone surrogate ?")
