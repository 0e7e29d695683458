"""One exchange from question to answer."""

from askbook.chat.turn import ChatTurns, StateChanged, Turn, TurnEnded, TurnEvent, TurnState

__all__ = ["ChatTurns", "StateChanged", "Turn", "TurnEnded", "TurnEvent", "TurnState"]
