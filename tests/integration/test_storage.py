"""The database: migrated, whole after every write, and held by one process."""

import asyncio
import multiprocessing
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine

import askbook.storage.engine as engine_module
from askbook.book import Book, DocumentChunk, Heading, Module
from askbook.errors import (
    ConfigurationError,
    DataDirectoryBusy,
    DataDirectoryCorrupt,
    ServiceUnavailable,
)
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import DATABASE_FILE, open_engine
from askbook.storage.library import Library
from askbook.storage.rows import ChunkRow, ShelvedBook, ShelvedLesson
from askbook.storage.tables import metadata
from askbook.storage.vectors import VectorCache
from sample_chunks import make_chunk

NOW = datetime(2025, 11, 29, 12, 0, tzinfo=UTC)


@pytest_asyncio.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = await open_engine(tmp_path)
    yield engine
    await engine.dispose()


@pytest.fixture
def library(engine: AsyncEngine) -> Library:
    return Library(engine)


def shelved_book(book_id: str = "robots", **given: Any) -> ShelvedBook:
    book = Book(
        book_id,
        "Robots",
        modules=(Module("ros2", "ROS 2", ("ros",)), Module("isaac", "Isaac")),
        reader_tier=3,
        refusal="Not here.",
    )
    return ShelvedBook(
        book=book, folder="/books/robots", fingerprint="f", settings_hash="s", **given
    )


def shelved_lesson(source_file: str, chunks: list[DocumentChunk], **given: Any) -> ShelvedLesson:
    values: dict[str, Any] = {
        "book_id": "robots",
        "source_file": source_file,
        "position": 0,
        "file_hash": "a" * 64,
        "inputs_hash": "b" * 64,
        "module": "ros2",
        "chapter": 1,
        "lesson": 2,
        "parent_doc_id": chunks[0].metadata.parent_doc_id if chunks else make_chunk().id,
        "page_title": "Nodes",
        "url": "/nodes",
        "headings": (Heading(2, "What is a node?", "what"), Heading(2, "Topics", "topics")),
        "includes": ("_note.mdx",),
        "declared": {"title": "Nodes"},
        "place": {"module_title": "ROS 2", "chapter_title": None},
        "warnings": ("a warning",),
        "chunk_count": len(chunks),
        "version": 1,
        "created_at": NOW,
        "ingested_at": NOW,
    } | given
    names = set(ShelvedLesson.__slots__)
    return ShelvedLesson(**{name: value for name, value in values.items() if name in names})


def chunks_of(source_file: str, count: int, book_id: str = "robots") -> list[DocumentChunk]:
    return [
        make_chunk(
            f"Chunk number {n} of {source_file}.",
            book_id=book_id,
            source_file=source_file,
            chunk_index=n,
            total_chunks=count,
        )
        for n in range(count)
    ]


async def put(library: Library, source_file: str, count: int, **given: Any) -> list[DocumentChunk]:
    chunks = chunks_of(source_file, count, given.get("book_id", "robots"))
    lesson = shelved_lesson(source_file, chunks, **given)
    rows = {
        c.id: ChunkRow(source_file, c.metadata.chunk_index, "c" * 64, c.to_payload())
        for c in chunks
    }
    await library.save_book(shelved_book(lesson.book_id))
    assert await library.replace(lesson.book_id, [lesson], rows)
    return chunks


# --- The engine ---


def _differences(connection: Connection) -> list[Any]:
    """Where the database and the declared tables are not the same."""
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


