"""What a reader gets."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from askbook.agent.response import AgentResponse, cite
from askbook.book import Book, Section
from askbook.config import load_settings
from askbook.errors import InvalidInput
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.confidence import assess
from sample_chunks import make_chunk, make_context, make_result

TEXT = "First sentence here. The quoted sentence. Last one."


def response(**given: Any) -> AgentResponse:
    calibration = Calibration(fingerprint=None, features=(), weights=(), intercept=0.0, prior=0.5)
    values: dict[str, Any] = {
        "answer": "Over topics. [1]",
        "query": "How do nodes talk?",
        "book_id": "robots",
        "model": "extractive",
        "metrics": assess(make_context((0.9,)), load_settings().confidence, calibration),
        "state": "completed",
    } | given
    return AgentResponse(**values)


@pytest.mark.parametrize("answer", ["", "  \n"])
def test_an_answer_is_never_empty(answer: str) -> None:
    with pytest.raises(InvalidInput, match="must not be empty"):
        response(answer=answer)


def test_tokens_are_never_negative() -> None:
    with pytest.raises(InvalidInput, match="-1"):
        response(tokens_used=-1)
    assert response(tokens_used=0).tokens_used == 0


def test_without_sources_the_text_stays_as_it_is() -> None:
    assert response().format_with_sources() == "Over topics. [1]"


def test_sources_follow_below_a_rule() -> None:
    text = response(sources=(make_result(score=0.871),)).format_with_sources()
    assert text == ("Over topics. [1]\n\n---\n**Sources:**\n[1] /ros2/nodes#topics (score: 0.87)")


def test_confidence_is_that_of_the_metrics() -> None:
    made = response()
    assert made.confidence == made.metrics.confidence
    assert made.confidence_level == made.metrics.confidence_level
    assert made.should_answer == made.metrics.should_answer
    document = made.to_json()
    assert document["confidence_level"] == document["metrics"]["confidence_level"]
    assert document["error"] is None


def test_it_knows_when_it_was_made() -> None:
    before = datetime.now(UTC)
    made = response()
    assert before <= made.created_at <= datetime.now(UTC)


def test_a_citation_quotes_word_for_word() -> None:
    chunk = make_chunk(TEXT, section_title="Topics")
    citation = cite(Book("robots", "Robots"), chunk, 2, 21, 41)
    assert citation.quote == "The quoted sentence." == TEXT[21:41]
    assert (citation.n, citation.chunk_id) == (2, chunk.id)
    assert (citation.page_title, citation.section_title) == ("Nodes and topics", "Topics")
    assert citation.module_name == "ros2"


def test_without_a_site_a_citation_opens_the_reading_page() -> None:
    chunk = make_chunk(TEXT, source_file="ros 2/a&b.md", url="/x#größe")
    citation = cite(Book("robots", "Robots"), chunk, 1, 21, 41)
    assert citation.page_url == "/read/robots/ros%202/a%26b.md"
    assert citation.url == f"{citation.page_url}?chunk={chunk.id}&quote=21-41#gr%C3%B6%C3%9Fe"


def test_with_a_site_a_citation_opens_the_site() -> None:
    book = Book("robots", "Robots", base_url="https://example.org")
    url = "https://example.org/ros2/nodes#topics"
    citation = cite(book, make_chunk(TEXT, url=url), 1, 0, 5)
    assert (citation.url, citation.page_url) == (url, "https://example.org/ros2/nodes")


def test_a_quotation_is_cited_under_its_own_heading() -> None:
    chunk = replace(
        make_chunk(TEXT, url="/x#first", section_title="First"),
        sections=(Section(21, "Größe", "größe"),),
    )
    book = Book("robots", "Robots", base_url="https://example.org")
    before, after = cite(book, chunk, 1, 0, 20), cite(book, chunk, 2, 21, 41)
    assert (before.section_title, before.url) == ("First", "/x#first")
    assert (after.section_title, after.url) == ("Größe", "/x#gr%C3%B6%C3%9Fe")


@pytest.mark.parametrize("base_url", [None, "https://x.org"])
def test_a_citation_of_a_pdf_names_its_page(base_url: str | None) -> None:
    chunk = make_chunk(TEXT)
    metadata = replace(chunk.metadata, url="/a.pdf#page=11", page_start=11, page_end=12)
    chunk = replace(chunk, metadata=metadata, sections=(Section(21, "Next", "page=12"),))
    book = Book("robots", "Robots", base_url=base_url)
    first, second = cite(book, chunk, 1, 0, 20), cite(book, chunk, 2, 21, 41)
    assert (first.page, second.page) == (11, 12)
    assert first.url.endswith("#page=11")
    assert second.url.endswith("#page=12")


def test_an_anchor_like_a_page_is_none_outside_a_pdf() -> None:
    chunk = make_chunk(TEXT)
    chunk = replace(chunk, metadata=replace(chunk.metadata, url="/a.html#page=11"))
    assert cite(Book("robots", "Robots"), chunk, 1, 0, 20).page is None


def test_a_lesson_without_anchor_opens_at_its_top() -> None:
    citation = cite(Book("robots", "Robots"), make_chunk(TEXT, url="/ros2/nodes"), 1, 0, 5)
    assert "#" not in citation.url
