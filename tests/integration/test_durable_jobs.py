"""Jobs on real databases: one per book, watched, cancelled, and finished whatever dies in between."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from shelf import clean_build, lesson, timeless, write
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from worker_process import SlowEmbedder

from askbook.book import IngestionMode, JobStatus
from askbook.bootstrap import Askbook
from askbook.bootstrap.scope import Scope
from askbook.config import load_settings
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import Conflict, EmbedderMismatch, IllegalTransition, NotFound
from askbook.ingestion.events import Finished, IngestionEvent, LessonsSwitched, Planned
from askbook.ingestion.job_store import NOBODY, JobStore
from askbook.ingestion.jobs import IngestionJob
from askbook.ingestion.presence import Presence
from askbook.ingestion.running import IngestionJobs
from askbook.models.runtime import ModelRuntime
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import open_engine
from doubles import NullEmbedder

WORKER = Path(__file__).parent / "worker_process.py"
LESSONS = 12

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "book", a_book())


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """Where the books are kept: None is SQLite in the data directory."""
    return request.getfixturevalue("database_url") if request.param == "postgresql" else None


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts workers as processes; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def start_worker(
        *arguments: str, database: str | None = None, name: str | None = None
    ) -> subprocess.Popen[str]:
        env = dict(os.environ)
        if database is not None:
            env["ASKBOOK_DATABASE_URL"] = database
        if name is not None:
            env["ASKBOOK_WORKER_ID"] = name
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            env=env,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start_worker
    for process in started:
        kill(process)


async def test_the_same_path_works_on_both_databases(
    tmp_path: Path, folder: Path, database: str | None
) -> None:
    async with running(tmp_path / "data", database) as askbook:
        job = await ingest(askbook, folder)
        assert (job.status, job.counts.files_processed) == ("completed", LESSONS)
        _, found = await askbook.search("tells about inner", mode="sparse")
        assert found.results
        write(folder, {"01-one.md": lesson("One", "changed")})
        (folder / "02-two.md").unlink()
        again = await ingest(askbook, folder)
        assert again.counts.files_processed == 1
        assert again.counts.files_deleted == 1
        assert again.counts.files_skipped == LESSONS - 2
        assert await contents(askbook) == (await clean_build(folder, tmp_path / "clean")).payloads


@pytest.mark.spec("C75", "C90")
async def test_triggers_at_once_start_one_job(
    tmp_path: Path, folder: Path, database: str | None
) -> None:
    async with running(tmp_path / "data", database, SlowEmbedder(0.1)) as askbook:
        triggered = await asyncio.gather(
            *(askbook.durable_jobs.trigger(folder, "book", "incremental") for _ in range(5))
        )
        assert len({job.job_id for job, _ in triggered}) == 1
        assert sum(accepted for _, accepted in triggered) == 1
        first = await ended(askbook, triggered[0][0].job_id)
        assert first.status == "completed"
        later, accepted = await askbook.durable_jobs.trigger(folder, "book", "full")
        assert accepted
        assert later.job_id > first.job_id


async def test_a_trigger_of_another_mode_returns_the_running_job(
    tmp_path: Path, folder: Path
) -> None:
    async with running(tmp_path / "data", None, SlowEmbedder(1.5)) as askbook:
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        await until_switched(askbook, job.job_id)
        other, accepted = await askbook.durable_jobs.trigger(folder, "book", "recreate")
        assert (other.job_id, other.mode, accepted) == (job.job_id, "incremental", False)


async def test_a_watcher_is_told_every_event(tmp_path: Path, folder: Path) -> None:
    async with running(tmp_path / "data") as askbook:
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        told = [progress async for progress in askbook.durable_jobs.watch(job.job_id)]
    kinds = [type(progress.event) for progress in told]
    assert kinds[0] is type(None)
    assert kinds.count(Planned) == 1
    assert kinds.count(Finished) == 1
    assert LessonsSwitched in kinds
    assert [p.job.status for p in told][-1] == "completed"
    async with running(tmp_path / "data") as askbook:
        again = [progress async for progress in askbook.durable_jobs.watch(job.job_id)]
    assert [(p.job.status, p.event) for p in again] == [("completed", None)]


async def test_a_cancelled_job_leaves_what_it_switched_and_what_was_there(
    tmp_path: Path, folder: Path, database: str | None
) -> None:
    async with running(tmp_path / "data", database) as askbook:
        await ingest(askbook, folder)
        before = await contents(askbook)
    write(folder, a_book("rewritten"))
    async with running(tmp_path / "data", database, SlowEmbedder(0.2)) as askbook:
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        await until_switched(askbook, job.job_id)
        cancelled = await askbook.durable_jobs.cancel(job.job_id)
        assert (cancelled.status, cancelled.error_message) == ("failed", "Cancelled.")
        assert cancelled.completed_at is not None
        assert_sums(cancelled)
        assert 0 < cancelled.counts.files_processed < LESSONS
        now = await contents(askbook)
        assert set(now) & set(before), "lessons that were not reached are served as they were"
        assert set(now) - set(before), "lessons that were switched stay"
        with pytest.raises(IllegalTransition):
            await askbook.durable_jobs.cancel(job.job_id)
        with pytest.raises(NotFound):
            await askbook.durable_jobs.cancel(999)
        await asyncio.sleep(1.2)
        assert await contents(askbook) == now, "nothing goes on behind the cancel"
        resumed = await ingest(askbook, folder)
        assert resumed.status == "completed"
        assert await contents(askbook) == (await clean_build(folder, tmp_path / "clean")).payloads


async def test_a_job_can_be_cancelled_before_it_starts(tmp_path: Path, folder: Path) -> None:
    async with running(tmp_path / "data") as askbook:
        job, _ = await askbook.jobs.reserve(folder, "book", "incremental")
        cancelled = await askbook.durable_jobs.cancel(job.job_id)
        assert (cancelled.status, cancelled.started_at) == ("failed", None)
        assert await askbook.jobs.take_up(job.job_id) is None


async def test_a_job_that_a_live_worker_takes_meanwhile_is_left_to_it(
    tmp_path: Path, database: str | None
) -> None:
    engine = await open_engine(tmp_path, database)
    store = JobStore(engine)
    try:
        job, _ = await store.create("book", tmp_path, "full")
        assert await store.claim(job, "dead", held_by=NOBODY)
        second = IngestionJobs(store, _Overtaken(engine, "second"), _OneAtATime())
        first = IngestionJobs(store, _Overtaken(engine, "first", second), _OneAtATime())
        assert await first.take_up(job.job_id) is None
        assert await store.owner(job.job_id) == "second"
        assert (first.running, second.running) == (frozenset(), {job.job_id})
    finally:
        await engine.dispose()


@pytest.mark.parametrize("modes", [("incremental", "incremental"), ("incremental", "full")])
async def test_who_asks_while_a_job_is_taken_up_follows_it(
    tmp_path: Path, folder: Path, modes: tuple[IngestionMode, IngestionMode]
) -> None:
    engine = await open_engine(tmp_path / "data")
    store, pipeline = _SlowToClaim(engine), _OneAtATime()
    jobs = IngestionJobs(store, Presence(engine, "here"), pipeline)

    async def ingest(mode: IngestionMode) -> IngestionJob:
        return [progress async for progress in jobs.run(folder, "book", mode)][-1].job

    try:
        first = asyncio.create_task(ingest(modes[0]))
        await store.claimed.wait()
        second = asyncio.create_task(ingest(modes[1]))
        ended = await asyncio.gather(first, second)
        assert {(job.job_id, job.status) for job in ended} == {(1, "completed")}
        assert (pipeline.runs, pipeline.most) == (1, 1)
        assert jobs.running == frozenset()
    finally:
        await engine.dispose()


async def test_a_job_taken_up_and_let_go_is_free_again(tmp_path: Path) -> None:
    engine = await open_engine(tmp_path)
    jobs = IngestionJobs(JobStore(engine), Presence(engine, "here"), _OneAtATime())
    try:
        job, _ = await jobs.store.create("book", tmp_path, "full")
        taken = await jobs.take_up(job.job_id)
        assert taken is not None
        assert await jobs.take_up(job.job_id) is None
        jobs.let_go(taken)
        assert jobs.running == frozenset()
        again = await jobs.take_up(job.job_id)
        assert again is not None
        jobs.let_go(taken)
        assert jobs.running == {job.job_id}, "only who took it can let it go"
        told = [progress.job.status async for progress in jobs.execute(again)]
        assert (told[0], told[-1]) == ("running", "completed")
    finally:
        await engine.dispose()


async def test_who_is_told_of_a_job_can_cancel_it(tmp_path: Path, folder: Path) -> None:
    async with running(tmp_path / "data", None, SlowEmbedder(0.05)) as askbook:
        told: list[IngestionJob] = []
        cancelled: IngestionJob | None = None
        async with asyncio.timeout(20):
            async for progress in askbook.ingest(folder, "book"):
                told.append(progress.job)
                if isinstance(progress.event, LessonsSwitched):
                    cancelled = await askbook.jobs.cancel(progress.job.job_id)
                    assert (cancelled.status, cancelled.error_message) == ("failed", "Cancelled.")
                    assert cancelled.counts.files_processed == progress.job.counts.files_processed
                    with pytest.raises(IllegalTransition):
                        await askbook.jobs.cancel(progress.job.job_id)
        assert told[-1] == await askbook.jobs.store.get(1) == cancelled
        assert askbook.jobs.running == frozenset()
        assert 0 < (await askbook.library.totals("book"))[0] < LESSONS


async def test_a_job_is_cancelled_though_who_is_told_of_it_does_not_listen(
    tmp_path: Path, folder: Path
) -> None:
    async with running(tmp_path / "data") as askbook:
        steps = askbook.jobs.run(folder, "book", "incremental")
        job = (await anext(steps)).job
        async with asyncio.timeout(20):
            cancelled = await askbook.jobs.cancel(job.job_id)
            assert await ended(askbook, job.job_id) == cancelled
            assert [progress.job async for progress in steps] == [cancelled]


@pytest.mark.parametrize("how", ["job", "command", "command twice"])
@pytest.mark.parametrize("step", ["upsert", "overwrite_payloads", "delete"])
async def test_a_switch_once_begun_is_brought_to_its_end(
    tmp_path: Path, step: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is cancelled, and however often: lessons that were switched are found."""
    folder = write(tmp_path / "book", {"01-arm.md": tiered(4, "Joints", "Grippers")})
    async with running(tmp_path / "data") as askbook:
        await ingest(askbook, folder)
        write(folder, {"01-arm.md": tiered(1, "Joints", "Sensors")})
        reached, plain = asyncio.Event(), getattr(askbook.index, step)

        async def slow(given: Any) -> None:
            reached.set()
            await asyncio.sleep(0.2)
            await plain(given)

        monkeypatch.setattr(askbook.index, step, slow)
        task = asyncio.create_task(ingest(askbook, folder))
        await reached.wait()
        if how == "job":
            cancelled = await askbook.jobs.cancel(2)
            assert (cancelled.status, cancelled.error_message) == ("failed", "Cancelled.")
        else:
            for _ in range(2 if how == "command twice" else 1):
                task.cancel()
                await asyncio.sleep(0.05)
        await asyncio.gather(task, return_exceptions=True)
        assert await askbook.library.dirty.of("book") == []
        assert await askbook.index.count("book") == len(await contents(askbook))
        where = Scope(hardware_tier=1)
        _, found = await askbook.search("tells about Joints", where, mode="sparse")
        assert found.results


