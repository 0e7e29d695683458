"""Conversations, as they are told over HTTP."""

from typing import Any

from pydantic import BaseModel

from askbook.agent.response import Citation
from askbook.api.answers import render_answer
from askbook.api.schemas.answering import CitationBody
from askbook.api.schemas.times import iso
from askbook.conversations import History, Message, Retrieval
from askbook.retrieval.confidence import ConfidenceLevel
from askbook.storage.conversations import ConversationThread

TITLE_LENGTH = 100


class MessageBody(BaseModel):
    """What was said; of an answer also who wrote it, its confidence and what it rests on."""

    role: str
    content: str
    timestamp: str
    model: str | None = None
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
