"""Readers: from a book folder, or a single file, to lessons; one reader per kind of site."""

from dataclasses import replace
from pathlib import Path

from askbook.book.manifest import book_of_file, load_book
from askbook.errors import InvalidInput
from askbook.ingestion.readers.base import READER_VERSION, Declared, Discovery, Place, Reader
from askbook.ingestion.readers.docusaurus import DocusaurusReader, find_docusaurus
from askbook.ingestion.readers.epub import open_epub
from askbook.ingestion.readers.mdbook import MdbookReader, find_mdbook
from askbook.ingestion.readers.mkdocs import MkdocsReader, find_mkdocs
from askbook.ingestion.readers.plain import EPUB, READ, PlainReader

__all__ = ["READER_VERSION", "Declared", "Discovery", "Place", "Reader", "open_reader"]


def open_reader(folder: Path, book_id: str | None = None) -> Reader:
    """The reader for the kind of site in `folder`, which may also be a single file."""
    if folder.is_file():
        return _reader_of_file(folder, book_id)
    if not folder.is_dir():
        raise InvalidInput(
            f"{folder} is not a folder or a file.", "Give the folder or the file that is the book."
        )
    book = load_book(folder, book_id)
    docs = folder / book.docs if book.docs else None
    if docs is not None and not docs.is_dir():
        raise InvalidInput(
            f"The manifest's docs folder {book.docs!r} does not exist in {folder}.",
            "Correct `docs` in askbook.toml.",
        )
    site = find_docusaurus(folder, docs)
    if site is not None:
        return DocusaurusReader(book, folder, site)
    mdbook = find_mdbook(folder, docs)
    if mdbook is not None:
        return MdbookReader(book, folder, mdbook)
    mkdocs = find_mkdocs(folder, docs)
    if mkdocs is not None:
        return MkdocsReader(book, folder, mkdocs)
    return PlainReader(book, folder, docs or _plain_root(folder))


def _reader_of_file(path: Path, book_id: str | None) -> Reader:
    name = path.name.lower()
    if not name.endswith(READ):
        raise InvalidInput(
            f"{path} is not a kind of file that is read as a book.",
            f"Give a folder, or a file that ends in {', '.join(READ)}.",
        )
    book = book_of_file(path, book_id)
    if name.endswith(EPUB):
        book = replace(book, title=open_epub(path, path.name).title or book.title)
    return PlainReader(book, path, path.resolve().parent, path.resolve().name)


def _plain_root(folder: Path) -> Path:
    docs = folder / "docs"
    beside = any(path.name.lower().endswith(READ) for path in folder.iterdir() if path.is_file())
    return docs if docs.is_dir() and not beside else folder
