"""kill -9 at random moments of an ingest: what is visible stays whole, and a rerun ends in the clean build.

`ASKBOOK_TEST_CRASHES=200` kills two hundred times instead of ten.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import crashing_ingest
import pytest
from shelf import BOOK, clean_build, lesson, open_shelf, write

from askbook.book import IngestionMode

CRASHES = int(os.environ.get("ASKBOOK_TEST_CRASHES", "10"))
MODES: tuple[IngestionMode, ...] = ("incremental", "full", "recreate")
LESSONS = [f"m{i // 5}/{i % 5 + 1:02}-lesson.md" for i in range(10)]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL and fork")


def content(number: int, version: int, random: Random) -> str:
    sections = [f"Part {k}" for k in range(random.randint(6, 16))]
    for k in random.sample(range(len(sections)), len(sections) // 2):
        sections[k] = f"Part {k} of version {version}"
    return lesson(f"Lesson {number}", *sections)


def edit(folder: Path, version: int, random: Random) -> None:
    """What an author does between two ingests: write, rename, renumber, delete, add."""
    files = sorted(folder.rglob("*.md"))
    for number, path in enumerate(files):
        if random.random() < 0.5:
            path.write_text(content(number, version, random))
    one, other, third = random.sample(files, 3)
    kind = random.choice(["swap", "delete", "rename", "insert", "manifest", "nothing"])
    if kind == "swap":
        first, second = one.read_text(), other.read_text()
        one.write_text(second)
        other.write_text(first)
    elif kind == "delete":
        third.unlink()
    elif kind == "rename":
        third.rename(third.with_name(f"{random.randint(1, 9):02}-renamed-{version}.md"))
    elif kind == "insert":
        write(folder, {f"m0/00-new-{version}.md": content(99, version, random)})
    elif kind == "manifest":
        write(
            folder, {"askbook.toml": f'id = "{BOOK}"\nbase_url = "https://example.org/{version}"\n'}
        )


def run_child(
    folder: Path,
    data_dir: Path,
    mode: IngestionMode,
    *,
    last_step: int | None = None,
    seconds: float | None = None,
) -> tuple[int, int]:
    """Ingest in a child that dies at a step or after a time: its exit code, and its steps if it finished."""
    told = data_dir.with_suffix(".steps")
    target = partial(crashing_ingest.ingest, folder, data_dir, mode, last_step, told)
    return run(target, told, seconds)


def run(target: Callable[[], None], told: Path, seconds: float | None = None) -> tuple[int, int]:
    """The exit code of a child, and what it told of its steps."""
    # Children of a server that has the product imported: a kill hits an ingest, not an import.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["askbook.ingestion.audit", "askbook.index.edge", "askbook.storage.engine", "aiosqlite"]
    )
    told.unlink(missing_ok=True)
    child = context.Process(target=target)
    child.start()
    child.join(seconds or 120)
    if seconds is not None:
        child.kill()
        child.join(120)
    assert child.exitcode is not None
    return child.exitcode, int(told.read_text()) if told.exists() else 0


async def check_visible(data_dir: Path) -> None:
    """After a crash, before any repair: every visible lesson is whole."""
    async with open_shelf(data_dir) as shelf:
        lessons = await shelf.library.lessons(BOOK)
        for path, record in lessons.items():
            found = await shelf.library.lesson(BOOK, source_file=path)
            assert found is not None
            chunks = found[1]
            assert len(chunks) == record.chunk_count
            assert [c.metadata.chunk_index for c in chunks] == list(range(len(chunks)))
            assert {c.metadata.version for c in chunks} <= {record.version}
            assert {c.metadata.source_file_hash for c in chunks} <= {record.file_hash}
            for before, after in zip([None, *chunks], [*chunks, None], strict=True):
                assert after is None or after.metadata.prev_chunk_id == (before and before.id)
                assert before is None or before.metadata.next_chunk_id == (after and after.id)


async def check_converged(folder: Path, data_dir: Path, clean_dir: Path) -> None:
    async with open_shelf(data_dir) as shelf:
        await shelf.ingest(folder)
        stored = await shelf.contents()
        assert stored == await clean_build(folder, clean_dir)
        assert stored.payloads == stored.indexed
        assert await shelf.library.dirty.of(BOOK) == []
        assert (await shelf.audit()).found.all() == []


@pytest.mark.parametrize("seed", range(CRASHES))
async def test_kill_at_any_moment(
    place: Path, seed: int, record_property: Callable[[str, object], None]
) -> None:
    random = Random(seed)
    folder, data_dir = place / BOOK, place / "data"
    write(folder, {name: content(i, 0, random) for i, name in enumerate(LESSONS)})
    first = seed % 5 == 0
    if not first:
        async with open_shelf(data_dir) as shelf:
            await shelf.ingest(folder)
        edit(folder, 1, random)
    [mode] = random.choices(MODES, (6, 1, 1))
    for _ in range(random.choice([1, 1, 2])):  # the second kills the recovery
        if random.random() < 0.7:
            code, _ = run_child(folder, data_dir, mode, last_step=random.randint(1, 150))
        else:
            code, _ = run_child(folder, data_dir, mode, seconds=random.uniform(0.05, 0.8))
        assert code in (-signal.SIGKILL, 0)
        record_property("killed", code != 0)
        await check_visible(data_dir)
    if random.random() < 0.3:
        edit(folder, 2, random)
    await check_converged(folder, data_dir, place / "clean")


async def test_killed_while_the_databases_are_made(place: Path) -> None:
    told = place / "steps"
    begin = partial(crashing_ingest.begin, told=told)
    code, steps = run(partial(begin, place / "whole", None), told)
    assert code == 0
    assert steps > 200
    for last_step in range(1, 200, 16):
        data_dir = place / f"killed-{last_step}"
        code, _ = run(partial(begin, data_dir, last_step), told)
        assert code == -signal.SIGKILL
        assert await crashing_ingest.start_jobs(data_dir) == []


async def test_an_ingest_takes_the_steps_the_kills_are_drawn_from(place: Path) -> None:
    """Guards the range above: most kills must hit a running ingest, from its first write to its last."""
    random = Random(0)
    folder = write(place / BOOK, {name: content(i, 0, random) for i, name in enumerate(LESSONS)})
    code, steps = run_child(folder, place / "data", "incremental")
    assert code == 0
    assert steps in range(100, 200)
    code, _ = run_child(folder, place / "other", "incremental", last_step=steps)
    assert code == -signal.SIGKILL
