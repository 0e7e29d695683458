"""A PDF to blocks: page by page with `pypdf`, lines joined to paragraphs, headings from the bookmarks.

`pypdf` comes with the extra `askbook[pdf]`.
"""

import io
import logging
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from askbook.book import Block
from askbook.errors import AskbookError, ConfigurationError, InvalidInput
from askbook.ingestion.readers.cleaning import clean
from askbook.ingestion.readers.pdf_headings import Bookmark
from askbook.ingestion.readers.pdf_lines import Line, read_lines, without_running_lines
from askbook.ingestion.readers.pdf_text import write_pages

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_PAGES = 5_000
MAX_SECONDS = 600.0
MAX_BOOKMARKS = 20_000
_MIN_TEXT = 10
_NO_TITLE = re.compile(
    r"^(?:microsoft (?:word|powerpoint)\b.*|untitled.*|document\d*|.*\.(?:docx?|pptx?|indd|tex|pdf|odt|rtf|dvi))$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class PdfText:
    """A PDF, read."""

    blocks: tuple[Block, ...]
    warnings: tuple[str, ...]


def pdf_title(source_file: str, data: bytes) -> str:
    """What the file calls itself, if that is a title and not the name of a file."""
    reader = _opened(source_file, data)
    try:
        title = " ".join(clean(str(reader.metadata.title or "")).split()) if reader.metadata else ""
    except Exception:  # a broken note about a file is no reason not to read it
        return ""
    return "" if _NO_TITLE.match(title) else title[:200]


def read_pdf(source_file: str, data: bytes) -> PdfText:
    """The text of a PDF; refuses one that is locked, holds pictures only, or takes too long."""
    reader = _opened(source_file, data)
    deadline = time.monotonic() + MAX_SECONDS
    try:
        count = len(reader.pages)
        if count > MAX_PAGES:
            raise InvalidInput(
                f"{source_file} has {count:,} pages; at most {MAX_PAGES:,} are read.",
                "Split it into several files.",
            )
        pages = [
            read_lines(page, number, deadline) for number, page in enumerate(reader.pages, start=1)
        ]
    except AskbookError:
        raise
    except Exception as error:
        raise _unreadable(source_file, error) from error
    if sum(len(line.text) for lines in pages for line in lines) < _MIN_TEXT:
        raise InvalidInput(
            f"{source_file} holds no text on its {count} pages; it seems to be scanned.",
            "Run text recognition on it first, for example with `ocrmypdf in.pdf out.pdf`.",
        )
    blocks = write_pages(without_running_lines(pages), _bookmarks(reader))
    return PdfText(tuple(blocks), tuple(_blank_pages(source_file, pages)))


def _opened(source_file: str, data: bytes) -> "PdfReader":
    try:
        from pypdf import PasswordType, PdfReader
    except ImportError as error:
        raise ConfigurationError(
            f"{source_file} is a PDF, and the reader for PDF is not installed.",
            "Install it with `pip install 'askbook[pdf]'`.",
        ) from error
    # What pypdf finds odd in a file is for people who mend PDFs; what cannot be read is said here.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        is_locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
    except Exception as error:
        raise _unreadable(source_file, error) from error
    if is_locked:
        raise InvalidInput(
            f"{source_file} is protected with a password.",
            "Save a copy without a password, for example with `qpdf --decrypt`.",
        )
    return reader


def _unreadable(source_file: str, error: Exception) -> InvalidInput:
    reason = " ".join(clean(str(error)).split())[:200] or type(error).__name__
    return InvalidInput(
        f"{source_file} cannot be read as PDF ({reason}).",
        "Open it and print it to a new PDF, or leave it out.",
    )


def _bookmarks(reader: Any) -> list[Bookmark]:
    """The outline in order, flat; a broken one counts as none."""
    found: list[Bookmark] = []
    try:
        for level, entry in _outline(reader.outline):
            number = reader.get_destination_page_number(entry)
            title = " ".join(clean(str(entry.title or "")).split())
            if title and isinstance(number, int) and number >= 0:
                found.append(Bookmark(title, level, number + 1))
    except Exception:
        return []
    return found


def _outline(entries: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    stack: list[tuple[int, Iterator[Any]]] = [(1, iter(entries))]
    given = 0
    while stack and given < MAX_BOOKMARKS:
        level, rest = stack[-1]
        entry = next(rest, None)
        if entry is None:
            stack.pop()
        elif isinstance(entry, list):
            stack.append((level + 1, iter(entry)))  # pyright: ignore[reportUnknownArgumentType]  # pypdf nests lists of any kind
        else:
            given += 1
            yield level, entry


def _blank_pages(source_file: str, pages: Sequence[Sequence[Line]]) -> Iterator[str]:
    blank = [str(number) for number, lines in enumerate(pages, start=1) if not lines]
    if len(blank) > max(1, len(pages) // 10):
        shown = ", ".join(blank[:10]) + (" …" if len(blank) > 10 else "")
        yield (
            f"{source_file}: {len(blank)} of {len(pages)} pages hold no text ({shown}); "
            "pictures of text are not read."
        )