@pytest.mark.parametrize("is_known", [False, True])
async def test_deleting_a_book_ends_its_job(
    tmp_path: Path, folder: Path, database: str | None, is_known: bool
) -> None:
    embedder = SlowEmbedder(0.0)
    async with running(tmp_path / "data", database, embedder) as askbook:
        if is_known:
            await ingest(askbook, folder)
            write(folder, a_book("rewritten"))
        embedder.delay = 0.4
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        await until_switched(askbook, job.job_id)
        assert await askbook.delete_book("book") > 0
        ended_job = await askbook.jobs.store.get(job.job_id)
        assert ended_job is not None
        assert (ended_job.status, ended_job.error_message) == ("failed", "Cancelled.")
        await asyncio.sleep(1.0)
        assert await askbook.library.book("book") is None
        assert await askbook.library.totals("book") == (0, 0)
        assert await askbook.index.count("book") == 0
        assert await askbook.jobs.store.unfinished("book") == []


async def test_deleting_a_book_ends_a_job_that_nobody_runs(tmp_path: Path, folder: Path) -> None:
    async with running(tmp_path / "data") as askbook:
        await ingest(askbook, folder)
        job, _ = await askbook.jobs.reserve(folder, "book", "full")
        with pytest.raises(NotFound):
            await askbook.delete_book("another")
        await askbook.delete_book("book")
        assert (await askbook.jobs.current(job.job_id)).status == "failed"
        assert await askbook.jobs.take_up(job.job_id) is None


