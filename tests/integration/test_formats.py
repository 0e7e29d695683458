"""Books of several formats in the real pipeline: what changed is read, what moved is recognised, what broke stays served."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from shelf import Shelf, clean_build, open_shelf, write

from askbook.errors import Conflict, InvalidInput
from ebooks import document, epub, lines, nav, pdf

WORDS = "The gripper closes until the force sensor tells it that the cup is held. " * 4
HTML = f"<html><body><main><h1>Page</h1><h2 id='grip'>Grip</h2><p>{WORDS}</p></main></body></html>"
FIRST = document(f'<h1>First</h1><p id="p">{WORDS}</p>')
SECOND = document(f"<h1>Second</h1><p>{WORDS} Again.</p>")
CONTENTS = nav('<li><a href="a.xhtml">First</a></li><li><a href="b.xhtml">Second</a></li>')
BOOK = epub({"a.xhtml": FIRST, "b.xhtml": SECOND}, contents=CONTENTS)
MANUAL = pdf(
    [
        lines("Safety", "", "Keep the emergency stop within reach at all times."),
        lines("Care", "", "Clean the lens of the camera with a dry cloth every week."),
    ],
    outline=(("Safety", 1), ("Care", 2)),
)
MIXED: dict[str, str | bytes] = {
    "intro.md": f"# Intro\n\n{WORDS}",
    "page.html": HTML,
    "book.epub": BOOK,
    "manual.pdf": MANUAL,
}


@pytest.fixture
def folder(place: Path) -> Path:
    return write(place / "mixed", MIXED)


@pytest_asyncio.fixture
async def shelf(place: Path) -> AsyncIterator[Shelf]:
    async with open_shelf(place / "data") as opened:
        yield opened


async def files_of(shelf: Shelf, book_id: str = "mixed") -> list[str]:
    return list(await shelf.library.lessons(book_id))


async def test_a_mixed_folder_is_one_book_and_sound(shelf: Shelf, folder: Path) -> None:
    ran = await shelf.ingest(folder)
    assert ran.failures == {}
    assert sorted(await files_of(shelf)) == [
        "book.epub/OEBPS/a.xhtml",
        "book.epub/OEBPS/b.xhtml",
        "intro.md",
        "manual.pdf",
        "page.html",
    ]
    assert (await shelf.audit("mixed")).sound
    again = await shelf.ingest(folder)
    assert (again.plan.discovered, again.embedded) == (5, 0)


async def test_chunks_of_a_pdf_name_their_pages(shelf: Shelf, folder: Path) -> None:
    await shelf.ingest(folder)
    chunks = [c async for c in shelf.library.export("mixed") if c.metadata.page_start]
    assert [(c.metadata.page_start, c.metadata.page_end, c.metadata.url) for c in chunks] == [
        (1, 2, "/manual.pdf#page=1")
    ]
    assert [section.title for section in chunks[0].sections] == ["Care"]
    assert chunks[0].section_at(len(chunks[0].text) - 1).anchor == "page=2"


async def test_only_the_changed_document_of_an_epub_is_read(shelf: Shelf, folder: Path) -> None:
    await shelf.ingest(folder)
    changed = SECOND.replace("Again.", "Never again.")
    write(folder, {"book.epub": epub({"a.xhtml": FIRST, "b.xhtml": changed}, contents=CONTENTS)})
    plan = await shelf.pipeline.plan(folder)
    assert plan.modified == ["book.epub/OEBPS/b.xhtml"]
    assert (await shelf.ingest(folder)).embedded == 1
    assert (await shelf.audit("mixed")).sound


async def test_new_titles_in_the_contents_are_taken_over(
    shelf: Shelf, folder: Path, place: Path
) -> None:
    await shelf.ingest(folder)
    contents = CONTENTS.replace(">First<", ">The Beginning<")
    write(folder, {"book.epub": epub({"a.xhtml": FIRST, "b.xhtml": SECOND}, contents=contents)})
    await shelf.ingest(folder)
    lessons = await shelf.library.lessons("mixed")
    assert lessons["book.epub/OEBPS/a.xhtml"].page_title == "The Beginning"
    assert await shelf.contents("mixed") == await clean_build(folder, place / "clean", "mixed")


@pytest.mark.parametrize(
    "data",
    [
        epub({"a.xhtml": FIRST, "b.xhtml": SECOND}, contents=CONTENTS, spine=["d1", "d0"]),
        epub({"a.xhtml": FIRST, "b.xhtml": SECOND}, contents=CONTENTS, title="Another Title"),
    ],
    ids=["order", "title"],
)
async def test_what_only_the_package_of_an_epub_says_is_taken_over(
    data: bytes, shelf: Shelf, folder: Path, place: Path
) -> None:
    await shelf.ingest(folder)
    write(folder, {"book.epub": data})
    await shelf.ingest(folder)
    assert await shelf.contents("mixed") == await clean_build(folder, place / "clean", "mixed")
    assert (await shelf.audit("mixed")).sound


async def test_renamed_files_are_recognised_and_not_embedded_again(
    shelf: Shelf, folder: Path
) -> None:
    await shelf.ingest(folder)
    for name in ("book.epub", "manual.pdf", "page.html"):
        (folder / name).rename(folder / f"my-{name}")
    plan = await shelf.pipeline.plan(folder)
    assert sorted(plan.moved) == [
        ("book.epub/OEBPS/a.xhtml", "my-book.epub/OEBPS/a.xhtml"),
        ("book.epub/OEBPS/b.xhtml", "my-book.epub/OEBPS/b.xhtml"),
        ("manual.pdf", "my-manual.pdf"),
        ("page.html", "my-page.html"),
    ]
    assert plan.deleted == []
    await shelf.ingest(folder)
    assert (await shelf.audit("mixed")).sound


async def test_what_breaks_stays_served_and_the_others_go_on(shelf: Shelf, folder: Path) -> None:
    await shelf.ingest(folder)
    write(
        folder,
        {
            "book.epub": b"garbage",
            "manual.pdf": b"%PDF garbage",
            "page.html": b"\x00\x01",
            "z.md": WORDS,
        },
    )
    ran = await shelf.ingest(folder)
    assert set(ran.failures) == {
        "book.epub",
        "book.epub/OEBPS/a.xhtml",
        "book.epub/OEBPS/b.xhtml",
        "manual.pdf",
        "page.html",
    }
    assert "is not an EPUB" in ran.failures["book.epub/OEBPS/a.xhtml"]
    assert "cannot be read as PDF" in ran.failures["manual.pdf"]
    assert {*MIXED, "z.md"} - {"book.epub"} <= set(await files_of(shelf))
    write(folder, MIXED)
    assert (await shelf.ingest(folder)).failures == {}
    assert (await shelf.audit("mixed")).sound


async def test_a_removed_epub_leaves_nothing_behind(
    shelf: Shelf, folder: Path, place: Path
) -> None:
    await shelf.ingest(folder)
    (folder / "book.epub").unlink()
    await shelf.ingest(folder)
    assert await shelf.contents("mixed") == await clean_build(folder, place / "clean", "mixed")


@pytest.mark.parametrize("name", list(MIXED))
async def test_a_single_file_is_a_book(name: str, shelf: Shelf, folder: Path) -> None:
    book_id = Path(name).stem
    ran = await shelf.ingest(folder / name)
    assert ran.failures == {}
    found = await files_of(shelf, book_id)
    assert found
    assert all(each.startswith(name) for each in found)
    shelved = await shelf.library.book(book_id)
    assert shelved is not None
    assert shelved.folder == str((folder / name).resolve())
    assert (await shelf.ingest(folder / name)).embedded == 0
    assert (await shelf.audit(book_id)).sound


async def test_another_file_of_the_same_name_is_another_book(
    shelf: Shelf, folder: Path, place: Path
) -> None:
    await shelf.ingest(folder / "manual.pdf")
    other = write(place / "other", {"manual.pdf": pdf([lines("Quite another manual it is.")])})
    with pytest.raises(Conflict, match="already belongs to the book in"):
        await shelf.ingest(other / "manual.pdf")


async def test_a_single_file_that_is_broken_loses_nothing(shelf: Shelf, folder: Path) -> None:
    await shelf.ingest(folder / "book.epub")
    before = await shelf.contents("book")
    write(folder, {"book.epub": b"garbage"})
    with pytest.raises(InvalidInput, match="is not an EPUB"):
        await shelf.ingest(folder / "book.epub")
    assert await shelf.contents("book") == before
