"""One exchange from question to answer."""

from askbook.chat.states import StateChanged, Turn, TurnEnded, TurnEvent, TurnState, response_of
from askbook.chat.turn import ChatTurns

__all__ = [
    "ChatTurns",
    "StateChanged",
    "Turn",
    "TurnEnded",
    "TurnEvent",
    "TurnState",
    "response_of",
]
