"""Chunks, results and retrievals made by hand, with everything a test does not care about filled in."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from askbook.book import DocumentChunk, DocumentMetadata, chunk_id, content_hash, parent_doc_id
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import Judgement
from askbook.retrieval.query import Explanation, SearchResult

MOMENT = datetime(2025, 11, 29, 12, 0, tzinfo=UTC)
TEXT = "Nodes exchange messages over topics; a topic is a named channel."


def make_metadata(text: str = TEXT, **given: Any) -> DocumentMetadata:
    """Valid metadata for `text`; what is given wins."""
    index, total = given.get("chunk_index", 0), given.get("total_chunks", 1)
    values: dict[str, Any] = {
        "book_id": "robots",
        "module": "ros2",
        "chapter": 1,
        "lesson": 2,
        "hardware_tier": 1,
        "source_file": "ros2/nodes.md",
        "source_file_hash": content_hash("the whole file"),
        "chunk_index": 0,
        "total_chunks": 1,
        "content_hash": content_hash(text),
        "page_title": "Nodes and topics",
        "breadcrumb": "Robots › ROS 2 › Nodes and topics",
        "url": "/ros2/nodes#topics",
        "char_start": 0,
        "char_end": len(text),
        "created_at": MOMENT,
        "updated_at": MOMENT,
        "prev_chunk_id": None if index == 0 else str(uuid.uuid4()),
        "next_chunk_id": None if index == total - 1 else str(uuid.uuid4()),
    } | given
    slot = (values["book_id"], values["module"], values["chapter"], values["lesson"])
    values.setdefault("parent_doc_id", parent_doc_id(*slot))
    return DocumentMetadata(**values)


def make_chunk(text: str = TEXT, **given: Any) -> DocumentChunk:
    metadata = make_metadata(text, **given)
    slot = (metadata.book_id, metadata.module, metadata.chapter, metadata.lesson)
    return DocumentChunk(chunk_id(*slot, metadata.content_hash), text, metadata)


def make_result(
    text: str = TEXT, *, rank: int = 1, score: float = 0.8, **given: Any
) -> SearchResult:
    return SearchResult(
        chunk=make_chunk(text, **given),
        rank=rank,
        score=score,
        relevance=0.0,
        fused=1.0 / rank,
        explanation=Explanation(dense_rank=rank, sparse_rank=None, judged=None),
    )


def make_context(
    scores: Sequence[float] = (),
    *,
    texts: Sequence[str] | None = None,
    judgements: Sequence[Judgement] = (),
    **given: Any,
) -> RetrievalContext:
    """A retrieval with results of these scores, best first."""
    texts = texts or [f"Passage number {n} about nodes and topics." for n in range(len(scores))]
    results = tuple(
        make_result(text, rank=rank, score=score)
        for rank, (text, score) in enumerate(zip(texts, scores, strict=True), 1)
    )
    values: dict[str, Any] = {
        "query": "How do nodes exchange messages?",
        "results": results,
        "query_time_ms": 1.5,
        "judgements": tuple(judgements),
    } | given
    return RetrievalContext(**values)
