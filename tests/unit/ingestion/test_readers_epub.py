"""EPUBs: documents in reading order with the titles of their contents; what is broken is told, nothing is unpacked."""

import time
from pathlib import Path

import pytest
from small_books import Write, anchors_of, read_all, read_folder, text_of

from askbook.errors import InvalidInput
from askbook.ingestion.readers import epub as module
from askbook.ingestion.readers import open_reader
from ebooks import document, epub, nav

WORDS = "Some words that are long enough."
ONE = document(
    f'<section id="one"><h1>Heading One</h1><p>{WORDS}<a id="mark"/> After.</p></section>'
)
TWO = document(f"<h1>Heading Two</h1><p>{WORDS}</p>")
COVER = document('<img src="cover.jpg" alt=""/>')


def written(tmp_path: Path, data: bytes, name: str = "book.epub") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_documents_come_in_reading_order_and_a_cover_is_no_lesson(tmp_path: Path) -> None:
    data = epub(
        {"b.xhtml": TWO, "a.xhtml": ONE, "cover.xhtml": COVER},
        spine=["d2", "d0", "nav", "d1"],
        contents=nav(
            '<li><a href="b.xhtml">Second first</a></li><li><a href="a.xhtml#one">Then one</a></li>'
        ),
        title="The &amp; Book",
    )
    reader = open_reader(written(tmp_path, data, "my-book.epub"))
    lessons = read_all(reader)
    assert (reader.book.book_id, reader.book.title) == ("my-book", "The & Book")
    assert [(name, each.page_title, each.slot.lesson) for name, each in lessons.items()] == [
        ("my-book.epub/OEBPS/b.xhtml", "Second first", 1),
        ("my-book.epub/OEBPS/a.xhtml", "Then one", 2),
    ]
    one = lessons["my-book.epub/OEBPS/a.xhtml"]
    assert text_of(one) == f"# Heading One\n\n{WORDS} After."
    assert anchors_of(one) == ["one"]
    assert one.module_title == "The & Book"


def test_parts_of_the_contents_are_modules_and_chapters(tmp_path: Path) -> None:
    files = {f"{name}.xhtml": document(f"<p>{WORDS}</p>") for name in "pabqc"}
    contents = nav(
        '<li><a href="p.xhtml">Part One</a><ol>'
        '<li><a href="a.xhtml">A</a><ol><li><a href="a.xhtml#s">A section</a></li></ol></li>'
        '<li><a href="b.xhtml">B</a></li></ol></li>'
        '<li><span>Part Two</span><ol><li><a href="q.xhtml">Q</a></li><li><a href="c.xhtml">C</a></li></ol></li>'
    )
    lessons = read_all(open_reader(written(tmp_path, epub(files, contents=contents))))
    found = {name[-7]: (each.slot.module, each.module_title) for name, each in lessons.items()}
    assert found == {
        "p": ("part-one", "Part One"),
        "a": ("part-one", "Part One"),
        "b": ("part-one", "Part One"),
        "q": ("part-two", "Part Two"),
        "c": ("part-two", "Part Two"),
    }


def test_an_older_table_of_contents_is_read_too(tmp_path: Path) -> None:
    ncx = (
        '<?xml version="1.0"?><ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint id="n">'
        "<navLabel><text>From the map</text></navLabel>"
        '<content src="a.xhtml"/></navPoint></navMap></ncx>'
    )
    lessons = read_all(open_reader(written(tmp_path, epub({"a.xhtml": ONE}, ncx=ncx))))
    assert [each.page_title for each in lessons.values()] == ["From the map"]


def test_a_document_that_was_split_goes_with_the_one_before(tmp_path: Path) -> None:
    contents = nav('<li><a href="a.xhtml">Chapter</a></li>')
    files = {"a.xhtml": ONE, "a2.xhtml": document(f"<p>{WORDS}</p>")}
    lessons = read_all(open_reader(written(tmp_path, epub(files, contents=contents))))
    assert [each.page_title for each in lessons.values()] == ["Chapter", "Chapter"]


