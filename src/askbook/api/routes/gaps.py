"""`GET /gaps`: what readers ask and the book does not answer. For administrators."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from askbook.api.dependencies import Caller, Requires, Running
from askbook.api.errors import refusals

router = APIRouter(tags=["gaps"], dependencies=[Requires("admin")], responses=refusals(404))


@router.get("/gaps")
async def gaps(
    askbook: Running,
    caller: Caller,
    book_id: str | None = None,
    days: Annotated[int | None, Query(ge=1, le=36500)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> dict[str, Any]:
    """Declined questions in clusters, the most asked first; without personal data."""
    found = await askbook.list_gaps(book_id, books=caller.books, days=days, limit=limit)
    return found.to_json()
