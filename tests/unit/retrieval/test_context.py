"""What a question found, in the forms that answerers and readers need."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.context import sources_footer
from askbook.retrieval.query import SearchQuery
from sample_chunks import make_context, make_result

scores = st.lists(st.floats(0, 1), max_size=10)


def test_sources_are_numbered_for_the_model() -> None:
    context = make_context((0.876, 0.5), texts=["First passage.", "Second passage."])
    assert context.format_for_agent() == (
        "[1] Source: /ros2/nodes#topics\n    Score: 0.88\n    Content: First passage.\n\n"
        "[2] Source: /ros2/nodes#topics\n    Score: 0.50\n    Content: Second passage.\n"
    )


def test_no_results_are_said_in_words_and_leave_no_footer() -> None:
    context = make_context()
    assert context.format_for_agent() == "No relevant content found in the book."
    assert context.format_sources_footer() == ""


def test_the_footer_lists_the_sources_in_order() -> None:
    results = (make_result(score=0.9), make_result(rank=2, score=0.333, url="/other"))
    assert sources_footer(results) == (
        "\n---\n**Sources:**\n[1] /ros2/nodes#topics (score: 0.90)\n[2] /other (score: 0.33)"
    )


@given(scores)
def test_the_average_is_the_mean_of_the_scores(values: list[float]) -> None:
    context = make_context(values)
    assert context.total_found == len(values)
    mean = sum(values) / len(values) if values else 0.0
    assert context.average_score == pytest.approx(mean)
    assert context.has_sufficient_context == (context.average_score >= 0.75 and len(values) >= 3)
    assert context.has_relevant_results == any(value >= 0.3 for value in values)


def test_what_counts_as_relevant_is_a_setting() -> None:
    context = make_context([0.5, 0.4])
    assert replace(context, min_relevance_score=0.5).has_relevant_results
    assert not replace(context, min_relevance_score=0.51).has_relevant_results


def test_a_response_echoes_the_query() -> None:
    query = SearchQuery(text="nodes", book_id="robots", hardware_tier_filter=3, module_filter="m")
    response = make_context((0.9, 0.8)).to_response(query).to_json()
    assert (response["query"], response["book_id"]) == ("nodes", "robots")
    assert (response["hardware_tier_filter"], response["module_filter"]) == (3, "m")
    assert response["total_found"] == len(response["results"]) == 2
