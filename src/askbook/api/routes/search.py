"""`POST /search`, `GET /books` and `GET /info`: what can be found, and where."""

from typing import Any

from fastapi import APIRouter

from askbook import __version__
from askbook.agent.extractive import MODEL
from askbook.api.dependencies import Running
from askbook.api.schemas import BookInfo, Info, SearchRequest

router = APIRouter(tags=["search"])
EXAMPLES = 4


@router.post("/search")
async def search(request: SearchRequest, askbook: Running) -> dict[str, Any]:
    """The best chunks for a question, within the filters."""
    query, context = await askbook.search(
        request.text, request.scope, top_k=request.limit, mode=request.mode
    )
    return context.to_response(query).to_json(explain=request.explain)


@router.get("/books")
async def books(askbook: Running) -> list[BookInfo]:
    """All books."""
    found: list[BookInfo] = []
    for shelved in await askbook.library.books():
        lessons, chunks = await askbook.library.totals(shelved.book.book_id)
        headings = await askbook.library.question_headings(shelved.book.book_id, EXAMPLES)
        found.append(BookInfo.of(shelved.book, lessons, chunks, headings))
    return found


@router.get("/info")
async def info(askbook: Running) -> Info:
    """What this server is and which books it has."""
    known = await books(askbook)
    return Info(
        name="askbook",
        version=__version__,
        model=MODEL,
        embedder=str(askbook.embedder.fingerprint),
        books=known,
        default_book=known[0].book_id if len(known) == 1 else None,
    )