async def test_migrations_make_exactly_the_declared_tables(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        assert await connection.run_sync(_differences) == []


async def test_opening_again_keeps_everything(tmp_path: Path) -> None:
    engine = await open_engine(tmp_path)
    await Library(engine).save_book(shelved_book())
    await engine.dispose()
    engine = await open_engine(tmp_path)
    assert await Library(engine).book("robots") == shelved_book()
    await engine.dispose()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_FILE
    path.write_bytes(b"garbage " * 200)
    with pytest.raises(DataDirectoryCorrupt) as caught:
        await open_engine(tmp_path)
    assert "damaged" in caught.value.message
    assert caught.value.suggestion
    assert path.read_bytes() == b"garbage " * 200


@pytest.mark.parametrize("version", ["0001", "0002", "0003", "0004", "0005"])
async def test_an_older_database_is_brought_up_to_date(tmp_path: Path, version: str) -> None:
    url = f"sqlite:///{tmp_path / DATABASE_FILE}"
    migrations = Config()
    migrations.set_main_option(
        "script_location", str(Path(engine_module.__file__).parent / "migrations")
    )
    older = create_engine(url)
    with older.begin() as connection:
        migrations.attributes["connection"] = connection
        command.upgrade(migrations, version)
    older.dispose()
    engine = await open_engine(tmp_path)
    async with engine.connect() as connection:
        assert await connection.run_sync(_differences) == []
    await engine.dispose()


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    await (await open_engine(tmp_path)).dispose()
    with sqlite3.connect(tmp_path / DATABASE_FILE) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(ServiceUnavailable, match="newer than this askbook"):
        await open_engine(tmp_path)


# --- The library ---


async def test_a_book_comes_back_as_it_was_saved(library: Library) -> None:
    shelved = shelved_book(last_full_ingest=NOW, last_incremental_update=NOW)
    await library.save_book(shelved)
    assert await library.book("robots") == shelved
    assert await library.books() == [shelved]
    assert await library.book("absent") is None


@pytest.mark.parametrize("title", ["naïve café 机器", "a lone \ud800 surrogate", '"quoted"\x00'])
async def test_any_words_come_back_from_json(library: Library, title: str) -> None:
    saved = shelved_book()
    saved = replace(saved, book=replace(saved.book, modules=(Module("ros2", title, ()),)))
    await library.save_book(saved)
    assert await library.book("robots") == saved


async def test_a_lesson_comes_back_with_its_chunks_in_order(library: Library) -> None:
    chunks = await put(library, "b.md", 5)
    found = await library.lesson("robots", source_file="b.md")
    assert found is not None
    lesson, stored = found
    assert stored == chunks
    assert lesson == shelved_lesson("b.md", chunks)
    by_parent = await library.lesson("robots", parent_doc_id=lesson.parent_doc_id)
    assert by_parent == found
    assert await library.lesson("robots", source_file="absent.md") is None
    assert await library.lesson("other", source_file="b.md") is None


async def test_replacing_a_lesson_leaves_nothing_of_the_old_one(library: Library) -> None:
    old = await put(library, "b.md", 5)
    await put(library, "c.md", 2)
    new = await put(library, "b.md", 2)
    assert await library.chunk_ids("robots") == {
        "b.md": [chunk.id for chunk in new],
        "c.md": [chunk.id for chunk in chunks_of("c.md", 2)],
    }
    assert await library.totals("robots") == (2, 4)
    visible = await library.chunks("robots", [chunk.id for chunk in old])
    assert set(visible) == {chunk.id for chunk in new} & {chunk.id for chunk in old}


async def test_nothing_is_written_to_a_book_that_is_gone(library: Library) -> None:
    chunks = await put(library, "b.md", 2)
    await library.delete_book("robots")
    assert not await library.replace("robots", [shelved_lesson("b.md", chunks)], {})
    assert not await library.update_book(shelved_book())
    assert await library.totals("robots") == (0, 0)
    assert await library.book("robots") is None


async def test_readers_never_see_half_a_lesson(library: Library) -> None:
    """While one version replaces another, every reader sees the whole of one of them."""
    await put(library, "b.md", 8)
    seen: set[int] = set()

    async def read() -> None:
        for _ in range(40):
            found = await library.lesson("robots", source_file="b.md")
            assert found is not None
            lesson, chunks = found
            assert len(chunks) == lesson.chunk_count == chunks[0].metadata.total_chunks
            seen.add(len(chunks))

    async def write() -> None:
        for count in (3, 8, 3, 8, 3):
            await put(library, "b.md", count)

    await asyncio.gather(read(), write(), read())
    assert seen <= {3, 8}


async def test_a_book_sees_nothing_of_another(library: Library) -> None:
    mine = await put(library, "b.md", 2)
    other = await put(library, "b.md", 3, book_id="cooking")
    assert await library.chunks("robots", [chunk.id for chunk in other]) == {}
    await library.save_book(shelved_book("cooking"))
    await library.delete_book("cooking")
    assert await library.totals("cooking") == (0, 0)
    assert set(await library.chunks("robots", [c.id for c in mine])) == {c.id for c in mine}


async def test_export_is_in_book_order(library: Library) -> None:
    await put(library, "z.md", 2, position=1)
    await put(library, "a.md", 2, position=2)
    exported = [chunk async for chunk in library.export("robots")]
    assert [(c.metadata.source_file, c.metadata.chunk_index) for c in exported] == [
        ("z.md", 0),
        ("z.md", 1),
        ("a.md", 0),
        ("a.md", 1),
    ]


async def test_dirty_points_are_remembered_until_they_are_put_right(library: Library) -> None:
    ids = [chunk.id for chunk in chunks_of("b.md", 3)]
    await library.dirty.mark("robots", ids)
    await library.dirty.mark("robots", ids[:1])
    await library.dirty.clear("robots", ids[1:])
    assert await library.dirty.of("robots") == ids[:1]
    assert await library.dirty.of("cooking") == []


async def test_many_ids_at_once(library: Library) -> None:
    chunks = await put(library, "b.md", 5)
    wanted = [chunk.id for chunk in chunks] * 500 + [str(n) for n in range(3000)]
    assert set(await library.chunks("robots", wanted)) == {chunk.id for chunk in chunks}


async def test_vectors_are_kept_by_embedder_and_text(engine: AsyncEngine) -> None:
    cache = VectorCache(engine)
    vector = np.asarray([0.1, 0.2, 0.3], dtype=np.float32)
    await cache.save("one", {"a" * 64: vector})
    np.testing.assert_array_equal((await cache.find("one", ["a" * 64, "b" * 64]))["a" * 64], vector)
    assert await cache.find("other", ["a" * 64]) == {}


async def test_chunks_come_with_the_vectors_of_this_embedder(
    library: Library, engine: AsyncEngine
) -> None:
    [chunk] = await put(library, "b.md", 1)
    vector = np.asarray([0.6, 0.8], dtype=np.float32)
    await VectorCache(engine).save("one", {"c" * 64: vector})
    wanted = [chunk.id, "unknown"]
    [(found, cached)] = (await library.chunks_with_vectors("robots", wanted, "one")).values()
    assert found == chunk
    assert cached is not None
    np.testing.assert_array_equal(cached, vector)
    assert await library.chunks_with_vectors("robots", wanted, "other") == {chunk.id: (chunk, None)}
    assert await library.chunks_with_vectors("cooking", wanted, "one") == {}


# --- The data directory ---


def hold(path: str, held: Any, leave: Any) -> None:
    directory = DataDirectory(Path(path))
    held.set()
    leave.wait(30)
    directory.close()


def test_one_process_holds_a_data_directory(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, leave = context.Event(), context.Event()
    other = context.Process(target=hold, args=(str(tmp_path / "data"), held, leave))
    other.start()
    assert held.wait(60)
    with pytest.raises(DataDirectoryBusy) as caught:
        DataDirectory(tmp_path / "data")
    assert f"pid {other.pid}" in caught.value.message
    assert "--data-dir" in caught.value.suggestion
    # The lock dies with the process, however it dies.
    other.kill()
    other.join()
    DataDirectory(tmp_path / "data").close()


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        DataDirectory(tmp_path / "file" / "data")
