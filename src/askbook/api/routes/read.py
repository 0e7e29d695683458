"""`GET /read/{book}/{path}`: a lesson rendered and sanitised, the cited passage highlighted."""

import re

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from askbook.api.dependencies import Caller, Requires, Running
from askbook.api.errors import refusals
from askbook.api.rendering import Highlight, LessonPage, render_lesson
from askbook.errors import InvalidInput, NotFound
from askbook.index import ChunkFilter

router = APIRouter(
    tags=["read"], dependencies=[Requires("read")], responses=refusals(404, of_page=True)
)


@router.get("/read/{book_id}/{source_file:path}", response_class=HTMLResponse)
async def read(
    book_id: str,
    source_file: str,
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
    lesson, chunks = found
    start, end = _span(quote)
    page = LessonPage(
        book_title=shelved.book.title,
        page_title=lesson.page_title,
        breadcrumb=" › ".join(
            dict.fromkeys(
                part
                for part in (
                    lesson.place["module_title"],
                    lesson.place["chapter_title"],
                    lesson.page_title,
                )
                if part
            )
        ),
        site_url=lesson.url if shelved.book.base_url else None,
        chunks=tuple((c.id, c.text) for c in chunks),
        headings=lesson.headings,
        highlight=Highlight(chunk, start, end) if chunk else None,
    )
    return HTMLResponse(render_lesson(page))


def _span(quote: str | None) -> tuple[int | None, int | None]:
    if quote is None:
        return None, None
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", quote)
    if match is None:
        raise InvalidInput(f"quote is {quote!r:.60}, but must be start-end, such as 120-185.")
    return int(match.group(1)), int(match.group(2))
