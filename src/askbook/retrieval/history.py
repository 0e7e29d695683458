"""Messages of a dialogue, as retrieval, answerers and conversations share them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, get_args

from askbook.errors import InvalidInput

Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

CHARACTERS_PER_TOKEN = 4
HISTORY_TOKENS = 3000
HISTORY_TURNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a dialogue; it never changes."""

    role: Role
    content: str
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    confidence: float | None = None
    evidence: Mapping[str, Any] | None = None
    """What an answer rests on, as its reader was shown it; kept so that it can be shown again."""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"role is {self.role!r}, but must be one of {', '.join(ROLES)}.")
        if not isinstance(self.content, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # comes from stored JSON
            raise InvalidInput("A message's content must be text.")
        if self.role == "user" and not self.content.strip():
            raise InvalidInput("A reader's message must not be empty.")
        if self.tool_calls is not None and self.role != "assistant":
            raise InvalidInput(f"tool_calls belong to assistant messages, not to {self.role}.")
        if self.tool_call_id is not None and self.role != "tool":
            raise InvalidInput(f"tool_call_id belongs to tool messages, not to {self.role}.")
        if self.confidence is not None and self.role != "assistant":
            raise InvalidInput(f"confidence belongs to assistant messages, not to {self.role}.")
        if self.evidence is not None and self.role != "assistant":
            raise InvalidInput(f"evidence belongs to assistant messages, not to {self.role}.")


def newest_that_fit(
    history: Sequence[Message], tokens: int = HISTORY_TOKENS, turns: int = HISTORY_TURNS
) -> list[Message]:
    """The newest exchanges within a budget, oldest first; a question and its answers stay together."""
    spoken = [m for m in history if m.role in ("user", "assistant")]
    kept: list[Message] = []
    room = tokens * CHARACTERS_PER_TOKEN
    for exchange in reversed(exchanges(spoken)[-turns:]):
        room -= sum(len(message.content) for message in exchange)
        if room < 0:
            break
        kept = [*exchange, *kept]
    return kept


def exchanges(spoken: Sequence[Message]) -> list[list[Message]]:
    """Each question with what was answered to it."""
    found: list[list[Message]] = []
    for message in spoken:
        if message.role == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found
