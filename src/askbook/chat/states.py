"""The states of an exchange, the steps between them, and the events that tell of it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from askbook.agent.events import SentenceVerified, SourcesFound
from askbook.agent.response import AgentResponse
from askbook.errors import IllegalTransition
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import SearchResult

TurnState: TypeAlias = Literal[
    "pending", "retrieving", "generating", "completed", "low_confidence", "no_results", "error"
]

_TRANSITIONS: dict[TurnState, frozenset[TurnState]] = {
    "pending": frozenset({"retrieving", "error"}),
    "retrieving": frozenset({"generating", "no_results", "error"}),
    "generating": frozenset({"completed", "low_confidence", "error"}),
    "completed": frozenset(),
    "low_confidence": frozenset(),
    "no_results": frozenset(),
    "error": frozenset(),
}


class Turn:
    """The state of one exchange in flight; illegal steps are refused."""

    def __init__(self) -> None:
        self.state: TurnState = "pending"

    def to(self, state: TurnState) -> None:
        if state not in _TRANSITIONS[self.state]:
            raise IllegalTransition(f"A turn cannot go from {self.state} to {state}.")
        self.state = state

    @property
    def is_over(self) -> bool:
        return not _TRANSITIONS[self.state]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The turn entered another state."""

    state: TurnState


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over; this is all of it.

    Of a declined one also what came nearest, and whether the book answers it outside the reader's filter;
    `searches` are those that the model added.
    """

    response: AgentResponse
    nearest: SearchResult | None = None
    is_covered_elsewhere: bool = False
    filter_applied: str | None = None
    searches: tuple[RetrievalContext, ...] = ()


TurnEvent: TypeAlias = StateChanged | SourcesFound | SentenceVerified | TurnEnded


async def response_of(turn: AsyncGenerator[TurnEvent]) -> AgentResponse:
    """Run a turn to its end; only the whole answer counts."""
    async with aclosing(turn) as events:
        async for event in events:
            if isinstance(event, TurnEnded):
                return event.response
    raise IllegalTransition("A turn ended without an answer.")
