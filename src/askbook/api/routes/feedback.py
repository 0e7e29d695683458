"""`POST /feedback`: a reader's vote on an answer. `GET /feedback`: the votes, for administrators."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from askbook.api.dependencies import Caller, Owner, Requires, Running
from askbook.api.errors import refusals
from askbook.storage.feedback import Rating

router = APIRouter(tags=["feedback"], responses=refusals(404))


class FeedbackRequest(BaseModel):
    """A vote; a second one on the same answer replaces the first."""

    model_config = ConfigDict(extra="forbid")

    session_id: str = Field(max_length=100)
    rating: Rating
    comment: str | None = Field(None, max_length=1000)
    turn: int | None = Field(
        None, ge=1, le=1_000_000, description="which exchange of the session; absent: the last"
    )


@router.post(
    "/feedback",
    status_code=204,
    dependencies=[Requires("chat")],
    responses=refusals(400, 404, 413),
)
async def give_feedback(body: FeedbackRequest, askbook: Running, owner: Owner) -> None:
    """Say whether an answer was good."""
    comment = (body.comment or "").strip() or None
    await askbook.rate(body.session_id, body.rating, comment, body.turn, owner=owner)


@router.get("/feedback", dependencies=[Requires("admin")])
async def list_feedback(
    askbook: Running,
    caller: Caller,
    book_id: str | None = None,
    rating: Rating = "down",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> dict[str, Any]:
    """The answers readers found bad (or good), the newest vote first, without their readers."""
    return (await askbook.list_feedback(book_id, rating, limit, books=caller.books)).to_json()
