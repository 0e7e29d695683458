"""Readers: from a book folder to lessons, one reader per kind of site."""

from pathlib import Path

from askbook.book.manifest import load_book
from askbook.errors import InvalidInput
from askbook.ingestion.readers.base import READER_VERSION, Declared, Discovery, Place, Reader
from askbook.ingestion.readers.docusaurus import DocusaurusReader, find_docusaurus
from askbook.ingestion.readers.mdbook import MdbookReader, find_mdbook
from askbook.ingestion.readers.mkdocs import MkdocsReader, find_mkdocs
from askbook.ingestion.readers.plain import PlainReader
from askbook.ingestion.readers.walk import SUFFIXES

__all__ = ["READER_VERSION", "Declared", "Discovery", "Place", "Reader", "open_reader"]


def open_reader(folder: Path, book_id: str | None = None) -> Reader:
    """The reader for the kind of site in `folder`."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.", "Give the folder that holds the book.")
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


def _plain_root(folder: Path) -> Path:
    docs = folder / "docs"
    beside = any(
        path.name.lower().endswith(SUFFIXES) for path in folder.iterdir() if path.is_file()
    )
    return docs if docs.is_dir() and not beside else folder
