"""Questions made of a book: what it surely answers, always the same, never too many. Pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.book import DocumentChunk
from askbook.retrieval.book_questions import (
    MOST_QUESTIONS,
    choose_chunks,
    foreign_questions,
    make_questions,
)
from sample_chunks import make_chunk

PROSE = (
    "A watchdog is a timer that stops the motors. This helps. Robots stop when it runs out of time."
)


def asked(*chunks: DocumentChunk) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for question in make_questions(chunks):
        kinds.setdefault(question.kind, []).append(question.text)
    return kinds


def test_headings_definitions_and_sentences_are_asked() -> None:
    made = asked(make_chunk(PROSE, section_title="Stopping in time"))
    assert made["heading"] == ["Stopping in time"]
    assert made["definition"] == ["What is watchdog?"]
    assert made["sentence"][0] in PROSE


@pytest.mark.parametrize(
    "text",
    [
        "This is a timer that stops the motors.",
        "It is the best of all the possible worlds here.",
        "```\nA watchdog is a timer that stops the motors.\n```",
        "# A watchdog is a timer that stops the motors.",
        "| A watchdog is a timer | that stops the motors |",
        "- A watchdog is a timer that stops the motors.",
    ],
)
def test_what_is_no_prose_or_points_back_is_not_asked(text: str) -> None:
    assert set(asked(make_chunk(text))) <= {"heading"}


def test_a_heading_that_lessons_share_asks_for_none_of_them() -> None:
    first = make_chunk("Something to read on.", section_title="Exercises with wheels", lesson=1)
    other = make_chunk("More to read on here.", section_title="Exercises with wheels", lesson=2)
    assert "heading" not in asked(first, other)
    assert asked(first)["heading"] == ["Exercises with wheels"]


def test_no_question_is_asked_twice_and_none_beyond_the_most() -> None:
    chunks = [
        make_chunk(f"{PROSE} Robot number {n} has {n} wheels and {n} arms.", lesson=n % 50)
        for n in range(200)
    ]
    questions = make_questions(chunks)
    texts = [question.text.casefold() for question in questions]
    assert len(texts) == len(set(texts)) <= MOST_QUESTIONS
    assert make_questions(chunks) == questions


@given(st.lists(st.uuids().map(str), unique=True), st.integers(0, 20))
def test_the_same_chunks_are_chosen_in_whatever_order_they_come(ids: list[str], most: int) -> None:
    chosen = choose_chunks(ids, most)
    assert len(chosen) == min(most, len(ids))
    assert choose_chunks(reversed(ids), most) == chosen


def test_a_chunk_more_changes_at_most_one_of_those_chosen() -> None:
    ids = [f"chunk {n}" for n in range(100)]
    before, after = set(choose_chunks(ids, 20)), set(choose_chunks([*ids, "new"], 20))
    assert len(before - after) <= 1


def test_foreign_questions_are_many_and_different() -> None:
    questions = foreign_questions()
    assert len(questions) == len(set(questions)) >= 50
    assert all(question.endswith("?") for question in questions)