async def test_a_book_can_be_deleted_by_who_is_told_of_its_ingest(
    tmp_path: Path, folder: Path
) -> None:
    async with running(tmp_path / "data", None, SlowEmbedder(0.05)) as askbook:
        job: IngestionJob | None = None
        async with asyncio.timeout(20):
            async for progress in askbook.ingest(folder, "book"):
                job = progress.job
                if isinstance(progress.event, LessonsSwitched):
                    await askbook.delete_book("book")
        assert job is not None
        assert job.error_message == "Cancelled."
        assert await askbook.library.book("book") is None
        assert await askbook.library.totals("book") == (0, 0)


@pytest.mark.parametrize("name", ["one", "two"])
async def test_a_book_that_another_worker_ingests_is_not_deleted(
    tmp_path: Path, folder: Path, database_url: str, name: str
) -> None:
    """Be it that the worker has the name of who deletes: a command beside a server."""
    embedder = SlowEmbedder(0.3)
    async with (
        running(tmp_path / "one", database_url, embedder, worker_id="one") as one,
        running(tmp_path / "two", database_url, worker_id=name) as two,
    ):
        task = asyncio.create_task(ingest(one, folder))
        async with asyncio.timeout(20):
            while not await two.library.books():
                await asyncio.sleep(0.05)
        with pytest.raises(Conflict, match=r"job 1.*/ingestion/cancel/1"):
            await two.delete_book("book")
        assert (await task).status == "completed"
        assert (await one.library.totals("book"))[0] == LESSONS
        await two.delete_book("book")
        assert await one.library.book("book") is None


