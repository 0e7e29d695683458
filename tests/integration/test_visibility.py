"""Readers that search and read while lessons are switched never see one half old and half new."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from shelf import BOOK, open_shelf, write
from sqlalchemy import Engine, event

from askbook.book import DocumentChunk
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.search import Searcher, SearchWeights
from askbook.storage.engine import DATABASE_FILE, open_engine
from askbook.storage.library import Library

SWITCHES = 24
EDITIONS = ("maple", "cedar")


def edition_of(chunks: Sequence[DocumentChunk]) -> set[str]:
    return {edition for edition in EDITIONS for chunk in chunks if edition in chunk.text}


def put(folder: Path, edition: str) -> None:
    """Every lesson in one edition; the editions differ in length, and share some sections."""
    for number in range(4):
        count = 12 if edition == "maple" else 9
        sections = "\n\n".join(
            f"## Part {k}\n\n" + f"The {edition} edition of lesson {number} speaks here. " * 30
            for k in range(count)
        )
        shared = "## Shared\n\n" + "This section is the same in both editions of the book. " * 30
        write(folder, {f"m/{number:02}-l.md": f"# Lesson {number}\n\n{sections}\n\n{shared}\n"})


def check_whole(chunks: Sequence[DocumentChunk]) -> str:
    """One edition, all of it, in order."""
    [edition] = edition_of(chunks)
    assert len(chunks) == (13 if edition == "maple" else 10)
    assert [c.metadata.chunk_index for c in chunks] == list(range(len(chunks)))
    assert {c.metadata.total_chunks for c in chunks} == {len(chunks)}
    assert {c.metadata.version for c in chunks} == {chunks[0].metadata.version}
    for before, after in pairwise(chunks):
        assert (before.metadata.next_chunk_id, after.metadata.prev_chunk_id) == (
            after.id,
            before.id,
        )
    return edition


async def test_no_reader_sees_a_lesson_half_old_and_half_new(place: Path) -> None:
    folder = place / BOOK
    put(folder, "maple")
    seen: Counter[str] = Counter()
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        beside = await open_engine(place / "data")  # as another process would read
        searcher = Searcher(
            shelf.library, shelf.index, shelf.embedder, None, SearchWeights(2.0, 1.0)
        )
        done = asyncio.Event()

        async def read_lessons(library: Library) -> None:
            while not done.is_set():
                for number in range(4):
                    found = await library.lesson(BOOK, source_file=f"m/{number:02}-l.md")
                    assert found is not None
                    record, chunks = found
                    assert record.chunk_count == len(chunks)
                    assert record.version == chunks[0].metadata.version
                    seen[f"read {check_whole(chunks)}"] += 1
                await asyncio.sleep(0)

        async def search() -> None:
            while not done.is_set():
                for mode in ("dense", "sparse", "hybrid"):
                    query = SearchQuery(
                        text="what does the maple or cedar edition say",
                        book_id=BOOK,
                        limit=20,
                        mode=mode,
                    )
                    context = await searcher.search(query)
                    lessons: dict[str, list[DocumentChunk]] = {}
                    for result in context.results:
                        name = result.chunk.metadata.source_file
                        lessons.setdefault(name, []).append(result.chunk)
                    assert lessons
                    for chunks in lessons.values():
                        assert len(edition_of(chunks)) <= 1
                        assert len({c.metadata.version for c in chunks}) == 1
                        seen[f"found {edition_of(chunks)}"] += 1

        async def export() -> None:
            while not done.is_set():
                lessons: dict[str, list[DocumentChunk]] = {}
                async for chunk in shelf.library.export(BOOK):
                    lessons.setdefault(chunk.metadata.source_file, []).append(chunk)
                for chunks in lessons.values():
                    seen[f"exported {check_whole(chunks)}"] += 1

        readers = [
            asyncio.create_task(work)
            for work in (
                read_lessons(shelf.library),
                read_lessons(Library(beside)),
                search(),
                search(),
                export(),
            )
        ]
        try:
            for number in range(SWITCHES):
                put(folder, EDITIONS[(number + 1) % 2])
                await shelf.ingest(folder)
                failed = [task for task in readers if task.done()]
                if failed:
                    break
        finally:
            done.set()
            results = await asyncio.gather(*readers, return_exceptions=True)
            await beside.dispose()
        for result in results:
            if isinstance(result, BaseException):
                raise result
        assert (await shelf.audit()).found.all() == []
    # Both editions were met by every kind of reader: the test saw what it is about.
    for kind in ("read", "exported"):
        assert all(seen[f"{kind} {edition}"] > 0 for edition in EDITIONS)
    assert all(seen[f"found { {edition} }"] > 0 for edition in EDITIONS)


async def test_a_lesson_is_read_as_of_one_moment(place: Path) -> None:
    """A switch that commits between the two statements of a read does not show in it."""
    folder = place / BOOK
    put(folder, "maple")
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        engine = await open_engine(place / "data")
        # Reads are made in threads, and the writer comes between two of their statements.
        writer = sqlite3.connect(place / "data" / DATABASE_FILE, check_same_thread=False)
        intruded: list[str] = []

        def intrude(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if "FROM lessons" in statement and not intruded:
                writer.execute("DELETE FROM chunks WHERE chunk_index > 3")
                writer.commit()
                intruded.append(statement)

        event.listen(Engine, "after_cursor_execute", intrude)
        try:
            found = await Library(engine).lesson(BOOK, source_file="m/00-l.md")
        finally:
            event.remove(Engine, "after_cursor_execute", intrude)
        await engine.dispose()
        writer.close()
        assert intruded
        assert found is not None
        assert check_whole(found[1]) == "maple"
        later = await shelf.library.lesson(BOOK, source_file="m/00-l.md")
        assert later is not None
        assert len(later[1]) == 4
