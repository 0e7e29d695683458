"""`POST /search`, `GET /context`, `GET /lesson`, `GET /books` and `GET /info`: what can be found, and where."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from askbook import __version__
from askbook.api.dependencies import Caller, Place, Requires, Running, bound
from askbook.api.errors import refusals
from askbook.api.links import signed_results
from askbook.api.schemas import BookInfo, Info, SearchRequest, Suggested
from askbook.bootstrap.scope import listed_modules

router = APIRouter(tags=["search"], dependencies=[Requires("read")], responses=refusals())


@router.post("/search", responses=refusals(400, 404, 413))
async def search(request: SearchRequest, askbook: Running, caller: Caller) -> dict[str, Any]:
    """The best chunks for a question, within the filters."""
    query, context = await askbook.search(
        request.text, bound(request.scope, caller), top_k=request.limit, mode=request.mode
    )
    found = replace(context, results=signed_results(context.results, caller))
    return found.to_response(query).to_json(explain=request.explain)


@router.get("/context/{chunk_id}", responses=refusals(404))
async def context(
    chunk_id: str,
    askbook: Running,
    place: Place,
    reach: Annotated[int, Query(ge=0, le=10)] = 1,
) -> dict[str, Any]:
    """A chunk with its neighbours, as far as the reader may see them."""
    passage = await askbook.surroundings(chunk_id, place, reach)
    return {
        "chunk_id": chunk_id,
        "chunks": [{"chunk_id": c.id, **c.to_payload()} for c in passage.chunks],
    }


@router.get("/lesson/{parent_doc_id}", responses=refusals(404))
async def lesson(parent_doc_id: str, askbook: Running, place: Place) -> dict[str, Any]:
    """A whole lesson, its chunks in order."""
    found, chunks = await askbook.lesson(parent_doc_id, place)
    return {
        "parent_doc_id": parent_doc_id,
        "page_title": found.page_title,
        "source_file": found.source_file,
        "chunks": [{"chunk_id": c.id, **c.to_payload()} for c in chunks],
    }


@router.get("/books")
async def books(askbook: Running, caller: Caller) -> list[BookInfo]:
    """All books that the caller's key is for, each as far as the key reads."""
    found: list[BookInfo] = []
    for shelved in await askbook.library.books():
        if not caller.admits(shelved.book.book_id):
            continue
        book, tier = shelved.book, caller.tier
        if tier is not None:
            book = replace(
                book,
                examples=await askbook.suggestions.examples(shelved, tier),
                reader_tier=caller.limit_tier(book.reader_tier),
            )
        found.append(
            BookInfo.of(
                book,
                *await askbook.library.totals(book.book_id, tier),
                calibration=await askbook.calibrations.describe(book.book_id),
                choices=await askbook.library.choices(book.book_id, tier),
                modules=await listed_modules(shelved.book, askbook.library, tier),
            )
        )
    return found


@router.get("/suggestions", responses=refusals(404))
async def suggestions(askbook: Running, caller: Caller, book_id: str | None = None) -> Suggested:
    """First questions that the book answers: its author's, else some made from it."""
    book = await askbook.searchable(book_id, caller.books)
    questions = await askbook.suggestions.of(await askbook.book(book.book_id), caller.tier)
    return Suggested(book_id=book.book_id, questions=list(questions))


@router.get("/info")
async def info(askbook: Running, caller: Caller) -> Info:
    """What this server is and which books it has."""
    known = await books(askbook, caller)
    return Info(
        name="askbook",
        version=__version__,
        model=askbook.turns.model_name,
        embedder=str(askbook.embedder.fingerprint),
        books=known,
        default_book=known[0].book_id if len(known) == 1 else None,
    )
