"""The audit finds exactly what was damaged, and repairs it to exactly the clean build."""

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shelf import BOOK, Contents, Shelf, lesson, open_shelf, write
from sqlalchemy import delete, insert, select, update

from askbook.book import content_hash
from askbook.cli.main import _run
from askbook.index import IndexPoint
from askbook.ingestion.switching import remove_book
from askbook.storage.tables import chunks, lessons, vectors
from doubles import NullEmbedder

LESSONS = {
    f"m{module}/{number:02}-l.md": lesson(f"Lesson {module}.{number}", "One", "Two", "Three")
    for module in range(2)
    for number in range(1, 4)
}

Found = set[tuple[str, str, str | None]]
"""(kind, where, chunk id)"""


@pytest.fixture
def folder(place: Path) -> Path:
    return write(place / BOOK, dict(LESSONS))


def found_by(audit: Any) -> Found:
    return {
        (kind, each.where, each.chunk_id)
        for kind in ("missing", "orphaned", "stale", "broken_links")
        for each in getattr(audit.found, kind)
    }


async def execute(shelf: Shelf, statement: Any) -> Any:
    async with shelf.engine.begin() as connection:
        return (await connection.execute(statement)).rowcount


async def row_of(shelf: Shelf, chunk_id: str) -> Any:
    async with shelf.engine.connect() as connection:
        query = select(chunks).where(chunks.c.chunk_id == chunk_id)
        return (await connection.execute(query)).one()


# One damage each: what is done to one chunk, and what the audit must say ------------------------

Damage = Callable[[Shelf, str, Random], Awaitable[Found]]


