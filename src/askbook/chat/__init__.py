"""One exchange from question to answer."""

from askbook.chat.states import StateChanged, Turn, TurnEnded, TurnEvent, TurnState, response_of
from askbook.chat.turn import ChatTurns
from askbook.chat.work import unasked

__all__ = [
    "ChatTurns",
    "StateChanged",
    "Turn",
    "TurnEnded",
    "TurnEvent",
    "TurnState",
    "response_of",
    "unasked",
]
