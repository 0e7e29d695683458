"""PDFs: paragraphs, headings, lists and code from lines on pages, each with its page."""

import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from small_books import read_all

from askbook.book import Block
from askbook.errors import ConfigurationError, InvalidInput
from askbook.ingestion.readers import open_reader, pdf_headings
from askbook.ingestion.readers import pdf as module
from askbook.ingestion.readers.pdf import pdf_title, read_pdf
from askbook.ingestion.readers.pdf_headings import Bookmark
from askbook.ingestion.readers.pdf_lines import Line, without_running_lines
from askbook.ingestion.readers.pdf_text import write_pages
from ebooks import Shown, lines, pdf


def blocks(*pages: list[Shown], outline: tuple[tuple[str, int], ...] = ()) -> list[Block]:
    return list(read_pdf("book.pdf", pdf(pages, outline=outline)).blocks)


def test_lines_are_joined_to_paragraphs() -> None:
    read = blocks(
        lines(
            "A robot is a machine that senses the world around it and acts",
            "in it by itself.",
            "",
            "A second paragraph begins below a gap and goes on to the end of",
            "its last line.",
        )
    )
    assert [block.text for block in read] == [
        "A robot is a machine that senses the world around it and acts in it by itself.",
        "A second paragraph begins below a gap and goes on to the end of its last line.",
    ]


def test_a_sentence_goes_on_over_the_page() -> None:
    read = blocks(
        lines("The first page ends in the middle of a"), lines("sentence, which goes on here.")
    )
    assert [(block.text, block.page) for block in read] == [
        ("The first page ends in the middle of a sentence, which goes on here.", 1)
    ]


def test_hyphens_at_line_ends_are_joined_as_the_text_writes_them() -> None:
    (block,) = blocks(
        lines(
            "Unpredictability is hard; the in-network way and unpre-",
            "dictability are both known. It is AI-",
            "powered, in-",
            "network, and a manipu-",
            "lator moves.",
        )
    )
    assert "unpredictability are both known. It is AI-powered, in-network" in block.text
    assert "a manipulator moves" in block.text


def test_headings_come_from_the_bookmarks() -> None:
    read = blocks(
        lines("Getting Started", "", "The first words of the book are here."),
        lines("Going", "Further", "", "More words are on the second page."),
        outline=(("Getting Started", 1), ("Going Further", 2), ("Not There", 2)),
    )
    assert [(b.heading.title, b.heading.anchor, b.page) for b in read if b.heading] == [
        ("Getting Started", "page=1", 1),
        ("Going Further", "page=2", 2),
    ]
    assert [b.text for b in read if not b.heading] == [
        "The first words of the book are here.",
        "More words are on the second page.",
    ]


def test_without_bookmarks_big_and_bold_lines_are_headings() -> None:
    body = "These words are set in the size that most of the text has, line after line."
    read = blocks(
        [
            Shown("The Big", 740, size=20),
            Shown("Title", 718, size=20),
            *lines(body, body, top=680),
            Shown("A bold line", 630, face="F2"),
            *lines(body, body, top=600),
        ]
    )
    assert [(b.heading.level, b.heading.title) for b in read if b.heading] == [
        (1, "The Big Title"),
        (2, "A bold line"),
    ]


def test_numbered_titles_are_headings() -> None:
    read = blocks(
        lines(
            "2.1 Safety rules",
            "Keep away from the arm while it moves, and never reach into the cell of the",
            "robot before it stands still.",
            "",
            "2.1.3 Gloves",
            "Wear gloves when you clean the gripper, and take them off before you type.",
        )
    )
    assert [(b.heading.level, b.heading.title) for b in read if b.heading] == [
        (1, "2.1 Safety rules"),
        (2, "2.1.3 Gloves"),
    ]


def test_running_lines_and_page_numbers_are_dropped() -> None:
    pages = [
        [
            Shown("The Handbook", 760),
            *lines(f"Page words about topic {word} are here.", top=700),
            Shown(f"{number}", 40),
        ]
        for number, word in enumerate(("one", "two", "three", "four"), start=1)
    ]
    assert [block.text for block in blocks(*pages)] == [
        f"Page words about topic {word} are here." for word in ("one", "two", "three", "four")
    ]


def test_bullets_and_numbers_are_lists() -> None:
    read = blocks(
        lines("• first thing", "goes on", "• second", "", "1. one", "2. two", "", "Then a line.")
    )
    assert [block.text for block in read] == [
        "- first thing goes on\n- second",
        "1. one\n2. two",
        "Then a line.",
    ]


def test_a_list_goes_on_over_the_page() -> None:
    read = blocks(lines("1. one", "2. two"), lines("3. three"))
    assert [(block.text, block.page) for block in read] == [("1. one\n2. two", 1), ("3. three", 2)]


