"""Dialogues. Their `Message` lives in `askbook.retrieval.history`, where answerers may use it too."""

from askbook.retrieval.history import Message, Role

__all__ = ["Message", "Role"]
