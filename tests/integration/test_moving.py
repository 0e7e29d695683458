"""A data directory moves to PostgreSQL and Qdrant: everything, once, whatever interrupts it."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import crashing_move
import numpy as np
import pytest
import pytest_asyncio
from sqlalchemy import delete, func, insert, inspect, select, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.bootstrap import Askbook, Scope
from askbook.bootstrap.moving import MOVE_FILE, MovePlan, open_move
from askbook.bootstrap.parts import make_embedder, make_index
from askbook.cli.main import main
from askbook.config import Settings, load_settings
from askbook.errors import (
    Conflict,
    DataDirectoryBusy,
    EmbedderMismatch,
    NotFound,
    ServiceUnavailable,
    ValidationFailed,
)
from askbook.index import StoredPoint
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import DATABASE_FILE, engine_on, open_engine
from askbook.storage.library import Library
from askbook.storage.tables import (
    books,
    chunks,
    conversation_threads,
    ingestion_jobs,
    lessons,
)
from data_directories import copy_data
from lived_in import FOREIGN, contents, live_in
from qdrant_server import QdrantServer
from two_books import QUESTIONS

BOOKS = ("engines", "gardens")
CRASHES = int(os.environ.get("ASKBOOK_TEST_CRASHES", "4"))


@dataclass(frozen=True)
class Lived:
    data_dir: Path
    session: str
    key: str


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def lived_in(two_books: Path, tmp_path_factory: pytest.TempPathFactory) -> Lived:
    """A closed data directory that readers have used, for copying only."""
    folder = copy_data(two_books, tmp_path_factory.mktemp("lived-in") / "data")
    return Lived(folder, *await live_in(folder))


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


@pytest.fixture
def embedded(lived_in: Lived, tmp_path: Path) -> Settings:
    """The settings before the move."""
    return load_settings(data_dir=copy_data(lived_in.data_dir, tmp_path / "data"), judge=False)


@pytest.fixture
def served(embedded: Settings, database_url: str, qdrant: QdrantServer) -> Settings:
    """The settings after the move."""
    return load_settings(
        data_dir=embedded.storage.data_dir,
        judge=False,
        database_url=database_url,
        qdrant_url=qdrant.url,
    )


@pytest_asyncio.fixture
async def target(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = engine_on(database_url)
    yield engine
    await engine.dispose()


async def moved(settings: Settings, *, until: str | None = None) -> MovePlan:
    """Move; with `until`, only as far as the first step of that part."""
    async with open_move(settings) as move:
        plan = await move.plan()
        async for step in move.run(plan):
            if step.part == until:
                break
        return plan


async def disturbed(settings: Settings, part: str, mishap: Callable[[], Awaitable[None]]) -> None:
    """Move, with a mishap after each step of a part."""
    async with open_move(settings) as move:
        async for step in move.run(await move.plan()):
            if step.part == part:
                await mishap()


async def here(settings: Settings) -> dict[str, list[dict[str, Any]]]:
    engine = await open_engine(settings.storage.data_dir)
    try:
        return await contents(engine)
    finally:
        await engine.dispose()


async def points(settings: Settings, book_id: str) -> dict[str, StoredPoint]:
    index = make_index(settings, make_embedder(settings).fingerprint)
    try:
        return {p.chunk_id: p async for p in index.scroll(book_id, vectors=True)}
    finally:
        await index.close()


async def check_moved(embedded: Settings, served: Settings, target: AsyncEngine) -> None:
    """Everything is there as it was, and nothing else."""
    assert await contents(target) == await here(embedded)
    for book_id in BOOKS:
        before, after = await points(embedded, book_id), await points(served, book_id)
        assert list(before) == list(after)
        for chunk_id, point in before.items():
            assert after[chunk_id].payload == point.payload
            assert after[chunk_id].terms == point.terms
            assert np.array_equal(bits(after[chunk_id]), bits(point))


def bits(point: StoredPoint) -> Any:
    assert point.vector is not None
    return point.vector.view(np.uint32)


async def without_tables(target: AsyncEngine) -> bool:
    async with target.connect() as connection:
        return await connection.run_sync(lambda c: inspect(c).get_table_names()) == []


# --- What moves ---


async def test_every_row_and_every_point_moves(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    before = await here(embedded)
    plan = await moved(served)
    await check_moved(embedded, served, target)
    assert await here(embedded) == before
    assert not (embedded.storage.data_dir / MOVE_FILE).exists()
    assert (plan.books, plan.index, plan.resumed) == (BOOKS, "moves", False)
    # The fixture has something of everything, so that nothing can be forgotten unseen.
    empty = {"dirty_points", "unfinished_moves"}
    assert {name for name, rows in before.items() if not rows} == empty
    assert plan.counts == {n: len(rows) for n, rows in before.items() if n not in empty} | {
        "points": len(before["chunks"])
    }


async def test_readers_notice_nothing(
    lived_in: Lived, embedded: Settings, served: Settings, tmp_path: Path
) -> None:
    async def asked(settings: Settings) -> list[Any]:
        async with Askbook(settings) as askbook:
            told: list[Any] = []
            for book_id, question in QUESTIONS.items():
                scope = Scope(book_id=book_id)
                _, context = await askbook.search(question, scope)
                told.append([(r.chunk.id, round(r.score, 5)) for r in context.results])
                answer = await askbook.ask(question, scope)
                told.append((answer.answer, [c.url for c in answer.citations]))
            told.append(await askbook.conversations.history(lived_in.session))
            told.append(
                [(v.comment, v.answer) for v in (await askbook.list_feedback("gardens")).votes]
            )
            told.append(await askbook.keys.authenticate(lived_in.key))
            told.append([each.question for each in (await askbook.list_gaps("gardens")).clusters])
            return told

    before = await asked(embedded)
    assert before[-1] == [FOREIGN]
    await moved(served)
    # Another machine, with a data directory of its own.
    elsewhere = replace(
        served, storage=served.storage.model_copy(update={"data_dir": tmp_path / "other"})
    )
    assert await asked(elsewhere) == before
    async with Askbook(elsewhere) as askbook:
        assert all(audit.sound for audit in await askbook.audit())
        newest = max(job.job_id for job in await askbook.jobs.store.newest(10))
        [folder] = [b.folder for b in await askbook.library.books() if b.book.book_id == "gardens"]
        jobs = [progress.job async for progress in askbook.ingest(Path(folder))]
        assert jobs[-1].status == "completed"
        assert jobs[-1].counts.embedded_chunks == 0
        assert jobs[-1].job_id == newest + 1


async def test_the_database_moves_alone_where_no_qdrant_is_named(
    embedded: Settings, database_url: str, target: AsyncEngine
) -> None:
    """The index stays what it is, and with it the notes on where it may differ."""
    source = await open_engine(embedded.storage.data_dir)
    await Library(source).dirty.mark("gardens", ["an-orphan"])
    await source.dispose()
    settings = load_settings(
        data_dir=embedded.storage.data_dir, judge=False, database_url=database_url
    )
    assert (await moved(settings)).index == "embedded"
    assert await contents(target) == await here(embedded)
    async with Askbook(settings) as askbook:
        assert await askbook.library.dirty.of("gardens") == ["an-orphan"]
        assert all(audit.sound for audit in await askbook.audit())


async def test_an_index_that_is_on_the_server_already_stays(
    two_books: Path, tmp_path: Path, database_url: str, qdrant: QdrantServer
) -> None:
    before = load_settings(data_dir=tmp_path / "data", judge=False, qdrant_url=qdrant.url)
    async with Askbook(before) as askbook:
        async for _ in askbook.ingest(two_books.parent / "sources" / "gardens"):
            pass
    after = load_settings(
        data_dir=tmp_path / "data", judge=False, qdrant_url=qdrant.url, database_url=database_url
    )
    wrong = replace(
        after, index=after.index.model_copy(update={"qdrant_collection_name": "another"})
    )
    with pytest.raises(ValidationFailed, match="'another' has 0 points of it"):
        await moved(wrong)
    seen = len(qdrant.seen)
    plan = await moved(after)
    assert (plan.index, "points" in plan.counts) == ("server", False)
    assert {request.method for request in qdrant.seen[seen:]} <= {"GET", "POST"}
    assert not [path for path in qdrant.paths()[seen:] if path.endswith(("delete", "batch"))]
    async with Askbook(after) as askbook:
        assert all(audit.sound for audit in await askbook.audit())


async def test_vectors_that_are_not_cached_come_from_the_index(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    whole = await here(embedded)
    with sqlite3.connect(embedded.storage.data_dir / DATABASE_FILE) as connection:
        connection.execute("DELETE FROM vectors")
    await moved(served)
    assert len((await contents(target))["vectors"]) == len(whole["vectors"])
    async with Askbook(served) as askbook:
        assert all(audit.sound for audit in await askbook.audit())


async def test_a_chunk_without_any_vector_stops_the_move(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    with sqlite3.connect(embedded.storage.data_dir / DATABASE_FILE) as connection:
        connection.execute("DELETE FROM vectors")
    index = make_index(embedded, make_embedder(embedded).fingerprint)
    await index.delete_book("gardens")
    await index.close()
    with pytest.raises(ValidationFailed, match="neither cached nor indexed") as caught:
        await moved(served)
    assert "audit --repair" in caught.value.suggestion
    assert await Library(target).books() == []
    async with Askbook(embedded) as askbook:
        await askbook.audit(repair=True)
    assert (await moved(served)).resumed
    await check_moved(embedded, served, target)


async def test_jobs_come_behind_those_that_are_there(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    job = (await here(embedded))["ingestion_jobs"][0]
    engine = await open_engine(embedded.storage.data_dir, str(_url(served)))
    async with engine.begin() as connection:
        await connection.execute(insert(ingestion_jobs), job | {"job_id": 7, "book_id": "other"})
    await engine.dispose()
    await moved(served)
    found = {row["job_id"]: row["book_id"] for row in (await contents(target))["ingestion_jobs"]}
    assert found == {7: "other", 8: "gardens", 9: "engines"}
    async with target.begin() as connection:
        query = text("SELECT nextval(pg_get_serial_sequence('ingestion_jobs', 'job_id'))")
        assert (await connection.execute(query)).scalar() == 10


async def test_other_books_are_left_alone(
    embedded: Settings, served: Settings, target: AsyncEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "cooking"
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nDough rests for an hour before it is baked.\n")
    elsewhere = replace(
        served, storage=served.storage.model_copy(update={"data_dir": tmp_path / "other"})
    )
    async with Askbook(elsewhere) as askbook:
        async for _ in askbook.ingest(folder):
            pass
    await moved(served)
    assert {b.book.book_id for b in await Library(target).books()} == {*BOOKS, "cooking"}
    async with Askbook(elsewhere) as askbook:
        assert all(audit.sound for audit in await askbook.audit())


# --- Interrupted ---


@pytest.mark.parametrize("part", ["chunks", "points"])
async def test_an_interrupted_move_shows_nothing_and_is_continued(
    embedded: Settings, served: Settings, target: AsyncEngine, part: str
) -> None:
    await moved(served, until=part)
    assert await Library(target).books() == []
    assert (await moved(served)).resumed
    await check_moved(embedded, served, target)


async def test_a_server_that_goes_away_in_the_middle_is_named_and_the_rest_follows(
    embedded: Settings, served: Settings, target: AsyncEngine, qdrant: QdrantServer
) -> None:
    async def stop() -> None:
        qdrant.http.stop()

    with pytest.raises(ServiceUnavailable, match="The Qdrant server at"):
        await disturbed(served, "ingestion_jobs", stop)
    qdrant.http.start()
    assert (await moved(served)).resumed
    await check_moved(embedded, served, target)


async def test_what_changed_in_between_is_moved_as_it_is_now(
    lived_in: Lived,
    two_books: Path,
    embedded: Settings,
    served: Settings,
    target: AsyncEngine,
    tmp_path: Path,
) -> None:
    await moved(served, until="points")
    async with Askbook(embedded) as askbook:
        await askbook.conversations.delete(lived_in.session)
        edited = Path(shutil.copytree(two_books.parent / "sources/gardens", tmp_path / "gardens"))
        next(edited.rglob("*watering.md")).write_text("# Watering\n\nNever at noon.\n")
        async for _ in askbook.ingest(edited):
            pass
        await askbook.delete_book("engines")
    assert (await moved(served)).resumed
    left = await contents(target)
    assert left.pop("vectors") != []
    now = await here(embedded)
    del now["vectors"]
    assert left == now
    assert await points(served, "engines") == {}
    assert list(await points(served, "gardens")) == list(await points(embedded, "gardens"))


def run_child(settings: Settings, last: int | None, told: Path) -> int | None:
    # Children of a server that has the product imported: a kill hits a move, not an import.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["askbook.bootstrap.moving", "askbook.index.server", "asyncpg"])
    place = (settings.storage.data_dir, _url(settings), settings.index.qdrant_url, last, told)
    child = context.Process(target=crashing_move.move, args=place)
    child.start()
    child.join(120)
    return child.exitcode


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL and fork")
@pytest.mark.parametrize("seed", range(CRASHES))
async def test_kill_at_any_moment(
    embedded: Settings, served: Settings, target: AsyncEngine, tmp_path: Path, seed: int
) -> None:
    """Two kills at moments drawn from a whole move, of which the second hits the continuation."""
    random = Random(seed)
    for latest in (135, 100):
        last = random.randint(5, latest)
        assert run_child(served, last, tmp_path / "told") == -signal.SIGKILL
        async with target.connect() as connection:
            query = select(func.count()).select_from(books)
            shown = not await without_tables(target) and (await connection.execute(query)).scalar()
        assert not shown
    await moved(served)
    await check_moved(embedded, served, target)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL and fork")
async def test_a_move_takes_the_steps_the_kills_are_drawn_from(
    served: Settings, tmp_path: Path
) -> None:
    assert run_child(served, None, tmp_path / "told") == 0
    assert int((tmp_path / "told").read_text()) in range(140, 200)


async def test_a_difference_at_the_end_is_an_error(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    async def lose_a_lesson() -> None:
        async with target.begin() as connection:
            one = select(lessons.c.source_file).limit(1).scalar_subquery()
            await connection.execute(delete(lessons).where(lessons.c.source_file == one))

    with pytest.raises(ValidationFailed, match="table lessons 4 rows are here and 3 there"):
        await disturbed(served, "vectors", lose_a_lesson)
    assert await Library(target).books() == []
    await moved(served)
    await check_moved(embedded, served, target)


async def test_a_missing_point_at_the_end_is_an_error(
    embedded: Settings, served: Settings, target: AsyncEngine, qdrant: QdrantServer
) -> None:
    async def lose_a_point() -> None:
        index = make_index(served, make_embedder(served).fingerprint)
        await index.delete(list(await points(served, "engines"))[:1])
        await index.close()

    with pytest.raises(ValidationFailed, match="1 of them are missing or differ"):
        await disturbed(served, "points", lose_a_point)
    assert await Library(target).books() == []
    await moved(served)
    await check_moved(embedded, served, target)


# --- Refused ---


async def test_a_plan_writes_nothing(
    embedded: Settings, served: Settings, target: AsyncEngine, qdrant: QdrantServer
) -> None:
    async with open_move(served) as move:
        plan = await move.plan()
    assert plan.counts["chunks"] == plan.counts["points"] > 0
    assert await without_tables(target)
    assert qdrant.collections == {}
    assert not (embedded.storage.data_dir / MOVE_FILE).exists()


async def test_a_book_that_is_there_is_refused_before_anything_is_written(
    served: Settings, target: AsyncEngine
) -> None:
    await moved(served)
    before = await contents(target)
    with pytest.raises(Conflict, match="'engines', 'gardens'") as caught:
        await moved(served)
    assert "nothing was written" in caught.value.suggestion
    assert await contents(target) == before


async def test_a_book_that_another_data_directory_is_bringing_is_refused(
    lived_in: Lived, served: Settings, target: AsyncEngine, tmp_path: Path
) -> None:
    await moved(served, until="chunks")
    before = await contents(target)
    copy = copy_data(lived_in.data_dir, tmp_path / "copy")
    other = replace(served, storage=served.storage.model_copy(update={"data_dir": copy}))
    with pytest.raises(Conflict, match="from another data directory"):
        await moved(other)
    assert await contents(target) == before


async def test_a_key_that_is_there_is_refused(served: Settings, target: AsyncEngine) -> None:
    """One that was revoked there must not be valid again."""
    await moved(served)
    async with target.begin() as connection:
        for table in (chunks, lessons, books, conversation_threads):
            await connection.execute(delete(table))
        for name in ("gaps", "calibrations"):
            await connection.execute(text(f"DELETE FROM {name}"))
    with pytest.raises(Conflict, match=r"The key \w+ of this data directory"):
        await moved(served)


async def test_points_of_the_same_book_in_the_collection_are_refused(
    served: Settings, tmp_path: Path, target: AsyncEngine, two_books: Path
) -> None:
    """Another library uses the collection: its points must not be replaced."""
    theirs = load_settings(
        data_dir=tmp_path / "theirs", judge=False, qdrant_url=served.index.qdrant_url
    )
    async with Askbook(theirs) as askbook:
        async for _ in askbook.ingest(two_books.parent / "sources" / "engines"):
            pass
    with pytest.raises(Conflict, match="points of a book 'engines'") as caught:
        await moved(served)
    assert "QDRANT_COLLECTION_NAME" in caught.value.suggestion
    assert await without_tables(target)


async def test_a_collection_of_another_embedder_is_refused(
    served: Settings, target: AsyncEngine
) -> None:
    from doubles import NullEmbedder

    index = make_index(served, NullEmbedder().fingerprint)
    await index.recreate()
    await index.close()
    with pytest.raises(EmbedderMismatch, match="built with the embedder null") as caught:
        await moved(served)
    assert "--mode recreate" in caught.value.suggestion
    assert await without_tables(target)


async def test_a_book_of_another_embedder_is_refused(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    source = await open_engine(embedded.storage.data_dir)
    async with source.begin() as connection:
        await connection.execute(update(books).values(fingerprint="another/384/1"))
    await source.dispose()
    with pytest.raises(EmbedderMismatch, match="'engines' was indexed with the embedder another"):
        await moved(served)
    assert await without_tables(target)


async def test_an_unfinished_job_is_refused_with_the_way_out(
    embedded: Settings, served: Settings, target: AsyncEngine
) -> None:
    source = await open_engine(embedded.storage.data_dir)
    async with source.begin() as connection:
        newest = select(func.max(ingestion_jobs.c.job_id)).scalar_subquery()
        await connection.execute(
            update(ingestion_jobs).where(ingestion_jobs.c.job_id == newest).values(status="running")
        )
    await source.dispose()
    with pytest.raises(Conflict, match="'engines' has an ingestion job that is not finished") as e:
        await moved(served)
    assert "askbook ingest" in e.value.suggestion
    assert "/ingestion/cancel/2" in e.value.suggestion
    assert await without_tables(target)


async def test_a_data_directory_in_use_is_refused(embedded: Settings, served: Settings) -> None:
    directory = DataDirectory(embedded.storage.data_dir)
    directory.announce("http://127.0.0.1:8321")
    with pytest.raises(DataDirectoryBusy, match="serves it at"):
        await moved(served)
    directory.close()


async def test_a_data_directory_that_is_not_there_is_not_made(
    served: Settings, tmp_path: Path
) -> None:
    storage = served.storage.model_copy(update={"data_dir": tmp_path / "none"})
    with pytest.raises(NotFound, match="nothing to move in"):
        await moved(replace(served, storage=storage))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///x.db",
        "mysql://u:s3cret@h/d",
        "postgresql://u:s3cret@h:port/d",
        "u:s3cret@h",
        "x y",
    ],
)
def test_another_kind_of_address_is_refused_without_its_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["migrate", "--to", address, "--data-dir", str(tmp_path)])
    assert ended.value.code == 4
    told = capsys.readouterr().err
    assert "no address of a PostgreSQL database" in told
    assert "cret" not in told


async def test_a_database_that_is_away_is_named_without_its_password(embedded: Settings) -> None:
    settings = load_settings(
        data_dir=embedded.storage.data_dir, database_url="postgresql://u:s3cret@127.0.0.1:1/d"
    )
    with pytest.raises(ServiceUnavailable, match=r"u:\*\*\*@127.0.0.1:1/d") as caught:
        await moved(settings)
    assert "s3cret" not in str(caught.value)


def _url(settings: Settings) -> str:
    assert settings.storage.database_url is not None
    return settings.storage.database_url.get_secret_value()