async def test_a_failing_job_says_why_and_the_old_content_stays(
    tmp_path: Path, folder: Path
) -> None:
    embedder = SlowEmbedder(0.0)
    async with running(tmp_path / "data", None, embedder) as askbook:
        await ingest(askbook, folder)
        before = await contents(askbook)
        write(folder, a_book("rewritten"))
        embedder.fail_after = embedder.calls + 1
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        failed = await ended(askbook, job.job_id)
        assert failed.status == "failed"
        assert "out of order" in (failed.error_message or "")
        assert_sums(failed)
        assert failed.counts.files_failed > 0
        assert set(await contents(askbook)) & set(before)
        embedder.fail_after = None
        assert (await ingest(askbook, folder)).status == "completed"


async def test_an_interrupted_command_ends_its_job(tmp_path: Path, folder: Path) -> None:
    embedder = SlowEmbedder(60)
    async with running(tmp_path / "data", None, embedder) as askbook:
        task = asyncio.create_task(ingest(askbook, folder))
        await asyncio.sleep(0.5)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        embedder.delay = 0
        job = await askbook.jobs.store.get(1)
        assert job is not None
        assert (job.status, job.error_message) == ("failed", "Interrupted.")
        assert (await ingest(askbook, folder)).job_id == 2


async def test_a_stopped_server_leaves_its_job_to_the_next(tmp_path: Path, folder: Path) -> None:
    async with running(tmp_path / "data", None, SlowEmbedder(0.2)) as askbook:
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        await until_switched(askbook, job.job_id)
    async with running(tmp_path / "data") as askbook:
        left = await askbook.jobs.store.get(job.job_id)
        assert left is not None
        assert left.status == "running"
        await askbook.durable_jobs.start_if_needed()
        finished = await ended(askbook, job.job_id)
        assert finished.status == "completed"
        assert_sums(finished)
        assert finished.counts.files_processed == LESSONS


