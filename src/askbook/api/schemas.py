"""Request and response bodies. What enters is validated here, once."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from askbook.agent.response import DISPLAY_LENGTH, AgentResponse, Citation
from askbook.api.answers import render_answer
from askbook.book import Book, HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.bootstrap import Scope
from askbook.chat.selection import MAX_SELECTION
from askbook.conversations import History, Message, Retrieval, check_session_id
from askbook.conversations.thread import MAX_METADATA
from askbook.errors import InvalidInput
from askbook.retrieval.confidence import ConfidenceLevel
from askbook.retrieval.query import SearchMode, SearchResult
from askbook.storage.conversations import ConversationThread
from askbook.storage.rows import Choices

METADATA_LENGTH = 10_000
METADATA_DEPTH = 8
TITLE_LENGTH = 100


class _Body(BaseModel):
    # JSON has types of its own: a truth value is no number, and a number no truth value.
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=False)


class ChatRequest(_Body):
    """A question; filters narrow what may be found and never widen what the caller may see."""

    message: str = Field(min_length=1, max_length=1000)
    session_id: str | None = None
    stream: bool = False
    top_k: int = Field(5, ge=1, le=10)
    similarity_threshold: float | None = Field(None, ge=0.0, le=1.0)
    book_id: str | None = None
    module: str | None = None
    hardware_tier: HardwareTier | None = None
    proficiency_levels: list[ProficiencyLevel] | None = None
    layer: TeachingLayer | None = None
    selected_text: str | None = Field(None, min_length=1, max_length=MAX_SELECTION)
    metadata: dict[str, Any] = Field(default_factory=dict, max_length=MAX_METADATA)
    html: bool = Field(False, description="Give the answer also as sanitised HTML.")

    @field_validator("message")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value.strip()

    @field_validator("selected_text")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must not be empty")
        return value

    @field_validator("session_id")
    @classmethod
    def _uuid4(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            return check_session_id(value)
        except InvalidInput as error:
            raise ValueError("must be a UUID v4") from error

    @field_validator("metadata")
    @classmethod
    def _small(cls, value: dict[str, Any]) -> dict[str, Any]:
        if _is_deep(value, METADATA_DEPTH):
            raise ValueError(f"must not be nested deeper than {METADATA_DEPTH}")
        # NaN and infinities, which Python reads, are no JSON and raise a ValueError.
        if len(json.dumps(value, allow_nan=False, ensure_ascii=False)) > METADATA_LENGTH:
            raise ValueError(f"must not be longer than {METADATA_LENGTH} characters")
        return value

    @property
    def scope(self) -> Scope:
        return Scope(
            book_id=self.book_id,
            module=self.module,
            hardware_tier=self.hardware_tier,
            proficiency_levels=tuple(self.proficiency_levels) if self.proficiency_levels else None,
            layer=self.layer,
            similarity_threshold=self.similarity_threshold,
        )


class SearchRequest(_Body):
    """A search with every filter."""

    text: str = Field(min_length=3, max_length=1000)
    book_id: str | None = None
    hardware_tier_filter: HardwareTier | None = None
    module_filter: str | None = None
    chapter_min: int | None = Field(None, ge=0)
    chapter_max: int | None = Field(None, ge=0)
    lesson_filter: int | None = Field(None, ge=0)
    proficiency_levels: list[ProficiencyLevel] | None = None
    layer_filter: TeachingLayer | None = None
    parent_doc_id: str | None = None
    limit: int = Field(5, ge=1, le=20)
    mode: SearchMode = "hybrid"
    explain: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(
            book_id=self.book_id,
            hardware_tier=self.hardware_tier_filter,
            module=self.module_filter,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson_filter,
            proficiency_levels=tuple(self.proficiency_levels) if self.proficiency_levels else None,
            layer=self.layer_filter,
            parent_doc_id=self.parent_doc_id,
        )


class Source(BaseModel):
    """A cited chunk, short enough to show."""

    chunk_text: str
    similarity_score: float
    chapter: str
    section: str
    url: str
    chunk_index: int
    chunk_id: str
    page_title: str
    rank: int

    @classmethod
    def of(cls, result: SearchResult, url: str) -> "Source":
        return cls(
            chunk_text=result.text[:DISPLAY_LENGTH],
            similarity_score=result.score,
            chapter=result.chapter,
            section=result.section,
            url=url,
            chunk_index=result.chunk.metadata.chunk_index,
            chunk_id=result.chunk_id,
            page_title=result.page_title,
            rank=result.rank,
        )


class CitationBody(BaseModel):
    """A place in the book that supports the answer."""

    n: int
    page_title: str
    section_title: str | None
    page_url: str
    url: str
    module_name: str
    chunk_id: str
    quote: str
    quote_start: int
    quote_end: int

    @classmethod
    def of(cls, citation: Citation) -> "CitationBody":
        return cls(**{name: getattr(citation, name) for name in cls.model_fields})


class Timings(BaseModel):
    retrieval_time_ms: float
    generation_time_ms: float
    total_time_ms: float


class ChatResponse(BaseModel):
    """An answer or a refusal, as HTTP clients see it."""

    response: str
    confidence: float
    confidence_level: ConfidenceLevel
    should_answer: bool
    sources: list[Source]
    citations: list[CitationBody]
    session_id: str
    timestamp: str
    state: str
    model: str
    tokens_used: int
    book_id: str
    metrics: dict[str, Any]
    timings: Timings
    info: list[str]
    nearest: list[CitationBody]
    html: str | None = None

    @classmethod
    def of(cls, answer: AgentResponse, session_id: str, *, html: bool = False) -> "ChatResponse":
        urls = {citation.chunk_id: citation.url for citation in answer.citations}
        return cls(
            response=answer.answer,
            confidence=answer.confidence,
            confidence_level=answer.confidence_level,
            should_answer=answer.should_answer,
            sources=[Source.of(s, urls.get(s.chunk_id, s.url)) for s in answer.sources],
            citations=[CitationBody.of(citation) for citation in answer.citations],
            session_id=session_id,
            timestamp=iso_now(),
            state=answer.state,
            model=answer.model,
            tokens_used=answer.tokens_used,
            book_id=answer.book_id,
            metrics=answer.metrics.to_json(),
            timings=Timings(
                retrieval_time_ms=answer.retrieval_time_ms,
                generation_time_ms=answer.generation_time_ms,
                total_time_ms=answer.total_time_ms,
            ),
            info=list(answer.info),
            nearest=[CitationBody.of(place) for place in answer.nearest],
            html=render_answer(answer.answer, answer.citations) if html else None,
        )


class MessageBody(BaseModel):
    """What was said; of an answer also its confidence and what it rests on."""

    role: str
    content: str
    timestamp: str
    confidence: float | None
    confidence_level: ConfidenceLevel | None = None
    should_answer: bool | None = None
    reason: str | None = None
    citations: list[CitationBody] = []
    nearest: list[CitationBody] = []
    html: str | None = None

    @classmethod
    def of(cls, message: Message, *, html: bool = False) -> "MessageBody":
        body = cls(
            role=message.role,
            content=message.content,
            timestamp=iso(message.timestamp),
            confidence=message.confidence,
            **(message.evidence or {}),
        )
        if html and message.role == "assistant":
            citations = [Citation(**citation.model_dump()) for citation in body.citations]
            body.html = render_answer(message.content, citations)
        return body


class RetrievalBody(BaseModel):
    """A retrieval of a session."""

    tool_name: str
    query: str
    results_count: int
    avg_similarity: float
    filter_applied: str | None
    timestamp: str

    @classmethod
    def of(cls, retrieval: Retrieval) -> "RetrievalBody":
        values: dict[str, Any] = {name: getattr(retrieval, name) for name in cls.model_fields}
        values["timestamp"] = iso(retrieval.timestamp)
        return cls(**values)


class SessionInfo(BaseModel):
    """A conversation without its messages."""

    session_id: str
    book_id: str
    title: str
    turn_count: int
    topic_summary: str | None
    metadata: dict[str, Any]
    created_at: str
    updated_at: str
    archived_at: str | None

    @classmethod
    def of(cls, thread: ConversationThread) -> "SessionInfo":
        return cls(**_session(thread))


class SessionHistory(SessionInfo):
    """A conversation: its newest messages, or all of them, and how many it has put aside."""

    messages: list[MessageBody]
    archived_count: int
    retrieval_history: list[RetrievalBody]

    @classmethod
    def of_history(cls, history: History, *, html: bool = False) -> "SessionHistory":
        spoken = (*history.earlier, *history.messages)
        return cls(
            **_session(history.thread),
            messages=[MessageBody.of(message, html=html) for message in spoken],
            archived_count=history.archived_count,
            retrieval_history=[RetrievalBody.of(r) for r in history.retrieval_history],
        )


class ReaderChoices(BaseModel):
    """What a reader can choose between: the values that the lessons of the book have."""

    modules: list[dict[str, str]] = Field(examples=[[{"name": "ros2", "title": "ROS 2"}]])
    hardware_tiers: list[HardwareTier]
    proficiency_levels: list[ProficiencyLevel]
    layers: list[TeachingLayer]


class BookInfo(BaseModel):
    book_id: str
    title: str
    lessons: int
    chunks: int
    calibration: str
    modules: list[str]
    examples: list[str]
    reader_tier: HardwareTier | None
    choices: ReaderChoices

    @classmethod
    def of(
        cls, book: Book, lessons: int, chunks: int, calibration: str, choices: Choices
    ) -> "BookInfo":
        return cls(
            book_id=book.book_id,
            title=book.title,
            lessons=lessons,
            chunks=chunks,
            calibration=calibration,
            modules=[module.name for module in book.modules],
            examples=list(book.examples),
            reader_tier=book.reader_tier,
            choices=ReaderChoices.model_validate(asdict(choices)),
        )


class Suggested(BaseModel):
    book_id: str
    questions: list[str]


class Info(BaseModel):
    name: str
    version: str
    model: str
    embedder: str
    books: list[BookInfo]
    default_book: str | None


def iso_now() -> str:
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """A time as ISO 8601 with milliseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _session(thread: ConversationThread) -> dict[str, Any]:
    return {
        "session_id": thread.thread_id,
        "book_id": thread.book_id,
        "title": _title(thread),
        "turn_count": thread.turn_count,
        "topic_summary": thread.topic_summary,
        "metadata": dict(thread.metadata),
        "created_at": iso(thread.created_at),
        "updated_at": iso(thread.updated_at),
        "archived_at": iso(thread.archived_at) if thread.archived_at else None,
    }


def _title(thread: ConversationThread) -> str:
    """What a list of conversations shows: what it is about, else how it began."""
    first = next((str(m["content"]) for m in thread.messages if m["role"] == "user"), "")
    return " ".join((thread.topic_summary or first).split())[:TITLE_LENGTH]


def _is_deep(value: Any, room: int) -> bool:
    """Whether a JSON value is nested deeper than `room`."""
    if not isinstance(value, dict | list):
        return False
    inner: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # JSON
    return room == 0 or any(_is_deep(item, room - 1) for item in inner)
