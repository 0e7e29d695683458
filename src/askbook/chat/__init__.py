"""One exchange from question to answer."""

from askbook.chat.turn import ChatTurns, Turn, TurnState

__all__ = ["ChatTurns", "Turn", "TurnState"]