async def delete_point(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    await shelf.index.delete([chunk_id])
    return {("missing", "index", chunk_id)}


async def delete_row(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    await execute(shelf, delete(chunks).where(chunks.c.chunk_id == chunk_id))
    return {("missing", "database", chunk_id)}


async def alter_point_payload(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    point = (await shelf.index.retrieve([chunk_id]))[chunk_id]
    field, value = random.choice(
        [("text", "Something else entirely."), ("url", "/x"), ("version", 7), ("hardware_tier", 3)]
    )
    await shelf.index.overwrite_payloads({chunk_id: point.payload | {field: value}})
    return {("stale", "index", chunk_id)}


async def alter_point_links(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    point = (await shelf.index.retrieve([chunk_id]))[chunk_id]
    field = random.choice(["prev_chunk_id", "next_chunk_id", "parent_doc_id", "total_chunks"])
    value = 99 if field == "total_chunks" else "00000000-0000-0000-0000-000000000000"
    await shelf.index.overwrite_payloads({chunk_id: point.payload | {field: value}})
    return {("broken_links", "index", chunk_id)}


async def alter_vector(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    point = (await shelf.index.retrieve([chunk_id]))[chunk_id]
    vector = shelf.embedder.vector_of(f"wrong {random.random()}")
    row = await row_of(shelf, chunk_id)
    text = f"{row.payload['breadcrumb']}\n{row.payload['text']}"
    await shelf.index.upsert([IndexPoint(chunk_id, vector, text, point.payload)])
    return {("stale", "index", chunk_id)}


async def alter_terms(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    point = (await shelf.index.retrieve([chunk_id], vectors=True))[chunk_id]
    assert point.vector is not None
    text = f"nobody wrote this {random.randrange(9)}"
    await shelf.index.upsert([IndexPoint(chunk_id, point.vector, text, point.payload)])
    return {("stale", "index", chunk_id)}


async def alter_cached_vector(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    row = await row_of(shelf, chunk_id)
    wrong = shelf.embedder.vector_of(f"wrong {random.random()}").tobytes()
    where = vectors.c.text_hash == row.text_hash
    await execute(shelf, update(vectors).where(where).values(vector=wrong))
    return {("stale", "index", chunk_id)}


async def alter_row_payload(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    row = await row_of(shelf, chunk_id)
    field, value = random.choice(
        [("text", "Something else entirely."), ("url", "/x"), ("page_title", ""), ("layer", "L9")]
    )
    payload = row.payload | {field: value}
    await execute(
        shelf, update(chunks).where(chunks.c.chunk_id == chunk_id).values(payload=payload)
    )
    return {("stale", "database", chunk_id)}


async def alter_row_links(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    row = await row_of(shelf, chunk_id)
    field = random.choice(["prev_chunk_id", "next_chunk_id", "parent_doc_id"])
    payload = row.payload | {field: "00000000-0000-0000-0000-000000000000"}
    await execute(
        shelf, update(chunks).where(chunks.c.chunk_id == chunk_id).values(payload=payload)
    )
    return {("broken_links", "database", chunk_id)}


async def alter_row_columns(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    column, value, kind = random.choice(
        [
            ("source_file", "elsewhere.md", "stale"),
            ("text_hash", "0" * 64, "stale"),
            ("chunk_index", 40, "broken_links"),
        ]
    )
    await execute(
        shelf, update(chunks).where(chunks.c.chunk_id == chunk_id).values({column: value})
    )
    return {(kind, "database", chunk_id)}


async def add_point(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    row = await row_of(shelf, chunk_id)
    new = f"{random.getrandbits(128):032x}"
    new = f"{new[:8]}-{new[8:12]}-{new[12:16]}-{new[16:20]}-{new[20:]}"
    await shelf.index.upsert([IndexPoint(new, shelf.embedder.vector_of(new), "text", row.payload)])
    return {("orphaned", "index", new)}


async def add_row(shelf: Shelf, chunk_id: str, random: Random) -> Found:
    row = await row_of(shelf, chunk_id)
    new = f"00000000-0000-4000-8000-{random.getrandbits(48):012x}"
    values = dict(row._mapping) | {"chunk_id": new}
    if random.random() < 0.5:
        values["source_file"] = "never/was.md"
    await execute(shelf, insert(chunks).values(**values))
    return {("orphaned", "database", new)}


DAMAGES: list[Damage] = [
    delete_point,
    delete_row,
    alter_point_payload,
    alter_point_links,
    alter_vector,
    alter_terms,
    alter_cached_vector,
    alter_row_payload,
    alter_row_links,
    alter_row_columns,
    add_point,
    add_row,
]


async def check_repaired(shelf: Shelf, clean: Contents) -> None:
    audit = await shelf.audit()
    assert found_by(audit) == set()
    assert audit.notes == []
    assert await shelf.contents() == clean
    assert await shelf.library.dirty.of(BOOK) == []
    # The cache is right again too: a recreate of the index would give the same vectors.
    for row in (await shelf.library.rows(BOOK, chunk_ids=list(clean.payloads))).values():
        cached = await shelf.cache.find(str(shelf.embedder.fingerprint), [row.text_hash])
        assert content_hash(row.embedded_text) == row.text_hash
        assert np.allclose(
            cached[row.text_hash], shelf.embedder.vector_of(row.embedded_text), atol=1e-6
        )


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
async def test_one_damage_is_found_and_repaired(folder: Path, place: Path, damage: Damage) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        clean = await shelf.contents()
        random = Random(damage.__name__)
        for _ in range(3):
            expected = await damage(shelf, random.choice(sorted(clean.payloads)), random)
            assert found_by(await shelf.audit()) == expected
            audit = await shelf.audit(repair=True)
            assert found_by(audit) == expected
            assert len(audit.repaired) == len(expected)
            assert audit.sound
            await check_repaired(shelf, clean)


def test_any_damages_are_found_and_repaired(folder: Path, place: Path) -> None:
    ready = place / "ready"

    async def prepare() -> Contents:
        async with open_shelf(ready) as shelf:
            await shelf.ingest(folder)
            return await shelf.contents()

    clean = asyncio.run(prepare())

    @settings(max_examples=12)
    @given(
        seed=st.integers(0, 2**32),
        picks=st.lists(
            st.tuples(st.integers(0, 17), st.sampled_from(DAMAGES)), min_size=1, max_size=8
        ),
    )
    def check(seed: int, picks: list[tuple[int, Damage]]) -> None:
        asyncio.run(damage_and_repair(seed, picks))

    async def damage_and_repair(seed: int, picks: list[tuple[int, Damage]]) -> None:
        data = place / "data"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(ready, data)
        random = Random(seed)
        ids = sorted(clean.payloads)
        expected: Found = set()
        async with open_shelf(data) as shelf:
            for chunk, damage in {ids[number]: damage for number, damage in picks}.items():
                expected |= await damage(shelf, chunk, random)
            audit = await shelf.audit(repair=True)
            assert found_by(audit) == expected
            assert len(audit.repaired) == len(expected)
            await check_repaired(shelf, clean)

    check()


async def test_lesson_records_are_compared_and_repaired(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        clean, records = await shelf.contents(), await shelf.library.lessons(BOOK)
        one, two, three = list(records)[:3]
        await execute(shelf, delete(lessons).where(lessons.c.source_file == one))
        await execute(
            shelf,
            update(lessons).where(lessons.c.source_file == two).values(url="/x", chunk_count=9),
        )
        async with shelf.engine.connect() as connection:
            query = select(lessons).where(lessons.c.source_file == three)
            row = (await connection.execute(query)).one()
        values = dict(row._mapping) | {"source_file": "gone.md", "chunk_count": 0}
        await execute(shelf, insert(lessons).values(**values))
        audit = await shelf.audit(repair=True)
        assert {(d.source_file, d.what) for d in audit.found.missing} == {(one, "lesson")}
        assert {(d.source_file, d.what) for d in audit.found.stale} == {(two, "url, chunk_count")}
        assert {(d.source_file, d.what) for d in audit.found.orphaned} == {("gone.md", "lesson")}
        assert audit.sound
        await check_repaired(shelf, clean)
        assert set(await shelf.library.lessons(BOOK)) == set(records)


async def test_edited_files_show_as_differences_until_they_are_ingested(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"m0/01-l.md": lesson("Lesson 0.1", "One", "2", "Three")})
        (folder / "m1/03-l.md").unlink()
        audit = await shelf.audit()
        assert {d.where for d in audit.found.missing} == {"database", "index"}
        assert {d.source_file for d in audit.found.orphaned} == {"m0/01-l.md", "m1/03-l.md"}
        assert not audit.sound
        audit = await shelf.audit(repair=True)
        assert audit.sound
        assert (await shelf.audit()).found.all() == []


async def test_without_the_folder_database_and_index_are_compared(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        clean = await shelf.contents()
        shutil.rmtree(folder)
        random = Random(1)
        one, two, three = random.sample(sorted(clean.payloads), 3)
        expected = await delete_point(shelf, one, random)
        expected |= await alter_point_payload(shelf, two, random)
        expected |= await alter_vector(shelf, three, random)
        audit = await shelf.audit(repair=True)
        assert found_by(audit) == expected
        assert audit.sound
        assert not audit.files_compared
        assert any("Only database and index were compared" in note for note in audit.notes)
        assert await shelf.contents() == clean
        expected = await alter_row_links(shelf, one, random)
        audit = await shelf.audit(repair=True)
        assert ("broken_links", "database", one) in found_by(audit)
        assert not audit.sound  # without the files there is nothing to repair rows from


async def test_vectors_that_are_not_cached_are_sampled(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        await execute(shelf, delete(vectors))
        embedded = len(shelf.embedder.texts)
        audit = await shelf.audit()
        assert audit.sound
        assert len(shelf.embedder.texts) - embedded == 16
        assert any("2 vectors are not in the cache" in note for note in audit.notes)
        audit = await shelf.audit(repair=True)
        assert audit.notes == []


async def test_deleting_a_book_leaves_the_others(folder: Path, place: Path) -> None:
    other = write(place / "other", dict(LESSONS))
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        await shelf.ingest(other)
        clean = await shelf.contents()
        shelved = await shelf.library.book("other")
        assert shelved is not None
        assert await remove_book(shelf.library, shelf.cache, shelf.index, shelved) == 18
        assert await shelf.library.book("other") is None
        assert await shelf.index.count("other") == 0
        assert await shelf.library.totals("other") == (0, 0)
        await check_repaired(shelf, clean)


@pytest.mark.parametrize("step", ["index.delete_book", "cache.forget", "library.delete_book"])
async def test_a_deletion_that_was_interrupted_is_finished_or_undone(
    folder: Path, place: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object) -> None:
        raise RuntimeError("killed")

    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        clean = await shelf.contents()
        shelved = await shelf.library.book(BOOK)
        assert shelved is not None
        part: Literal["index", "cache", "library"]
        part, name = step.split(".")  # pyright: ignore[reportAssignmentType] one of the three
        with monkeypatch.context() as patch:
            patch.setattr(type(getattr(shelf, part)), name, dies)
            with pytest.raises(RuntimeError, match="killed"):
                await remove_book(shelf.library, shelf.cache, shelf.index, shelved)
        await shelf.ingest(folder)
        await check_repaired(shelf, clean)


# The commands -----------------------------------------------------------------------------------


@pytest.fixture
def command(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """Runs a command with the null embedder: its exit code and what it printed."""
    monkeypatch.setattr("askbook.bootstrap.parts.BuiltinEmbedder", NullEmbedder)

    def run(*arguments: str) -> tuple[int, str]:
        code = _run([*arguments, "--data-dir", str(place / "data")])
        return code, capsys.readouterr().out

    return run


Command = Callable[..., tuple[int, str]]


def test_audit_command(folder: Path, place: Path, command: Command) -> None:
    assert command("ingest", str(folder))[0] == 0
    code, out = command("audit", "--json")
    document = json.loads(out)
    assert (code, document["sound"]) == (0, True)
    for name in ("missing", "orphaned", "stale", "broken_links", "repaired"):
        assert document[name] == []
    write(folder, {"m0/01-l.md": lesson("Lesson 0.1", "One", "Two")})
    code, out = command("audit", "--book", BOOK, "--json")
    document = json.loads(out)
    assert code == 5
    assert document["orphaned"]
    assert set(document["orphaned"][0]) == {"book_id", "source_file", "chunk_id", "where", "what"}
    assert command("audit")[0] == 5
    code, out = command("audit", "--repair", "--json")
    document = json.loads(out)
    assert code == 0
    assert len(document["repaired"]) == sum(
        len(document[name]) for name in ("missing", "orphaned", "stale", "broken_links")
    )
    assert command("audit")[0] == 0
    assert command("audit", "--book", "nobody")[0] == 4


def test_export_and_library_commands(folder: Path, place: Path, command: Command) -> None:
    assert command("books", "--json") == (0, '{\n  "books": []\n}\n')
    assert command("export")[0] == 4
    assert command("ingest", str(folder))[0] == 0
    code, out = command("export", "--book", BOOK)
    exported = [json.loads(line) for line in out.splitlines()]
    assert (code, len(exported)) == (0, 18)
    places = [(e["source_file"], e["chunk_index"]) for e in exported]
    assert places == sorted(places)
    assert {"chunk_id", "text", "url", "content_hash", "prev_chunk_id"} <= set(exported[0])
    assert json.loads(command("export", "--json")[1]) == exported

    code, out = command("lesson", exported[3]["parent_doc_id"], "--json")
    assert (code, json.loads(out)["chunks"]) == (0, exported[3:6])
    assert command("lesson", "nothing")[0] == 4
    code, out = command("context", exported[4]["chunk_id"], "--json")
    assert (code, json.loads(out)["chunks"]) == (0, exported[3:6])
    assert command("context", "nothing")[0] == 4

    [listed] = json.loads(command("books", "--json")[1])["books"]
    assert (listed["book_id"], listed["lessons"], listed["chunks"]) == (BOOK, 6, 18)
    assert command("delete-book", BOOK)[0] == 4
    assert json.loads(command("books", "--json")[1])["books"] == [listed]
    assert command("delete-book", BOOK, "--yes")[0] == 0
    assert json.loads(command("books", "--json")[1])["books"] == []
    assert command("delete-book", BOOK, "--yes")[0] == 4
