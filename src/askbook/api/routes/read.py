"""`GET /read/{book}/{path}` and `GET /passage/{chunk_id}`: a lesson rendered and sanitised, the cited passage highlighted."""

import re
from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from askbook.api.dependencies import Caller, Place, Requires, Running
from askbook.api.errors import refusals
from askbook.api.identity import path_of, root_from
from askbook.api.rendering import Highlight, LessonPage, render_lesson, render_passage
from askbook.book import DocumentChunk
from askbook.errors import InvalidInput, NotFound
from askbook.index import ChunkFilter
from askbook.storage.rows import ShelvedBook, ShelvedLesson

router = APIRouter(tags=["read"], dependencies=[Requires("read")])


class PassageBody(BaseModel):
    """A lesson as sanitised HTML with the cited passage marked; `is_marked` is false when it is there no longer."""

    page_title: str
    breadcrumb: str
    html: str
    is_marked: bool


@router.get(
    "/read/{book_id}/{source_file:path}",
    response_class=HTMLResponse,
    responses=refusals(404, of_page=True),
)
async def read(
    book_id: str,
    source_file: str,
    request: Request,
    askbook: Running,
    caller: Caller,
    chunk: str | None = None,
    quote: str | None = None,
) -> HTMLResponse:
    """The lesson an answer cites; `chunk` and `quote` (start-end) say what to highlight."""
    shelved = await askbook.book(book_id, caller.books)
    found = await askbook.library.lesson(book_id, source_file=source_file)
    where = ChunkFilter(book_id, hardware_tier=caller.tier)
    if found is None or not all(where.admits(chunk.metadata) for chunk in found[1]):
        raise NotFound(
            f"Book {book_id!r} has no lesson {source_file!r}.",
            "It may have been moved or removed; ask the question again.",
        )
    return HTMLResponse(
        render_lesson(_page(shelved, *found, chunk, quote, root_from(path_of(request.scope))))
    )


@router.get("/passage/{chunk_id}", responses=refusals(404))
async def passage(
    chunk_id: str,
    askbook: Running,
    place: Place,
    quote: str | None = None,
) -> PassageBody:
    """The lesson around a chunk, to show beside an answer; `quote` (start-end) says what to highlight."""
    shelved = await askbook.book(place.book_id, place.books)
    chunks = await askbook.library.chunks(shelved.book.book_id, [chunk_id])
    where = place.readable(shelved.book)
    if chunk_id not in chunks or not where.admits(chunks[chunk_id].metadata):
        raise NotFound(
            "This passage is no longer in the book.",
            "The lesson has changed since the answer was written; ask the question again.",
        )
    lesson, around = await askbook.lesson(chunks[chunk_id].metadata.parent_doc_id, place)
    page = _page(shelved, lesson, around, chunk_id, quote)
    html, is_marked = render_passage(page)
    return PassageBody(
        page_title=page.page_title, breadcrumb=page.breadcrumb, html=html, is_marked=is_marked
    )


def _page(
    shelved: ShelvedBook,
    lesson: ShelvedLesson,
    chunks: Sequence[DocumentChunk],
    chunk: str | None,
    quote: str | None,
    root: str = "/",
) -> LessonPage:
    place = (lesson.place["module_title"], lesson.place["chapter_title"], lesson.page_title)
    return LessonPage(
        book_title=shelved.book.title,
        page_title=lesson.page_title,
        breadcrumb=" › ".join(dict.fromkeys(part for part in place if part)),
        site_url=lesson.url if shelved.book.base_url else None,
        chunks=tuple((c.id, c.text) for c in chunks),
        headings=lesson.headings,
        highlight=Highlight(chunk, *_span(quote)) if chunk else None,
        root=root,
    )


def _span(quote: str | None) -> tuple[int | None, int | None]:
    if quote is None:
        return None, None
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", quote)
    if match is None:
        raise InvalidInput(f"quote is {quote!r:.60}, but must be start-end, such as 120-185.")
    return int(match.group(1)), int(match.group(2))