def test_code_keeps_its_indentation_and_blank_lines() -> None:
    read = blocks(
        [
            Shown("Some words come before the code.", 720),
            Shown("def f(x):", 690, size=10, face="F3"),
            Shown("    return x", 678, size=10, face="F3"),
            Shown("f(1)", 654, size=10, face="F3"),
            Shown("g()", 642, size=10, face="F3", x=72 + 4 * 6),
        ]
    )
    assert read[1].kind == "code"
    assert read[1].text == "```\ndef f(x):\n    return x\n\nf(1)\n    g()\n```"


def test_marks_in_the_text_stay_text() -> None:
    (block,) = blocks(lines("# Not a heading, and <b>no tag</b> *here*."))
    assert block.text == "\\# Not a heading, and \\<b\\>no tag\\</b\\> \\*here\\*."


@pytest.mark.parametrize(
    ("title", "kept"),
    [("The Handbook", "The Handbook"), ("Microsoft Word - x.docx", ""), ("a.indd", ""), ("", "")],
)
def test_titles_that_are_file_names_are_no_titles(title: str, kept: str) -> None:
    assert pdf_title("x.pdf", pdf([lines("Words.")], title=title)) == kept


def test_a_single_pdf_is_a_book_of_one_lesson(tmp_path: Path) -> None:
    path = tmp_path / "employee_handbook.pdf"
    path.write_bytes(pdf([lines("Some words that are long enough.")]))
    reader = open_reader(path)
    (lesson,) = read_all(reader).values()
    assert (reader.book.book_id, reader.book.title) == ("employee-handbook", "Employee handbook")
    assert (lesson.source_file, lesson.page_title) == ("employee_handbook.pdf", "Employee handbook")


def test_a_scanned_pdf_says_what_to_do() -> None:
    with pytest.raises(InvalidInput, match=r"no text on its 2 pages.*ocrmypdf") as raised:
        read_pdf("scan.pdf", pdf([[], []]))
    assert raised.value.message.startswith("scan.pdf holds")


def test_pages_without_text_are_told() -> None:
    read = read_pdf("x.pdf", pdf([lines("Some words that are long enough."), [], [], []]))
    assert read.warnings == (
        "x.pdf: 3 of 4 pages hold no text (2, 3, 4); pictures of text are not read.",
    )


def test_a_locked_pdf_says_what_to_do() -> None:
    import io

    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([lines("Secret words.")]))))
    writer.encrypt("secret", algorithm="RC4-128")
    buffer = io.BytesIO()
    writer.write(buffer)
    with pytest.raises(InvalidInput, match=r"protected with a password.*qpdf --decrypt"):
        read_pdf("x.pdf", buffer.getvalue())


@pytest.mark.parametrize(
    "data", [b"", b"no pdf", b"%PDF-1.7\n", b"%PDF-1.4\n" + bytes(range(256)) * 40]
)
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"x\.pdf"):
        read_pdf("x.pdf", data)


def test_any_damage_ends_in_text_or_a_clear_refusal() -> None:
    whole = pdf([lines("Some words that are long enough.")], outline=(("Some", 1),))
    for position in range(0, len(whole), 23):
        damaged = whole[:position] + b"\x00<<(" + whole[position + 4 :]
        with suppress(InvalidInput):
            read_pdf("x.pdf", damaged)


def test_a_file_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.0)
    with pytest.raises(InvalidInput, match="Reading stopped at page 1"):
        read_pdf("x.pdf", pdf([lines("Some words.")]))


def test_too_many_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAGES", 2)
    with pytest.raises(InvalidInput, match="has 3 pages; at most 2 are read"):
        read_pdf("x.pdf", pdf([[], [], []]))


def test_without_pypdf_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'askbook\[pdf\]'"):
        pdf_title("x.pdf", b"%PDF-1.4")


def set_line(text: str, number: int) -> Line:
    return Line(text, 1 + number // 40, 72, 720 - 14 * (number % 40), 11, False, False)


def test_a_paragraph_of_thousands_of_lines_is_joined_at_once() -> None:
    words = "these words fill a whole line up to where the next one be-"
    lines_of_text = [set_line(words, number) for number in range(3000)]
    start = time.perf_counter()
    [block] = write_pages([lines_of_text], [])
    assert block.text.count("be-these") == 2999
    assert time.perf_counter() - start < 5


def test_bookmarks_are_looked_for_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    text = [set_line(f"Title {number}", number) for number in range(10)]
    marks = [Bookmark(f"Title {number}", 1, 1) for number in range(10)]
    assert len([b for b in write_pages([text], marks) if b.heading]) == 10
    monkeypatch.setattr(pdf_headings, "_MAX_LOOKS", 25)
    assert len([b for b in write_pages([text], marks) if b.heading]) == 2


def test_a_line_of_blanks_is_soon_known_to_be_no_page_number() -> None:
    rule = [set_line("-" + " " * 20_000 + "-", 0)]
    start = time.perf_counter()
    assert without_running_lines([rule]) == [rule]
    assert time.perf_counter() - start < 3
    numbered = [[set_line("Text", 0), set_line(f"- {number} -", 1)] for number in range(4)]
    assert all(len(page) < 2 for page in without_running_lines(numbered))
