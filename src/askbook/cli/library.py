"""`askbook books`, `delete-book`, `export`, `lesson` and `context`: what the library holds, as it stands."""

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from askbook.cli.output import AsJson, DataDir, print_json, run, settings_for
from askbook.cli.scope import BookId
from askbook.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from askbook.book import DocumentChunk
    from askbook.config import Settings
    from askbook.storage.library import Library
    from askbook.storage.rows import ShelvedLesson


def register(app: typer.Typer) -> None:
    app.command("books")(books)
    app.command("delete-book")(delete_book)
    app.command("export")(export)
    app.command("lesson")(lesson)
    app.command("context")(context)


def books(as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """All books, with their folders and sizes."""
    found = run(_books(settings_for(data_dir)))
    if as_json:
        print_json({"books": found})
    for each in () if as_json else found:
        typer.secho(f"{each['book_id']}  {each['title']}", bold=True)
        typer.echo(f"  {each['lessons']} lessons, {each['chunks']} chunks, from {each['folder']}")
    if not found and not as_json:
        typer.echo("There is no book here yet. Ingest one with `askbook ingest PATH`.")
    return 0


def delete_book(
    book_id: Annotated[str, typer.Argument(help="The book's id.")],
    yes: Annotated[bool, typer.Option("--yes", help="Really delete it.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """Remove a book from the library and the index; its folder is not touched."""
    if not yes:
        raise InvalidInput(
            f"Deleting {book_id!r} removes all its chunks and vectors, and the conversations about it.",
            f"Say `askbook delete-book {book_id} --yes` if you mean it.",
        )
    chunks = run(_delete_book(settings_for(data_dir), book_id))
    if as_json:
        print_json({"book_id": book_id, "deleted": True, "chunks_deleted": chunks})
    else:
        typer.echo(f"{book_id}: deleted, with {chunks} chunks.")
    return 0


def export(book: BookId = None, as_json: AsJson = False, data_dir: DataDir = None) -> int:
    """Every chunk with all its metadata as JSON lines, in book order; `--json` gives one document."""
    try:
        run(_export(settings_for(data_dir), book, as_json))
    except BrokenPipeError:
        # `askbook export | head`: the reader has what it wanted. What is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def lesson(
    parent_doc_id: Annotated[str, typer.Argument(help="The lesson's id.")],
    book: BookId = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """A whole lesson, its chunks in order."""
    found, chunks = run(_lesson(settings_for(data_dir), book, parent_doc_id))
    if as_json:
        print_json(
            {
                "parent_doc_id": parent_doc_id,
                "page_title": found.page_title,
                "source_file": found.source_file,
                "chunks": [_document(chunk) for chunk in chunks],
            }
        )
    else:
        place = found.url if urlsplit(found.url).netloc else found.source_file
        typer.secho(f"{found.page_title}  {place}", bold=True)
        typer.echo("\n\n".join(chunk.text for chunk in chunks))
    return 0


def context(
    chunk_id: Annotated[str, typer.Argument(help="The chunk's id.")],
    book: BookId = None,
    reach: Annotated[
        int, typer.Option("--reach", min=0, max=10, help="How many neighbours on each side.")
    ] = 1,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> int:
    """A chunk with its neighbours in the lesson."""
    chunks = run(_context(settings_for(data_dir), book, chunk_id, reach))
    if as_json:
        print_json({"chunk_id": chunk_id, "chunks": [_document(chunk) for chunk in chunks]})
    for chunk in () if as_json else chunks:
        typer.secho(f"{chunk.metadata.breadcrumb}  {chunk.id}", bold=chunk.id == chunk_id)
        typer.echo(chunk.text + "\n")
    return 0


async def _books(settings: "Settings") -> list[dict[str, Any]]:
    from askbook.bootstrap import open_library

    found: list[dict[str, Any]] = []
    try:
        async with open_library(settings) as library:
            for shelved in await library.books():
                lessons, chunks = await library.totals(shelved.book.book_id)
                found.append(
                    {
                        "book_id": shelved.book.book_id,
                        "title": shelved.book.title,
                        "folder": shelved.folder,
                        "lessons": lessons,
                        "chunks": chunks,
                        "embedder": shelved.fingerprint,
                    }
                )
    except NotFound:
        return []
    return found


async def _delete_book(settings: "Settings", book_id: str) -> int:
    from askbook.bootstrap import Askbook

    async with Askbook(settings) as askbook:
        return await askbook.delete_book(book_id)


async def _export(settings: "Settings", book: str | None, as_json: bool) -> None:
    from askbook.bootstrap import open_library

    async with open_library(settings) as library:
        between = "[\n" if as_json else ""
        for book_id in await _book_ids(library, book):
            async for chunk in library.export(book_id):
                sys.stdout.write(between + json.dumps(_document(chunk), ensure_ascii=False))
                between = ",\n" if as_json else "\n"
        closing = "\n" if between != "" else ""
        if as_json:
            closing = "[]\n" if between == "[\n" else "\n]\n"
        sys.stdout.write(closing)
        sys.stdout.flush()


async def _lesson(
    settings: "Settings", book: str | None, parent_doc_id: str
) -> "tuple[ShelvedLesson, list[DocumentChunk]]":
    from askbook.bootstrap import open_library

    async with open_library(settings) as library:
        for book_id in await _book_ids(library, book):
            found = await library.lesson(book_id, parent_doc_id=parent_doc_id)
            if found is not None:
                return found
    raise NotFound(
        f"There is no lesson {parent_doc_id!r}.", "Its id is `parent_doc_id` of a search result."
    )


async def _context(
    settings: "Settings", book: str | None, chunk_id: str, reach: int
) -> "tuple[DocumentChunk, ...]":
    from askbook.bootstrap import open_library
    from askbook.index import ChunkFilter
    from askbook.retrieval.expansion import surroundings

    async with open_library(settings) as library:
        for book_id in await _book_ids(library, book):
            passage = await surroundings(library, ChunkFilter(book_id), chunk_id, reach)
            if passage is not None:
                return passage.chunks
    raise NotFound(
        f"There is no chunk {chunk_id!r}.",
        "Its lesson may have changed since; search again for its id.",
    )


async def _book_ids(library: "Library", book: str | None) -> list[str]:
    known = [shelved.book.book_id for shelved in await library.books()]
    if book is None:
        return known
    if book not in known:
        raise NotFound(f"There is no book {book!r}.", f"Known books: {', '.join(known)}.")
    return [book]


def _document(chunk: "DocumentChunk") -> dict[str, Any]:
    return {"chunk_id": chunk.id, **chunk.to_payload()}
