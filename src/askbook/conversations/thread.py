"""How a thread grows by an exchange, and what it tells of itself. Pure."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from askbook.errors import InvalidInput
from askbook.retrieval.history import Message
from askbook.retrieval.topic import MAX_SUMMARY, topic_summary
from askbook.storage.conversations import ConversationThread

KEPT_MESSAGES = 50
MAX_METADATA = 50
TOOL = "retrieve_documentation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One retrieval of a session."""

    query: str
    results_count: int
    avg_similarity: float
    timestamp: datetime
    filter_applied: str | None = None
    tool_name: str = TOOL


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A thread as its owner sees it; `earlier` are the messages it has put aside, when asked for."""

    thread: ConversationThread
    messages: tuple[Message, ...]
    earlier: tuple[Message, ...] = ()

    @property
    def archived_count(self) -> int:
        return 2 * self.thread.turn_count - len(self.messages)

    @property
    def retrieval_history(self) -> tuple[Retrieval, ...]:
        """Every retrieval that belongs to the messages shown."""
        calls = (call for m in (*self.earlier, *self.messages) for call in m.tool_calls or ())
        return tuple(_retrieval(call) for call in calls)


def grow(
    thread: ConversationThread,
    asked: Message,
    answered: Message,
    metadata: Mapping[str, Any] | None = None,
) -> tuple[ConversationThread, tuple[Mapping[str, Any], ...]]:
    """The thread after an exchange, active again, and the messages it puts aside."""
    # Two processes may answer at once, and clocks differ: the order of the messages is the truth.
    last = thread.updated_at if thread.messages else asked.timestamp
    asked = replace(asked, timestamp=max(asked.timestamp, last))
    answered = replace(answered, timestamp=max(answered.timestamp, asked.timestamp))
    messages = (*thread.messages, message_to_json(asked), message_to_json(answered))
    surplus = max(0, len(messages) - KEPT_MESSAGES)
    grown = replace(
        thread,
        messages=messages[surplus:],
        turn_count=thread.turn_count + 1,
        topic_summary=_summary(messages[surplus:]) or thread.topic_summary,
        metadata=merged(thread.metadata, metadata or {}),
        updated_at=answered.timestamp,
        archived_at=None,
        version=thread.version + 1,
    )
    return grown, messages[:surplus]


def merged(known: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a thread, with what a request adds or changes."""
    metadata = {**known, **given}
    if len(metadata) > MAX_METADATA:
        raise InvalidInput(
            f"The conversation's metadata would have {len(metadata)} entries, "
            f"at most {MAX_METADATA} are kept.",
            "Send fewer names; the same name again replaces its value.",
        )
    return metadata


def check_session_id(session_id: str) -> str:
    """A session's id in its one spelling; anything but a UUID v4 is refused."""
    try:
        parsed = uuid.UUID(session_id)
    except ValueError:
        parsed = None
    if parsed is None or parsed.version != 4:
        raise InvalidInput(
            f"{session_id!r} is no session: it must be a UUID v4.",
            "Leave it out to begin a new conversation.",
        )
    return str(parsed)


def message_to_json(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {
        "role": message.role,
        "content": message.content,
        "timestamp": message.timestamp.isoformat(),
    }
    if message.tool_calls is not None:
        document["tool_calls"] = [dict(call) for call in message.tool_calls]
    if message.confidence is not None:
        document["confidence"] = message.confidence
    if message.evidence is not None:
        document["evidence"] = dict(message.evidence)
    return document


def message_from_json(document: Mapping[str, Any]) -> Message:
    calls: Sequence[Mapping[str, Any]] | None = document.get("tool_calls")
    return Message(
        role=document["role"],
        content=document["content"],
        timestamp=datetime.fromisoformat(document["timestamp"]),
        tool_calls=None if calls is None else tuple(calls),
        confidence=document.get("confidence"),
        evidence=document.get("evidence"),
    )


def retrieval_to_json(retrieval: Retrieval) -> dict[str, Any]:
    return asdict(retrieval) | {"timestamp": retrieval.timestamp.isoformat()}


def _retrieval(call: Mapping[str, Any]) -> Retrieval:
    values: dict[str, Any] = dict(call)
    values["timestamp"] = datetime.fromisoformat(call["timestamp"])
    return Retrieval(**values)


def _summary(messages: Sequence[Mapping[str, Any]]) -> str | None:
    found = topic_summary([message_from_json(message) for message in messages])
    return found[:MAX_SUMMARY] if found else None
