"""`retrieve_documentation`: the one tool a model has. Whatever happens, it answers with one JSON shape."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from askbook.agent.sources import Sources
from askbook.errors import AskbookError
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import MAX_QUESTION, SearchQuery, SearchResult
from askbook.retrieval.search import Searcher

log = structlog.get_logger(__name__)

TOOL_NAME = "retrieve_documentation"
TOOL_DESCRIPTION = (
    "Search the book for relevant information based on a question or topic. "
    "Returns chunks of text from the book with where they stand."
)
MAX_TOP_K = 20


class RetrievalArguments(BaseModel):
    """What a model may choose; the book, the reader's tier and all filters are bound by the server."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(min_length=1, description="What to look for in the book.")
    top_k: int = Field(5, ge=1, le=MAX_TOP_K, description="How many chunks to return.")
    similarity_threshold: float = Field(
        0.0, ge=0.0, le=1.0, description="Leave out chunks below this."
    )


def tool_schema() -> dict[str, Any]:
    """The parameters as JSON schema."""
    schema = RetrievalArguments.model_json_schema()
    return {key: schema[key] for key in ("type", "properties", "required")}


class RetrievalTool:
    """The tool of one turn: bound to its query's filters, numbering what it finds, bounded in calls."""

    def __init__(
        self,
        searcher: Searcher,
        bound: SearchQuery,
        sources: Sources,
        *,
        max_calls: int,
        boundary: str = "",
    ) -> None:
        self._searcher = searcher
        self._bound = bound
        self._sources = sources
        self._max_calls = max_calls
        self._boundary = boundary
        self.calls = 0
        self.found: list[RetrievalContext] = []

    @property
    def is_exhausted(self) -> bool:
        return self.calls >= self._max_calls

    async def invoke(self, arguments: str) -> str:
        """Run one call as a model wrote it; nothing is raised into the model."""
        try:
            given: object = json.loads(arguments or "{}")
        except json.JSONDecodeError:
            return format_tool_response("", (), error="The arguments are no valid JSON.")
        asked = _asked(given)
        try:
            wanted = RetrievalArguments.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "arguments"
            return format_tool_response(asked, (), error=f"{field}: {first['msg']}.")
        return await self.execute(wanted.query, wanted.top_k, wanted.similarity_threshold)

    async def execute(self, query: str, top_k: int = 5, similarity_threshold: float = 0.0) -> str:
        """Search again within this turn's filters."""
        if self.is_exhausted:
            return format_tool_response(
                query, (), error="No more searches: answer from the chunks you have."
            )
        if not query.strip():
            return format_tool_response(query, (), error="query: must not be empty.")
        self.calls += 1
        try:
            again = replace(
                self._bound,
                text=query[:MAX_QUESTION],
                limit=top_k,
                min_relevance=max(self._bound.min_relevance, similarity_threshold),
            )
            context = await self._searcher.search(again)
        except AskbookError as error:
            return format_tool_response(query, (), error=error.message)
        except Exception as error:
            # A traceback would hold the question.
            log.error("retrieval_tool_failed", kind=type(error).__name__)
            return format_tool_response(query, (), error="The search failed.")
        self.found.append(context)
        numbered = self._sources.add(context.results)
        return format_tool_response(query, numbered, boundary=self._boundary)


def format_tool_response(
    query: str,
    numbered: Sequence[tuple[int, SearchResult]],
    *,
    error: str | None = None,
    boundary: str = "",
) -> str:
    """The tool's answer as JSON: `rank` is the number to cite, `error` is null when all is well."""
    results = [
        {
            "chunk_text": f"<<{boundary}\n{r.text}\n{boundary}>>" if boundary else r.text,
            "page_title": r.page_title,
            "section_heading": r.chunk.metadata.section_title,
            "source_url": r.url,
            "similarity_score": r.score,
            "rank": number,
        }
        for number, r in numbered
    ]
    document = {
        "results": [] if error else results,
        "total_results": 0 if error else len(results),
        "query": query,
        "error": error,
    }
    return json.dumps(document, ensure_ascii=False, indent=2)


def _asked(given: object) -> str:
    query: object = given.get("query", "") if isinstance(given, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # whatever the model sent
    return query if isinstance(query, str) else ""
