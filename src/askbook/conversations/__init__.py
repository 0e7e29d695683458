"""Dialogues that last. Their `Message` lives in `askbook.retrieval.history`, where answerers may use it too."""

from askbook.conversations.base import ConversationStore
from askbook.conversations.sessions import LOCAL, Conversations, Dialogue
from askbook.conversations.thread import History, Retrieval, check_session_id
from askbook.retrieval.history import Message, Role

__all__ = [
    "LOCAL",
    "ConversationStore",
    "Conversations",
    "Dialogue",
    "History",
    "Message",
    "Retrieval",
    "Role",
    "check_session_id",
]
