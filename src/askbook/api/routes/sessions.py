"""`GET /sessions`, `GET /session/{id}/history` and `DELETE /session/{id}`: what was said, to those who said it."""

from typing import Annotated

from fastapi import APIRouter, Query

from askbook.api.dependencies import Caller, Owner, Requires, Running
from askbook.api.errors import refusals
from askbook.api.links import signed_history
from askbook.api.schemas import SessionHistory, SessionInfo

router = APIRouter(tags=["sessions"], dependencies=[Requires("chat")], responses=refusals())


@router.get("/sessions")
async def list_sessions(
    askbook: Running,
    owner: Owner,
    archived: bool = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> list[SessionInfo]:
    """The conversations, the last used first: the active ones, or those idle for an hour."""
    found = await askbook.conversations.sessions(
        owner, archived=archived, limit=limit, offset=offset
    )
    return [SessionInfo.of(thread) for thread in found]


@router.get("/session/{session_id}/history", responses=refusals(404))
async def session_history(
    session_id: str,
    askbook: Running,
    caller: Caller,
    owner: Owner,
    archived: bool = False,
    html: bool = False,
) -> SessionHistory:
    """What was said: the newest 50 messages, with `archived` all; with `html`, answers also as sanitised HTML."""
    history = await askbook.conversations.history(session_id, owner, archived=archived)
    return SessionHistory.of_history(signed_history(history, caller), html=html)


@router.delete("/session/{session_id}", status_code=204, responses=refusals(404))
async def delete_session(session_id: str, askbook: Running, owner: Owner) -> None:
    """Remove a conversation for good."""
    await askbook.conversations.delete(session_id, owner)