async def test_a_server_without_unfinished_jobs_does_not_start_the_runner(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as askbook:
        await askbook.durable_jobs.start_if_needed()
    assert not (tmp_path / "data" / "jobs.db").exists()


@pytest.mark.parametrize(
    ("kind", "moment"), [("sqlite", 0.0), ("sqlite", 0.9), ("postgresql", 0.6)]
)
async def test_a_killed_worker_resumes_its_job(
    tmp_path: Path,
    folder: Path,
    kind: str,
    moment: float,
    start: Start,
    request: pytest.FixtureRequest,
) -> None:
    data = tmp_path / "data"
    database = request.getfixturevalue("database_url") if kind == "postgresql" else None
    first = start(str(data), "0.15", str(folder), database=database)
    job_id = int(line(first))
    time.sleep(moment + random.random() * 0.3)
    kill(first)
    DataDirectory(data).close()  # nothing is left that holds it
    second = start(str(data), "0.0", database=database)
    assert line(second) == "ready"
    finished = await finished_elsewhere(data, database, job_id)
    kill(second)
    assert finished.status == "completed"
    assert finished.counts.files_processed == LESSONS
    assert_sums(finished)
    async with running(data, database) as askbook:
        assert await contents(askbook) == (await clean_build(folder, tmp_path / "clean")).payloads
        assert await askbook.index.count() == len(await contents(askbook))
        assert await askbook.library.dirty.of("book") == []


async def test_a_killed_server_finishes_its_job_when_it_is_started_again(
    tmp_path: Path, folder: Path
) -> None:
    """The real command with the real embedder, over HTTP."""
    job: dict[str, Any] = {}
    job_id = 0
    for attempt in range(2):
        process, url = serve(tmp_path)
        try:
            async with httpx.AsyncClient(base_url=url, timeout=60) as http:
                await answering(http)
                if attempt == 0:
                    accepted = await http.post("/ingestion/trigger", json={"path": str(folder)})
                    job_id = accepted.json()["job_id"]
                async with asyncio.timeout(200):
                    while True:
                        job = (await http.get(f"/ingestion/status/{job_id}")).json()
                        if job["status"] == "completed" or (
                            attempt == 0 and job["files_processed"]
                        ):
                            break
                        await asyncio.sleep(0.05)
        finally:
            process.kill()
            process.wait()
    assert job["status"] == "completed"
    assert job["files_processed"] == job["files_discovered"] == LESSONS
    assert 0 < job["embedded_chunks"] <= job["chunks_created"] == 144


async def test_a_command_resumes_the_job_of_a_killed_server(
    tmp_path: Path, folder: Path, start: Start
) -> None:
    data = tmp_path / "data"
    server = start(str(data), "0.15", str(folder))
    job_id = int(line(server))
    time.sleep(1.0)
    kill(server)
    async with running(data) as askbook:
        job = await ingest(askbook, folder)
        assert (job.job_id, job.status) == (job_id, "completed")
        assert_sums(job)
        await askbook.durable_jobs.start()
        await asyncio.sleep(1.5)
        assert await askbook.jobs.store.get(job_id) == job, "its queue entry finds nothing to do"


async def test_a_job_that_keeps_killing_its_process_is_given_up(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exhausted = ("MAX_RECOVERY_ATTEMPTS_EXCEEDED", "embedded")
    monkeypatch.setattr("askbook.ingestion.workflows._status", lambda _: exhausted)
    async with running(tmp_path / "data") as askbook:
        job, _ = await askbook.durable_jobs.trigger(folder, "book", "incremental")
        given_up = await askbook.jobs.current(job.job_id)
        assert given_up.status == "failed"
        assert "died" in (given_up.error_message or "")
        monkeypatch.undo()
        assert (await ingest(askbook, folder)).status == "completed"


async def test_a_second_runner_in_one_process_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path / "one") as one, running(tmp_path / "two") as two:
        await one.durable_jobs.start()
        with pytest.raises(Conflict):
            await two.durable_jobs.start()
        await one.durable_jobs.stop()
        await two.durable_jobs.start()


async def test_another_mode_replaces_a_job_whose_process_is_gone(
    tmp_path: Path, folder: Path, start: Start
) -> None:
    data = tmp_path / "data"
    server = start(str(data), "0.5", str(folder))
    job_id = int(line(server))
    time.sleep(1.0)
    kill(server)
    async with running(data) as askbook:
        job = await ingest(askbook, folder, "full")
        assert job.job_id != job_id
        old = await askbook.jobs.store.get(job_id)
        assert old is not None
        assert (old.status, old.error_message) == ("failed", "Replaced by a new job.")


async def test_a_dead_workers_job_is_taken_over_by_another(
    tmp_path: Path, folder: Path, database_url: str, start: Start
) -> None:
    data = tmp_path / "data"
    first = start(str(data), "0.3", str(folder), database=database_url, name="first")
    job_id = int(line(first))
    await owned_by(data, database_url, job_id, "first")
    kill(first)
    second = start(str(data), "0.0", database=database_url, name="second")
    assert line(second) == "ready"
    finished = await finished_elsewhere(data, database_url, job_id)
    assert (finished.status, finished.counts.files_processed) == ("completed", LESSONS)
    await owned_by(data, database_url, job_id, "second")


async def test_a_live_workers_job_is_watched_and_cancelled_from_afar_but_not_taken(
    tmp_path: Path, folder: Path, database_url: str, start: Start
) -> None:
    # Three batches, so that the last would be switched after twelve seconds: later than a worker may take to
    # notice the end of its job, and sooner than the test looks.
    worker = start(str(tmp_path / "one"), "4.0", str(folder), database=database_url, name="one")
    job_id = int(line(worker))
    await owned_by(tmp_path / "one", database_url, job_id, "one")
    async with running(tmp_path / "two", database_url, worker_id="two") as askbook:
        assert await askbook.jobs.take_up(job_id) is None
        same, accepted = await askbook.durable_jobs.trigger(folder, "book", "full")
        assert (same.job_id, accepted) == (job_id, False)
        await asyncio.sleep(1.0)
        assert await askbook.jobs.store.owner(job_id) == "one"
        cancelled = await askbook.durable_jobs.cancel(job_id)
        assert (cancelled.status, cancelled.error_message) == ("failed", "Cancelled.")
        seen = [p async for p in askbook.jobs.watch(job_id)]
        assert seen[-1].job == cancelled
        await asyncio.sleep(12)
        assert await askbook.jobs.store.get(job_id) == cancelled, "its worker has stopped"
        done = await askbook.library.totals("book")
        assert done[0] < LESSONS


async def test_two_workers_of_one_name_are_refused(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askbook.ingestion.presence._PAUSE", 0.01)
    engine = await open_engine(tmp_path, database_url)
    other = await open_engine(tmp_path, database_url)
    one, two = Presence(engine, "same"), Presence(other, "same")
    third = Presence(other, "third")
    try:
        await one.announce()
        await one.announce()
        assert await third.is_alive("same")
        assert not await third.is_alive("third")
        assert not await third.is_alive(NOBODY)
        with pytest.raises(Conflict, match="ASKBOOK_WORKER_ID"):
            await two.announce()
        await one.withdraw()
        assert not await third.is_alive("same")
        await two.announce()
    finally:
        await two.withdraw()
        await engine.dispose()
        await other.dispose()


async def test_a_worker_that_lost_its_connection_announces_itself_again(
    tmp_path: Path, database_url: str
) -> None:
    engine = await open_engine(tmp_path, database_url)
    presence, other = Presence(engine, "one"), Presence(engine, "other")
    try:
        await presence.announce()
        async with engine.connect() as connection:
            await connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks"
                    " WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
                )
            )
        await asyncio.sleep(0.2)
        assert not await other.is_alive("one")
        await presence.announce()
        assert await other.is_alive("one")
    finally:
        await presence.withdraw()
        await engine.dispose()


