"""The same book as Markdown, HTML, EPUB and PDF: the same words, headings, code and places."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from askbook.book import Block, DocumentChunk, Lesson
from askbook.bootstrap import Askbook
from askbook.config import load_settings
from askbook.ingestion.readers import open_reader
from askbook.retrieval.query import SearchQuery, SearchResult

DATA = Path(__file__).parents[3] / "shared" / "data" / "dev"
BOOK = DATA / "robotics_docusaurus"
PLACES = {
    ".": "markdown",
    "formats/html": "html",
    "formats/robotics.epub": "epub",
    "formats/robotics.pdf": "pdf",
}
pytestmark = pytest.mark.skipif(
    not (BOOK / "formats").is_dir(), reason="no book in several formats beside this checkout"
)

_WORD = re.compile(r"\w+")
_CODE = re.compile(r"(`+).*?\1", re.S)
_TAG = re.compile(
    r"(?<!\\)</?(?:p|div|span|li|ul|ol|td|tr|table|h[1-6]|a|em|strong|code|pre)\b[^<>]*>"
)
_LOST_BY_THE_CONVERTER = re.compile(r"^(?:import|export)\s.*$", re.M)
"""Lines that were stripped as MDX, in code too, before pandoc made the other formats."""
_LINK = re.compile(r"\]\([^)]*\)")


@cache
def lessons(place: str) -> tuple[Lesson, ...]:
    reader = open_reader(BOOK / place)
    declared = [reader.declare(name, reader.load(name)) for name in reader.discover().files]
    places = reader.places(declared)
    read = (
        reader.read(each, places[each.source_file], reader.load(each.source_file))
        for each in declared
    )
    return tuple(lesson for lesson in read if len(lesson.blocks) > 1)  # not the title page


def words(blocks: Iterator[Block] | tuple[Block, ...]) -> Counter[str]:
    text = "\n".join(block.text for block in blocks)
    text = _LINK.sub("]", _LOST_BY_THE_CONVERTER.sub("", text))
    text = re.sub(r"^```\w+$", "```", text, flags=re.M)
    return Counter(word.casefold() for word in _WORD.findall(text))


def coverage(wanted: Counter[str], found: Counter[str]) -> float:
    return 1 - (wanted - found).total() / wanted.total()


def headings(blocks: Iterator[Block] | tuple[Block, ...]) -> list[str]:
    return [block.heading.title for block in blocks if block.heading is not None]


def code_lines(blocks: Iterator[Block] | tuple[Block, ...]) -> list[str]:
    text = "\n".join(block.text for block in blocks if block.kind == "code")
    lines = _LOST_BY_THE_CONVERTER.sub("", text).split("\n")
    return [line.rstrip() for line in lines if line.strip() and not line.startswith("```")]


def chapters(blocks: tuple[Block, ...]) -> list[tuple[Block, ...]]:
    """The blocks from one heading of level 1 to the next."""
    tops = [i for i, each in enumerate(blocks) if each.heading and each.heading.level == 1]
    return [blocks[start:end] for start, end in pairwise([*tops, len(blocks)])]


def of_all(place: str) -> tuple[Block, ...]:
    return tuple(block for lesson in lessons(place) for block in lesson.blocks)


@pytest.mark.parametrize("place", ["formats/html", "formats/robotics.epub"])
def test_pages_and_documents_have_the_words_headings_and_code_of_their_lesson(place: str) -> None:
    for wanted, found in zip(lessons("."), lessons(place), strict=True):
        assert coverage(words(wanted.blocks), words(found.blocks)) >= 0.98, found.source_file
        assert coverage(words(found.blocks), words(wanted.blocks)) >= 0.98, found.source_file
        assert headings(found.blocks) == headings(wanted.blocks)
        assert code_lines(found.blocks) == code_lines(wanted.blocks)
        assert found.warnings == ()


def test_a_pdf_has_the_words_and_headings_of_the_book() -> None:
    wanted, found = of_all("."), of_all("formats/robotics.pdf")
    for lesson, chapter in zip(lessons("."), chapters(found), strict=True):
        assert coverage(words(lesson.blocks), words(chapter)) >= 0.95, lesson.source_file
        assert coverage(words(chapter), words(lesson.blocks)) >= 0.95, lesson.source_file
    assert headings(found) == headings(wanted)
    lines = Counter(code_lines(wanted))
    kept = 1 - (lines - Counter(code_lines(found))).total() / lines.total()
    assert kept >= 0.95  # the printed page breaks lines that are too long for it
    pages = [block.page or 0 for block in found]
    assert pages == sorted(pages)
    assert (pages[0], pages[-1]) == (1, 111)


@pytest.mark.parametrize("place", list(PLACES)[1:])
def test_no_tags_leak_into_text(place: str) -> None:
    for block in of_all(place):
        if block.kind != "code":
            assert not _TAG.search(_CODE.sub("", block.text)), block.text[:200]


async def test_the_same_questions_find_the_same_places(tmp_path: Path) -> None:
    """Of every question the chapter it is about, and the section that the Markdown finds first."""
    rows = [json.loads(line) for line in (BOOK / "questions.jsonl").read_text("utf-8").splitlines()]
    chapters = [chapter_title(int(row["gold_docs"][0][:2])) for row in rows]
    found: dict[str, list[list[SearchResult]]] = {}
    async with Askbook(load_settings(data_dir=tmp_path / "data", judge=False)) as askbook:
        for place, book_id in PLACES.items():
            async for _ in askbook.ingest(BOOK / place, book_id):
                pass
            queries = [SearchQuery(text=r["question"], book_id=book_id, limit=5) for r in rows]
            found[place] = [list((await askbook.searcher.search(q)).results) for q in queries]
    first = [results[0].chunk.metadata.section_title for results in found["."]]
    for place in list(PLACES)[1:]:
        in_chapter = sum(
            any(title in r.chunk.metadata.breadcrumb for r in results)
            for title, results in zip(chapters, found[place], strict=True)
        )
        same_section = sum(
            any(title in titles_of(r.chunk) for r in results)
            for title, results in zip(first, found[place], strict=True)
        )
        print(f"{place}: {in_chapter} find their chapter, {same_section} the same section, of 18")
        assert in_chapter >= len(rows) - 1
        assert same_section >= len(rows) - 2


def titles_of(chunk: DocumentChunk) -> list[str | None]:
    """The sections a chunk holds text of."""
    return [chunk.metadata.section_title, *(section.title for section in chunk.sections)]


def chapter_title(number: int) -> str:
    return headings(lessons(".")[number - 1].blocks)[0].partition(": ")[2][:40]
