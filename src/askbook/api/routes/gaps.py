"""`GET /gaps`: what readers ask and the book does not answer. For administrators."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from askbook.api.dependencies import LocalAdmin, Running

router = APIRouter(tags=["gaps"], dependencies=[LocalAdmin])


@router.get("/gaps")
async def gaps(
    askbook: Running,
    book_id: str | None = None,
    days: Annotated[int | None, Query(ge=1, le=36500)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> dict[str, Any]:
    """Declined questions in clusters, the most asked first; without personal data."""
    return (await askbook.list_gaps(book_id, days=days, limit=limit)).to_json()
