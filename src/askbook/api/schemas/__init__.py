"""Request and response bodies."""

from askbook.api.schemas.answering import ChatResponse, CitationBody, Source
from askbook.api.schemas.books import BookInfo, Info, Suggested
from askbook.api.schemas.requests import ChatRequest, SearchRequest
from askbook.api.schemas.sessions import SessionHistory, SessionInfo
from askbook.api.schemas.times import iso, iso_now

__all__ = [
    "BookInfo",
    "ChatRequest",
    "ChatResponse",
    "CitationBody",
    "Info",
    "SearchRequest",
    "SessionHistory",
    "SessionInfo",
    "Source",
    "Suggested",
    "iso",
    "iso_now",
]
