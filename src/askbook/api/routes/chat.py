"""`POST /chat/run` and `POST /chat/stream`: a question in, a cited answer or a refusal out."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import structlog
from fastapi import APIRouter
from fastapi.sse import EventSourceResponse

from askbook.access import Grant
from askbook.agent.events import SentenceVerified, SourcesFound
from askbook.agent.response import Citation
from askbook.api.answers import render_answer
from askbook.api.dependencies import Caller, Owner, Requires, Running, bound
from askbook.api.errors import refusals
from askbook.api.links import signed_turn
from askbook.api.schemas import ChatRequest, ChatResponse, CitationBody
from askbook.api.sse import event_stream, sse_event
from askbook.bootstrap import Askbook
from askbook.chat import StateChanged, TurnEvent, response_of
from askbook.errors import AskbookError

log = structlog.get_logger(__name__)
router = APIRouter(
    tags=["chat"],
    dependencies=[Requires("chat")],
    responses=refusals(400, 404, 409, 413),
)

_EVENTS: dict[str, Any] = {
    "description": (
        "Server-sent events: `state`, `sources` (the places that may be cited; sent again when more "
        "are found), `sentence` (checked, with its citations; the answer grows by `joint` and then "
        "`text`), `done` (the whole ChatResponse) or `error`."
    ),
    "content": {"text/event-stream": {}},
}
_EITHER: dict[str, Any] = {
    "description": "The answer; with `stream`, the same as events.",
    "content": {"text/event-stream": {}},
}


@router.post("/chat/run", response_model=ChatResponse, responses={200: _EITHER})
async def run_chat(request: ChatRequest, askbook: Running, caller: Caller, owner: Owner) -> Any:
    """Answer a question from the book; with `stream`, as events."""
    if request.stream:
        return await _streamed(request, askbook, caller, owner)
    session_id = _session_id(request)
    response = await response_of(_turn(request, askbook, caller, owner, session_id))
    return ChatResponse.of(response, session_id, html=request.html)


@router.post("/chat/stream", response_model=None, responses={200: _EVENTS})
async def stream_chat(
    request: ChatRequest, askbook: Running, caller: Caller, owner: Owner
) -> EventSourceResponse:
    """Answer a question as events; every sentence is checked before it is sent."""
    return await _streamed(request, askbook, caller, owner)


async def _streamed(
    request: ChatRequest, askbook: Askbook, caller: Grant, owner: str
) -> EventSourceResponse:
    # What cannot begin fails with a status, before the stream begins.
    await askbook.check_turn(
        request.session_id, bound(request.scope, caller), owner=owner, metadata=request.metadata
    )
    return event_stream(_events(request, askbook, caller, owner, _session_id(request)))


def _session_id(request: ChatRequest) -> str:
    """The session a question belongs to; every line logged from here on names it."""
    session_id = request.session_id or str(uuid.uuid4())
    structlog.contextvars.bind_contextvars(session_id=session_id)
    return session_id


def _turn(
    request: ChatRequest, askbook: Askbook, caller: Grant, owner: str, session_id: str
) -> AsyncGenerator[TurnEvent]:
    turn = askbook.converse(
        request.message,
        session_id,
        bound(request.scope, caller),
        owner=owner,
        top_k=request.top_k,
        selected_text=request.selected_text,
        metadata=request.metadata,
        is_new=request.session_id is None,
    )
    return signed_turn(turn, caller)


async def _events(
    request: ChatRequest, askbook: Askbook, caller: Grant, owner: str, session_id: str
) -> AsyncGenerator[bytes]:
    turn = _turn(request, askbook, caller, owner, session_id)
    said = _Said(session_id, request.html)
    try:
        async with aclosing(turn) as events:
            async for event in events:
                yield said.rendered(event)
    except AskbookError as error:
        yield sse_event(
            "error",
            {"error": error.code, "message": error.message, "suggestion": error.suggestion},
        )
    except Exception as error:
        log.error("stream_failed", exc_info=error)
        yield sse_event(
            "error",
            {
                "error": "internal_error",
                "message": "Something went wrong on our side.",
                "suggestion": "Try again.",
            },
        )


@dataclass(slots=True)
class _Said:
    """What a stream has told so far; with `html`, each sentence brings the answer up to it as HTML."""

    session_id: str
    html: bool
    text: str = ""
    citations: list[Citation] = field(default_factory=list[Citation])

    def rendered(self, event: TurnEvent) -> bytes:
        if isinstance(event, StateChanged):
            return sse_event("state", {"state": event.state, "session_id": self.session_id})
        if isinstance(event, SourcesFound):
            places = [CitationBody.of(citation).model_dump() for citation in event.sources]
            return sse_event("sources", {"sources": places})
        if isinstance(event, SentenceVerified):
            return sse_event("sentence", self._sentence(event))
        whole = ChatResponse.of(event.response, self.session_id, html=self.html)
        return sse_event("done", whole.model_dump())

    def _sentence(self, event: SentenceVerified) -> dict[str, Any]:
        citations = [CitationBody.of(citation).model_dump() for citation in event.citations]
        sentence = {"text": event.text, "joint": event.joint, "citations": citations}
        if not self.html:
            return sentence
        self.text += event.joint + event.text
        self.citations += event.citations
        return {**sentence, "html": render_answer(self.text, self.citations)}
