"""`retrieve_documentation`: one JSON shape, whatever a model asks."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from askbook.agent.sources import Sources
from askbook.agent.tools import RetrievalTool, format_tool_response, tool_schema
from askbook.book import Book
from askbook.errors import ServiceUnavailable
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchQuery
from sample_chunks import make_result

BOOK = Book("robots", "Robots")
BOUND = SearchQuery(text="What is a node?", book_id="robots", hardware_tier_filter=2)
FIELDS = {
    "chunk_text",
    "page_title",
    "section_heading",
    "source_url",
    "similarity_score",
    "rank",
}


class Searched:
    def __init__(self, failure: Exception | None = None) -> None:
        self.queries: list[SearchQuery] = []
        self._failure = failure

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        self.queries.append(query)
        if self._failure:
            raise self._failure
        results = tuple(make_result(f"Passage {n} on {query.text}.", rank=n) for n in (1, 2))
        return RetrievalContext(query=query.text, results=results, query_time_ms=1.0)


def tool(searcher: Searched | None = None, **given: Any) -> tuple[RetrievalTool, Searched]:
    searcher = searcher or Searched()
    values: dict[str, Any] = {"max_calls": 3, **given}
    return RetrievalTool(cast(Any, searcher), BOUND, Sources(BOOK), **values), searcher


@pytest.mark.spec("B28", "B29", "B31", "B32", "B33", "B56", "B58", "B59", "B60", "B62")
async def test_results_have_the_documented_fields() -> None:
    retrieval, _ = tool()
    text = await retrieval.execute("topics")
    document = json.loads(text)
    assert text == json.dumps(document, ensure_ascii=False, indent=2)
    assert set(document) == {"results", "total_results", "query", "error"}
    assert (document["query"], document["error"]) == ("topics", None)
    assert document["total_results"] == len(document["results"]) == 2
    assert [set(result) for result in document["results"]] == [FIELDS, FIELDS]
    assert [result["rank"] for result in document["results"]] == [1, 2]
    assert all(0.0 <= result["similarity_score"] <= 1.0 for result in document["results"])


@pytest.mark.spec("B20", "B21", "B22", "B23", "B24", "B26", "B27")
def test_the_schema_asks_for_the_query_alone() -> None:
    schema = tool_schema()
    assert schema["required"] == ["query"]
    assert set(schema["properties"]) == {"query", "top_k", "similarity_threshold"}
    top_k, threshold = schema["properties"]["top_k"], schema["properties"]["similarity_threshold"]
    assert (top_k["type"], top_k["default"], top_k["minimum"], top_k["maximum"]) == (
        "integer",
        5,
        1,
        20,
    )
    assert (threshold["default"], threshold["minimum"], threshold["maximum"]) == (0.0, 0.0, 1.0)


@pytest.mark.spec("B25", "B34", "B57")
@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"query": ""}',
        '{"query": "   "}',
        '{"query": 7}',
        '{"query": "x", "top_k": 0}',
        '{"query": "x", "top_k": 21}',
        '{"query": "x", "similarity_threshold": 1.5}',
    ],
)
async def test_bad_arguments_are_told_to_the_model_and_nothing_is_raised(arguments: str) -> None:
    retrieval, searcher = tool()
    document = json.loads(await retrieval.invoke(arguments))
    assert document["error"]
    assert (document["results"], document["total_results"]) == ([], 0)
    assert searcher.queries == []


@pytest.mark.parametrize("failure", [ServiceUnavailable("The index is down."), RuntimeError("x")])
async def test_a_failed_search_is_an_answer_too(failure: Exception) -> None:
    retrieval, _ = tool(Searched(failure))
    document = json.loads(await retrieval.execute("topics"))
    assert document["error"]
    assert document["results"] == []
    assert document["query"] == "topics"


async def test_calls_are_bounded() -> None:
    retrieval, searcher = tool(max_calls=2)
    answers = [json.loads(await retrieval.execute(f"topic {n}")) for n in range(4)]
    assert [bool(a["error"]) for a in answers] == [False, False, True, True]
    assert len(searcher.queries) == 2
    assert retrieval.is_exhausted


async def test_numbers_run_on_and_a_chunk_keeps_its_own() -> None:
    retrieval, _ = tool()
    first = json.loads(await retrieval.execute("topics"))
    other = json.loads(await retrieval.execute("nodes"))
    again = json.loads(await retrieval.execute("topics"))
    ranks = [[r["rank"] for r in document["results"]] for document in (first, other, again)]
    assert ranks == [[1, 2], [3, 4], [1, 2]]


async def test_filters_stay_those_of_the_reader() -> None:
    retrieval, searcher = tool()
    await retrieval.invoke('{"query": "x y", "hardware_tier_filter": 4, "book_id": "other"}')
    assert searcher.queries[0].hardware_tier_filter == 2
    assert searcher.queries[0].book_id == "robots"


async def test_the_threshold_and_top_k_reach_the_search() -> None:
    retrieval, searcher = tool()
    await retrieval.invoke('{"query": "x y", "top_k": 7, "similarity_threshold": 0.4}')
    assert (searcher.queries[0].limit, searcher.queries[0].min_relevance) == (7, 0.4)


def test_an_error_never_comes_with_results() -> None:
    document = json.loads(format_tool_response("q", [(1, make_result())], error="no"))
    assert (document["results"], document["total_results"]) == ([], 0)