def test_beside_other_files_an_epub_is_a_module(write: Write) -> None:
    lessons = read_folder(
        write(
            {
                "intro.md": f"# Intro\n\n{WORDS}",
                "guide.epub": epub({"a.xhtml": ONE, "b.xhtml": TWO}, title="The Guide"),
                "more/extra.epub": epub({"a.xhtml": ONE}, title="Extra"),
            }
        )
    )
    assert [
        (name, each.slot.module, each.module_title, each.chapter_title)
        for name, each in lessons.items()
    ] == [
        ("guide.epub/OEBPS/a.xhtml", "guide", "The Guide", None),
        ("guide.epub/OEBPS/b.xhtml", "guide", "The Guide", None),
        ("intro.md", "main", "Book", None),
        ("more/extra.epub/OEBPS/a.xhtml", "more", "More", "Extra"),
    ]


def test_with_a_site_a_document_leads_to_the_book(write: Write) -> None:
    folder = write({"askbook.toml": 'base_url = "https://x.org"', "g.epub": epub({"a.xhtml": ONE})})
    (lesson,) = read_folder(folder).values()
    assert lesson.url == "https://x.org/g.epub"


def test_an_unpacked_epub_is_a_folder(write: Write) -> None:
    lessons = read_folder(write({"book.epub/OEBPS/a.xhtml": ONE}))
    assert list(lessons) == ["book.epub/OEBPS/a.xhtml"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no zip at all", "book.epub is not an EPUB: it is no zip archive"),
        (epub({"a.xhtml": ONE})[:400], "book.epub is not an EPUB: it is no zip archive"),
        (epub({"a.xhtml": ONE}, without=["OEBPS/content.opf"]), "no package document"),
        (epub({"a.xhtml": ONE}, without=["OEBPS/a.xhtml"]), "no document with text"),
        (epub({"cover.xhtml": COVER}), "no document with text"),
        (
            epub(
                {"a.xhtml": ONE},
                more={
                    "META-INF/encryption.xml": '<encryption><enc:EncryptedData><enc:CipherData><enc:CipherReference URI="OEBPS/a.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>'
                },
            ),
            r"is encrypted \(DRM\)",
        ),
    ],
)
def test_what_is_no_readable_epub_says_why(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        open_reader(written(tmp_path, data))


def test_a_broken_epub_in_a_folder_fails_alone(write: Write) -> None:
    reader = open_reader(write({"bad.epub": b"no zip", "good.md": f"# Good\n\n{WORDS}"}))
    assert reader.discover().files == ("bad.epub", "good.md")
    with pytest.raises(InvalidInput, match=r"bad\.epub is not an EPUB"):
        reader.load("bad.epub")


def test_missing_and_locked_documents_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    locked = '<encryption><CipherReference URI="OEBPS/b.xhtml"/><CipherReference URI="OEBPS/f.ttf"/></encryption>'
    data = epub(
        {"a.xhtml": ONE, "b.xhtml": TWO, "gone.xhtml": TWO, "../../etc/passwd": "x"},
        spine=["d0", "d1", "d2", "d3", "nowhere"],
        more={"META-INF/encryption.xml": locked},
        without=["OEBPS/gone.xhtml"],
    )
    found = open_reader(written(tmp_path, data)).discover()
    assert found.files == ("book.epub/OEBPS/a.xhtml",)
    assert found.warnings == (
        "book.epub: OEBPS/b.xhtml is encrypted (DRM); it was left out.",
        "book.epub: its document 'gone.xhtml' is missing; it was left out.",
        "book.epub: its document '../../etc/passwd' is missing; it was left out.",
        "book.epub: its spine names 'nowhere', which its manifest does not list.",
    )


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DOCUMENT", 20_000)
    bomb = document("<p>" + "zeros " * 1_000_000 + "</p>")
    reader = open_reader(written(tmp_path, epub({"a.xhtml": ONE, "bomb.xhtml": bomb})))
    assert len(reader.discover().files) == 2
    with pytest.raises(InvalidInput, match="unpacks to more than 20,000 bytes"):
        reader.load("book.epub/OEBPS/bomb.xhtml")
    assert reader.load("book.epub/OEBPS/a.xhtml") == ONE.encode()


def test_damaged_documents_fail_alone(tmp_path: Path) -> None:
    data = bytearray(epub({"a.xhtml": ONE, "b.xhtml": TWO}))
    position = data.index(b"OEBPS/b.xhtml") + len("OEBPS/b.xhtml") + 20
    data[position : position + 8] = b"\xff" * 8
    reader = open_reader(written(tmp_path, bytes(data)))
    assert reader.load("book.epub/OEBPS/a.xhtml") == ONE.encode()
    with pytest.raises(InvalidInput, match="cannot be read"):
        reader.load("book.epub/OEBPS/b.xhtml")


def test_nothing_is_written_beside_the_book(tmp_path: Path) -> None:
    path = written(tmp_path, epub({"a.xhtml": ONE, "../../out.xhtml": TWO}))
    read_all(open_reader(path))
    assert list(tmp_path.iterdir()) == [path]


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    data = epub({"a.xhtml": bomb + document(f"<p>{WORDS} &b;</p>")})
    (lesson,) = read_all(open_reader(written(tmp_path, data))).values()
    assert "aaaa" not in text_of(lesson)


def test_a_kind_of_file_that_is_not_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a kind of file that is read as a book"):
        open_reader(written(tmp_path, b"x", "book.docx"))


@pytest.mark.parametrize("opened", ["<", "<!--", "<title>", "<title "])
def test_marks_that_never_close_take_no_longer_than_others(tmp_path: Path, opened: str) -> None:
    data = epub({"a.xhtml": ONE, "b.xhtml": opened * (240_000 // len(opened))})
    start = time.perf_counter()
    assert "book.epub/OEBPS/a.xhtml" in read_all(open_reader(written(tmp_path, data)))
    assert time.perf_counter() - start < 5


def test_a_document_whose_head_is_never_closed_is_no_cover(tmp_path: Path) -> None:
    data = epub({"a.xhtml": f"<html><head><title>A title</title><body><p>{WORDS}</p>"})
    (lesson,) = read_all(open_reader(written(tmp_path, data))).values()
    assert text_of(lesson) == WORDS


def package(kind: str, guide: str = "") -> dict[str, str]:
    """What describes an EPUB of two documents, the second of another kind."""
    return {
        "OEBPS/content.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        f'<item id="b" href="b.xhtml" media-type="{kind}"/></manifest>'
        f'<spine><itemref idref="a"/><itemref idref="b"/></spine><guide>{guide}</guide></package>'
    }


@pytest.mark.parametrize(("href", "is_read"), [("b.xhtml#contents", True), ("b.xhtml", False)])
def test_a_page_with_the_contents_somewhere_on_it_is_a_lesson(
    tmp_path: Path, href: str, is_read: bool
) -> None:
    more = package("application/xhtml+xml", f'<reference type="toc" href="{href}"/>')
    reader = open_reader(written(tmp_path, epub({"a.xhtml": ONE, "b.xhtml": TWO}, more=more)))
    assert ("book.epub/OEBPS/b.xhtml" in reader.discover().files) == is_read


def test_documents_of_an_odd_kind_are_read_or_told(tmp_path: Path) -> None:
    for kind in ("text/x-oeb1-document", "application/xhtml+xml; charset=utf-8"):
        data = epub({"a.xhtml": ONE, "b.xhtml": TWO}, more=package(kind))
        assert len(open_reader(written(tmp_path, data)).discover().files) == 2
    data = epub({"a.xhtml": ONE, "b.xhtml": TWO}, more=package("application/pdf"))
    found = open_reader(written(tmp_path, data)).discover()
    assert found.files == ("book.epub/OEBPS/a.xhtml",)
    assert any("b.xhtml" in warning for warning in found.warnings)