async def test_only_the_owner_may_write_a_job(tmp_path: Path, database: str | None) -> None:
    engine = await open_engine(tmp_path, database)
    store = JobStore(engine)
    try:
        job, _ = await store.create("book", tmp_path, "full")
        assert await store.claim(job, "me", held_by=NOBODY)
        assert not await store.claim(job, "you", held_by=NOBODY)
        assert await store.save(job.to("running"), "me")
        assert not await store.save(job.to("running"), "you")
        assert await store.end(job.to("failed", "Cancelled."))
        assert not await store.save(job.to("running"), "me")
        assert [j for j, _ in await store.unfinished()] == []
        both = await asyncio.gather(*(store.create("book", tmp_path, "full") for _ in range(8)))
        assert len({j.job_id for j, _ in both}) == 1
        assert sum(new for _, new in both) == 1
    finally:
        await engine.dispose()


async def test_a_book_of_another_embedder_fails_its_job_with_the_way_out(
    tmp_path: Path, folder: Path
) -> None:
    async with running(tmp_path / "data") as askbook:
        await ingest(askbook, folder)
    other = NullEmbedder("other")
    async with running(tmp_path / "data", None, other) as askbook:
        with pytest.raises(EmbedderMismatch):
            await ingest(askbook, folder)
        job = await askbook.jobs.store.get(2)
        assert job is not None
        assert job.status == "failed"
        assert "recreate" in (job.error_message or "")


async def test_questions_do_not_wait_for_passages_and_get_the_same_vectors() -> None:
    embedder = BuiltinEmbedder(ModelRuntime("embed", 1))
    try:
        alone = await embedder.embed_query("What is a robot?")
        many = asyncio.create_task(embedder.embed_passages(["a robot moves " * 60] * 40))
        await asyncio.sleep(0.2)
        beside = await embedder.embed_query("What is a robot?")
        assert not many.done()
        assert np.array_equal(alone, beside)
        prefix = embedder.fingerprint.query_prefix
        if prefix == embedder.fingerprint.passage_prefix:
            [passage] = await embedder.embed_passages(["What is a robot?"])
            assert np.array_equal(alone, passage)
        await many
    finally:
        await embedder.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities by thread")
async def test_passages_yield_to_questions_once_there_are_any() -> None:
    runtime = ModelRuntime("embed", 1)

    def niceness(_: int) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    try:
        [before] = await runtime.map(niceness, [0], background=True)
        [asking] = await runtime.map(niceness, [0])
        [after] = await runtime.map(niceness, [0], background=True)
        assert before == asking
        assert after == min(19, asking + 10)
    finally:
        runtime.close()


class _OneAtATime:
    """A pipeline that counts how often it runs, and how often at once."""

    def __init__(self) -> None:
        self.runs = self.most = self._now = 0

    async def run(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> AsyncGenerator[IngestionEvent]:
        self.runs += 1
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            yield Planned(1, ("one.md",), (), (), (), 0)
            await asyncio.sleep(0.2)
            yield Finished(1)
        finally:
            self._now -= 1


class _SlowToClaim(JobStore):
    """Takes its time to tell a worker that a job is now its own."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self.claimed = asyncio.Event()

    async def claim(self, job: IngestionJob, owner: str, *, held_by: str) -> bool:
        mine = await super().claim(job, owner, held_by=held_by)
        self.claimed.set()
        await asyncio.sleep(0.2)
        return mine


class _Overtaken(Presence):
    """While it asks whether a dead worker lives, another takes up what that one had."""

    def __init__(
        self, engine: AsyncEngine, worker_id: str, other: IngestionJobs | None = None
    ) -> None:
        super().__init__(engine, worker_id)
        self._other = other

    async def is_alive(self, owner: str) -> bool:
        if self._other is not None:
            assert await self._other.take_up(1) is not None
        return owner not in ("dead", self.worker_id)


def a_book(word: str = "inner") -> dict[str, str | bytes]:
    names = "one two three four five six seven eight nine ten eleven twelve".split()
    return {
        f"{number:02}-{name}.md": lesson(name.title(), *(f"{word} {i}" for i in range(12)))
        for number, name in enumerate(names, 1)
    }


def tiered(tier: int, *sections: str) -> str:
    return f"---\nhardware_tier: {tier}\n---\n{lesson('Arm', *sections)}"


@asynccontextmanager
async def running(
    data_dir: Path,
    database: str | None = None,
    embedder: NullEmbedder | None = None,
    worker_id: str | None = None,
) -> AsyncGenerator[Askbook]:
    settings = load_settings(
        data_dir=data_dir, database_url=database, judge=False, worker_id=worker_id
    )
    async with Askbook(settings, embedder=embedder or NullEmbedder()) as askbook:
        yield askbook


async def ingest(
    askbook: Askbook, folder: Path, mode: IngestionMode = "incremental"
) -> IngestionJob:
    told = [progress async for progress in askbook.ingest(folder, "book", mode)]
    return told[-1].job


async def ended(askbook: Askbook, job_id: int) -> IngestionJob:
    job: IngestionJob | None = None
    async with asyncio.timeout(60):
        async for progress in askbook.jobs.watch(job_id):
            job = progress.job
    assert job is not None
    return job


async def until_switched(askbook: Askbook, job_id: int) -> None:
    async with asyncio.timeout(60):
        async for progress in askbook.jobs.watch(job_id):
            if progress.job.counts.files_processed > 0:
                return


async def contents(askbook: Askbook) -> dict[str, dict[str, object]]:
    return {c.id: timeless(c.to_payload()) async for c in askbook.library.export("book")}


async def finished_elsewhere(data_dir: Path, database: str | None, job_id: int) -> IngestionJob:
    """The job once another process has ended it."""
    over: tuple[JobStatus, ...] = ("completed", "failed")
    engine = await open_engine(data_dir, database)
    try:
        async with asyncio.timeout(60):
            while True:
                job = await JobStore(engine).get(job_id)
                if job is not None and job.status in over:
                    return job
                await asyncio.sleep(0.1)
    finally:
        await engine.dispose()


async def owned_by(data_dir: Path, database: str | None, job_id: int, owner: str) -> None:
    engine = await open_engine(data_dir, database)
    try:
        async with asyncio.timeout(30):
            while await JobStore(engine).owner(job_id) != owner:
                await asyncio.sleep(0.05)
    finally:
        await engine.dispose()


def serve(tmp_path: Path) -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["serve", "--data-dir", str(tmp_path / "data"), "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "askbook", *arguments],
        env={**os.environ, "ASKBOOK_BOOKS_DIR": str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return process, f"http://127.0.0.1:{port}"


async def answering(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(90):
        while True:
            try:
                await http.get("/health")
                return
            except httpx.TransportError:
                await asyncio.sleep(0.1)


def assert_sums(job: IngestionJob) -> None:
    counts = job.counts
    parts = counts.files_processed + counts.files_skipped + counts.files_failed
    assert parts == counts.files_discovered


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
