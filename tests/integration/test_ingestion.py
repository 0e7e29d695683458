"""Ingesting a folder that changes: what is read, what is embedded, what stays when something fails."""

import asyncio
import io
import os
import shutil
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from shelf import BOOK, Shelf, clean_build, lesson, open_shelf, write

import askbook.ingestion.readers.walk as walking
from askbook.book import Vector
from askbook.errors import (
    Conflict,
    DataDirectoryCorrupt,
    EmbedderMismatch,
    InvalidInput,
    StorageFull,
)
from askbook.ingestion import preparing
from askbook.ingestion.events import LessonsSwitched
from askbook.ingestion.pipeline import IN_FLIGHT
from askbook.ingestion.planning import PlannedLesson
from askbook.ingestion.preparing import BATCH_CHUNKS, _Preparer
from askbook.ingestion.switching import remove_book
from askbook.storage.dirty import DirtyPoints
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedLesson
from doubles import NullEmbedder


@pytest.fixture
def folder(place: Path) -> Path:
    """Two modules; the lessons of the second have no numbers, so their slots follow their order."""
    return write(
        place / BOOK,
        {
            "intro/01-start.md": lesson("Start", "Aims", "Tools", "Plan"),
            "intro/02-setup.md": lesson("Setup", "Install", "Check"),
            "robots/index.md": lesson("Robots", "What they are"),
            "robots/arms.md": lesson("Arms", "Joints", "Grippers"),
            "robots/legs.md": lesson("Legs", "Gait", "Balance"),
            "robots/wheels.md": lesson("Wheels", "Drive"),
        },
    )


async def check_clean(shelf: Shelf, folder: Path, place: Path) -> None:
    """The shelf holds exactly what a clean build holds, and the audit agrees."""
    stored = await shelf.contents()
    clean = await clean_build(folder, place / f"clean{len(list(place.iterdir()))}")
    assert stored == clean
    assert stored.payloads == stored.indexed
    audit = await shelf.audit()
    assert audit.found.all() == []
    assert await shelf.library.dirty.of(BOOK) == []


def ids_of(lessons: dict[str, ShelvedLesson]) -> dict[str, str]:
    return {path: each.parent_doc_id for path, each in lessons.items()}


# What changed ---------------------------------------------------------------------------------


async def test_first_ingest_embeds_every_text_once(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        ran = await shelf.ingest(folder)
        assert len(ran.plan.new) == 6
        assert ran.embedded == len(shelf.embedder.texts) == len(set(shelf.embedder.texts)) == 11
        await check_clean(shelf, folder, place)


async def test_nothing_changed_reads_and_embeds_nothing(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.library.lessons(BOOK)
        ran = await shelf.ingest(folder)
        assert (ran.plan.unchanged, ran.embedded) == (6, 0)
        assert await shelf.library.lessons(BOOK) == before


async def test_new_file_is_added(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"intro/03-next.md": lesson("Next", "Onwards")})
        ran = await shelf.ingest(folder)
        assert (ran.plan.new, ran.plan.unchanged, ran.embedded) == (("intro/03-next.md",), 6, 1)
        await check_clean(shelf, folder, place)


async def test_only_the_changed_chunk_of_a_changed_file_is_embedded(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        old = await shelf.contents()
        write(folder, {"intro/01-start.md": lesson("Start", "Aims", "Other tools", "Plan")})
        ran = await shelf.ingest(folder)
        assert (ran.plan.modified, ran.embedded) == (("intro/01-start.md",), 1)
        assert "Other tools" in shelf.embedder.texts[-1]
        new = await shelf.contents()
        assert len(set(old.payloads) - set(new.payloads)) == 1
        await check_clean(shelf, folder, place)


async def test_chain_and_totals_of_kept_chunks_are_repaired(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"intro/01-start.md": lesson("Start", "Aims", "More aims", "Tools", "Plan")})
        ran = await shelf.ingest(folder)
        assert ran.embedded == 1
        found = await shelf.library.lesson(BOOK, source_file="intro/01-start.md")
        assert found is not None
        chunks = found[1]
        assert [c.metadata.chunk_index for c in chunks] == [0, 1, 2, 3]
        assert {c.metadata.total_chunks for c in chunks} == {4}
        for one, following in pairwise(chunks):
            assert one.metadata.next_chunk_id == following.id
            assert following.metadata.prev_chunk_id == one.id
        await check_clean(shelf, folder, place)


async def test_version_and_dates_follow_changes(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.library.lessons(BOOK)
        write(folder, {"intro/01-start.md": lesson("Start", "Aims", "Plan")})
        await shelf.ingest(folder)
        after = await shelf.library.lessons(BOOK)
        changed = after["intro/01-start.md"]
        assert changed.version == 2
        assert changed.created_at == before["intro/01-start.md"].created_at
        assert changed.ingested_at > before["intro/01-start.md"].ingested_at
        assert after["intro/02-setup.md"] == before["intro/02-setup.md"]


async def test_deleted_file_leaves_nothing_behind(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        (folder / "robots/arms.md").unlink()
        ran = await shelf.ingest(folder)
        assert ran.plan.deleted == ("robots/arms.md",)
        assert ran.embedded == 0
        await check_clean(shelf, folder, place)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("intro/02-setup.md", "intro/02-set-up.md"),  # renamed, same slot
        ("intro/02-setup.md", "robots/setup.md"),  # moved
        ("intro/02-setup.md", "intro/07-setup.md"),  # renumbered
        ("robots/arms.md", "robots/zebra.md"),  # renamed, and the slots of others with it
    ],
)
async def test_renamed_moved_and_renumbered_files_are_recognised(
    folder: Path, place: Path, old: str, new: str
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        created = (await shelf.library.lessons(BOOK))[old].created_at
        embedded = len(shelf.embedder.texts)
        crumbs = {c.metadata.breadcrumb async for c in shelf.library.export(BOOK)}
        (folder / old).rename(folder / new)
        ran = await shelf.ingest(folder)
        assert ran.plan.moved == ((old, new),)
        assert ran.plan.new == ran.plan.deleted == ()
        assert (await shelf.library.lessons(BOOK))[new].created_at == created
        now = {c.metadata.breadcrumb async for c in shelf.library.export(BOOK)}
        # Another module is another breadcrumb, which the embedder sees; all else is known.
        assert len(shelf.embedder.texts) - embedded == (2 if now - crumbs else 0)
        await check_clean(shelf, folder, place)


async def test_lessons_that_exchange_slots_are_not_embedded_again(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        (folder / "intro/01-start.md").rename(folder / "intro/x.md")
        (folder / "intro/02-setup.md").rename(folder / "intro/01-setup.md")
        (folder / "intro/x.md").rename(folder / "intro/02-start.md")
        ran = await shelf.ingest(folder)
        assert (len(ran.plan.moved), ran.embedded) == (2, 0)
        await check_clean(shelf, folder, place)


async def test_swapped_contents_are_not_embedded_again(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        one, other = folder / "intro/01-start.md", folder / "intro/02-setup.md"
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
        ran = await shelf.ingest(folder)
        assert (len(ran.plan.modified), ran.embedded) == (2, 0)
        await check_clean(shelf, folder, place)


async def test_a_file_put_before_others_moves_their_slots_only(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        slots = ids_of(await shelf.library.lessons(BOOK))
        write(folder, {"robots/aaa.md": lesson("Aaa", "First")})
        ran = await shelf.ingest(folder)
        assert ran.embedded == 1
        now = ids_of(await shelf.library.lessons(BOOK))
        assert now["robots/arms.md"] == slots["robots/legs.md"]
        await check_clean(shelf, folder, place)


async def test_long_runs_of_moved_slots_are_switched_lesson_by_lesson(place: Path) -> None:
    """Memory must not hold a whole chapter because one file was put before it."""
    folder = write(
        place / BOOK, {f"m/l{i:03}.md": lesson(f"L{i}", "a", "b", "c", "d") for i in range(30)}
    )
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"m/a.md": lesson("A", "x")})
        plan = await shelf.pipeline.plan(folder)
        assert max(len(unit.lessons) for unit in plan.units) == 1
        assert len(plan.units) == 31
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


@pytest.mark.parametrize("edit", ["insert", "delete", "exchange"])
async def test_every_lesson_is_whole_between_any_two_switches(
    place: Path, monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    """Also when slots move between lessons that have sections, and thus chunk ids, in common."""
    monkeypatch.setattr(preparing, "BATCH_CHUNKS", 1)
    shared = "## Shared\n\n" + "This section stands in every lesson of the book. " * 30
    lessons = {f"m/{n}.md": lesson(n.upper(), "One", "Two") + shared for n in "bcdefg"}
    folder = write(place / BOOK, dict(lessons))
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        if edit == "insert":
            write(folder, {"m/a.md": lesson("A", "One") + shared})
        elif edit == "delete":
            (folder / "m/b.md").unlink()
        else:
            write(folder, {"m/c.md": lessons["m/e.md"], "m/e.md": lessons["m/c.md"]})
            (folder / "m/g.md").rename(folder / "m/a.md")
        switches = 0
        async for event in shelf.pipeline.run(folder):
            if isinstance(event, LessonsSwitched):
                switches += 1
                for path, record in (await shelf.library.lessons(BOOK)).items():
                    found = await shelf.library.lesson(BOOK, source_file=path)
                    assert found is not None
                    assert len(found[1]) == record.chunk_count
                    assert {c.metadata.total_chunks for c in found[1]} == {record.chunk_count}
        assert switches > 1 or edit == "exchange"
        await check_clean(shelf, folder, place)


async def test_a_title_in_the_breadcrumbs_of_others_reads_them_again(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"robots/index.md": lesson("Machines", "What they are")})
        ran = await shelf.ingest(folder)
        assert set(ran.plan.modified) == {f"robots/{p.name}" for p in (folder / "robots").iterdir()}
        await check_clean(shelf, folder, place)


async def test_a_title_change_that_was_interrupted_is_finished(folder: Path, place: Path) -> None:
    """The other lessons' files did not change: only the plan knew that they are to be read again."""
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"robots/index.md": lesson("Machines", "What they are")})
        for each in (folder / "robots").iterdir():
            # Long enough that every lesson is a batch of its own.
            if each.name != "index.md":
                each.write_text(lesson(each.stem, *(f"Part {i}" for i in range(70))))
        await shelf.ingest(folder)
        write(folder, {"robots/index.md": lesson("Automata", "What they are")})
        events = shelf.pipeline.run(folder)
        async for event in events:
            if isinstance(event, LessonsSwitched):
                break
        await events.aclose()  # pyright: ignore[reportAttributeAccessIssue] an async generator
        assert (await shelf.audit()).found.all() != []
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_a_changed_manifest_reads_everything_again(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"askbook.toml": 'id = "book"\nbase_url = "https://example.org/docs"\n'})
        ran = await shelf.ingest(folder)
        assert (len(ran.plan.modified), ran.embedded) == (6, 0)
        await check_clean(shelf, folder, place)


async def test_a_manifest_change_taken_back_in_the_middle_leaves_no_trace(
    folder: Path, place: Path
) -> None:
    async with open_shelf(place / "data") as shelf:
        for each in (folder / "robots").iterdir():
            each.write_text(lesson(each.stem, *(f"Part {i}" for i in range(70))))
        await shelf.ingest(folder)
        write(folder, {"askbook.toml": 'id = "book"\nbase_url = "https://example.org/docs"\n'})
        events = shelf.pipeline.run(folder)
        async for event in events:
            if isinstance(event, LessonsSwitched):
                break
        await events.aclose()  # pyright: ignore[reportAttributeAccessIssue] an async generator
        (folder / "askbook.toml").unlink()
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_all_lessons_of_a_book_may_be_replaced(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        for name in ("intro", "robots"):
            shutil.rmtree(folder / name)
        write(folder, {"new.md": lesson("New", "All of it")})
        ran = await shelf.ingest(folder)
        assert (ran.plan.new, len(ran.plan.deleted)) == (("new.md",), 6)
        await check_clean(shelf, folder, place)


async def test_the_same_holds_on_postgresql(folder: Path, place: Path, database_url: str) -> None:
    async with open_shelf(place / "data", database_url=database_url) as shelf:
        await shelf.ingest(folder)
        ran = await shelf.ingest(folder)
        assert (ran.plan.unchanged, ran.embedded) == (6, 0)
        write(folder, {"intro/01-start.md": lesson("Start", "Aims", "Other tools", "Plan")})
        write(folder, {"robots/aaa.md": lesson("Aaa", "First")})
        (folder / "robots/legs.md").unlink()
        assert (await shelf.ingest(folder)).embedded == 2
        await check_clean(shelf, folder, place)
        found = await shelf.library.lesson(BOOK, source_file="robots/arms.md")
        assert found is not None
        one, other = (chunk.id for chunk in found[1])
        await shelf.library.drop_chunks(BOOK, [one])
        await shelf.index.delete([other])
        audit = await shelf.audit(repair=True)
        assert {(d.where, d.chunk_id) for d in audit.repaired} == {
            ("database", one),
            ("index", other),
        }
        await check_clean(shelf, folder, place)


# Odd files ------------------------------------------------------------------------------------


async def test_empty_tiny_and_duplicate_files(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        texts = len(shelf.embedder.texts)
        same = (folder / "robots/arms.md").read_bytes()
        write(folder, {"robots/copy.md": same, "robots/empty.md": "", "robots/tiny.md": "Hi."})
        ran = await shelf.ingest(folder)
        assert ran.failures == {}
        assert len(shelf.embedder.texts) == texts  # the copy's texts are known
        lessons = await shelf.library.lessons(BOOK)
        assert lessons["robots/empty.md"].chunk_count == lessons["robots/tiny.md"].chunk_count == 0
        assert lessons["robots/copy.md"].chunk_count == lessons["robots/arms.md"].chunk_count
        assert any("robots/empty.md" in warning for warning in ran.warnings)
        await check_clean(shelf, folder, place)


async def test_very_long_and_very_deep_files(folder: Path, place: Path) -> None:
    long = "# Long\n\n" + "".join(
        f"Sentence {i} says something of its own about the matter.\n\n" for i in range(14_000)
    )
    deep = "".join(
        f"{'#' * min(level, 200)} Level {level}\n\nText {level}.\n\n" for level in range(1, 201)
    )
    assert len(long) > 800_000
    write(folder, {"robots/long.md": long, "robots/deep.md": deep})
    async with open_shelf(place / "data") as shelf:
        ran = await shelf.ingest(folder)
        assert ran.failures == {}
        found = await shelf.library.lesson(BOOK, source_file="robots/long.md")
        assert found is not None
        text = "".join("".join(chunk.text.split()) for chunk in found[1])
        assert "".join(long.split()).removeprefix("#Long") in text
        assert (await shelf.audit()).found.all() == []


async def test_links_in_circles(folder: Path, place: Path) -> None:
    (folder / "robots/again").symlink_to(folder / "robots", target_is_directory=True)
    (folder / "robots/itself.md").symlink_to(folder / "robots/itself.md")
    async with open_shelf(place / "data") as shelf:
        ran = await shelf.ingest(folder)
        assert (ran.plan.discovered, ran.failures) == (6, {})
        assert len(ran.warnings) == 2
        await check_clean(shelf, folder, place)


# What goes wrong ------------------------------------------------------------------------------


def unreadable(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Opening these files fails; permissions would not stop root."""
    real = io.open

    def denied(file: Any, *args: Any, **kwargs: Any) -> Any:
        if Path(file).name in names:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *args, **kwargs)

    monkeypatch.setattr("builtins.open", denied)
    monkeypatch.setattr("io.open", denied)


async def test_unreadable_file_keeps_its_old_content_and_is_retried(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        old = await shelf.library.lesson(BOOK, source_file="robots/arms.md")
        write(folder, {"robots/legs.md": lesson("Legs", "Gait", "Balance", "Speed")})
        with monkeypatch.context() as patch:
            unreadable(patch, "arms.md")
            ran = await shelf.ingest(folder)
            assert ran.failures == {"robots/arms.md": "Permission denied"}
            assert ran.plan.modified == ("robots/legs.md",)
            now = await shelf.library.lesson(BOOK, source_file="robots/arms.md")
            assert old is not None
            assert now is not None
            assert now[1] == old[1]
            audit = await shelf.audit()
            assert audit.found.all() == []
            assert audit.unreadable == {"robots/arms.md": "Permission denied"}
            assert not audit.sound
            repaired = await shelf.audit(repair=True)
            assert (repaired.unreadable, repaired.sound) == (audit.unreadable, False)
        ran = await shelf.ingest(folder)
        assert ran.plan.modified == ("robots/arms.md",)
        await check_clean(shelf, folder, place)


async def test_unreadable_file_gets_new_settings_when_it_is_readable_again(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        write(folder, {"askbook.toml": 'id = "book"\nbase_url = "https://example.org/docs"\n'})
        with monkeypatch.context() as patch:
            unreadable(patch, "arms.md")
            assert set((await shelf.ingest(folder)).failures) == {"robots/arms.md"}
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_who_needs_the_slot_of_an_unreadable_file_waits(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        write(folder, {"robots/aaa.md": lesson("Aaa", "First")})
        with monkeypatch.context() as patch:
            unreadable(patch, "legs.md")
            ran = await shelf.ingest(folder)
        # aaa pushes arms, arms pushes legs, and legs cannot be read: all but wheels stay.
        assert set(ran.failures) == {"robots/aaa.md", "robots/arms.md", "robots/legs.md"}
        assert "still taken by robots/legs.md" in ran.failures["robots/arms.md"]
        now = await shelf.contents()
        kept = {i for i, p in before.payloads.items() if p["source_file"] != "robots/wheels.md"}
        assert kept <= set(now.payloads)
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_unlistable_folder_keeps_its_lessons(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path).name == "robots":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        with monkeypatch.context() as patch:
            patch.setattr(walking.os, "scandir", scandir)
            ran = await shelf.ingest(folder)
        assert ran.plan.deleted == ()
        assert len(ran.failures) == 4
        assert ran.plan.discovered == 6
        assert await shelf.contents() == before
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_a_reader_that_breaks_on_one_file_fails_that_file_alone(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from askbook.ingestion.readers.plain import PlainReader

    real = PlainReader.read

    def read(self: PlainReader, declared: Any, place: Any, data: bytes) -> Any:
        if declared.source_file == "robots/arms.md":
            raise RecursionError("too deep")
        return real(self, declared, place, data)

    async with open_shelf(place / "data") as shelf:
        with monkeypatch.context() as patch:
            patch.setattr(PlainReader, "read", read)
            ran = await shelf.ingest(folder)
        assert ran.failures == {"robots/arms.md": "RecursionError: too deep"}
        assert len(await shelf.library.lessons(BOOK)) == 5
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


async def test_file_that_changes_while_it_is_read_is_read_again(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "robots/arms.md"
    original = path.read_text()
    real = _Preparer._read

    def read(self: _Preparer, planned: PlannedLesson, warnings: list[str]) -> Any:
        if planned.declared.source_file == "robots/arms.md":
            path.write_text(lesson("Arms", "Joints", "Tentacles"))
        return real(self, planned, warnings)

    async with open_shelf(place / "data") as shelf:
        with monkeypatch.context() as patch:
            patch.setattr(_Preparer, "_read", read)
            ran = await shelf.ingest(folder)
        assert any("robots/arms.md changed while" in warning for warning in ran.warnings)
        path.write_text(original)  # the very content that was planned, but not what was read
        ran = await shelf.ingest(folder)
        assert ran.plan.modified == ("robots/arms.md",)
        await check_clean(shelf, folder, place)


async def test_embedder_that_fails_half_way(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "BATCH_CHUNKS", 64)
    folder = write(
        place / BOOK,
        {f"m/{i:02}-l.md": lesson(f"L{i}", *(f"Part {k}" for k in range(20))) for i in range(16)},
    )
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        for i in range(16):
            text = lesson(
                f"L{i}", *(f"Part {k}" for k in range(10)), *(f"New {k}" for k in range(9))
            )
            write(folder, {f"m/{i:02}-l.md": text})
        known = len(shelf.embedder.texts)
        # As many batches are embedded at once, in no fixed order; all of them succeed, the next fails.
        shelf.embedder.fail_after = shelf.embedder.calls + IN_FLIGHT
        with pytest.raises(RuntimeError, match="out of order"):
            await shelf.ingest(folder)
        now = await shelf.contents()
        assert now.payloads == now.indexed
        assert now.payloads != before.payloads
        for path in await shelf.library.lessons(BOOK):
            found = await shelf.library.lesson(BOOK, source_file=path)
            assert found is not None
            new = {"New" in chunk.text for chunk in found[1][10:]}
            assert len(new) == 1  # all old or all new
        shelf.embedder.fail_after = None
        await shelf.ingest(folder)
        assert (
            len(shelf.embedder.texts) - known == 16 * 9
        )  # what was embedded before the failure counts
        await check_clean(shelf, folder, place)


async def test_full_disk_keeps_the_old_content(
    folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever write it is that finds no room."""
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        old = await shelf.contents()
        for kind, name in (
            (DirtyPoints, "mark"),
            (Library, "replace"),
            (DirtyPoints, "clear"),
            (Library, "update_book"),
        ):

            async def full(*_: Any, **__: Any) -> None:
                raise StorageFull("No space is left.")

            write(folder, {"robots/arms.md": lesson("Arms", "Joints", f"Without {name}")})
            with monkeypatch.context() as patch:
                patch.setattr(kind, name, full)
                with pytest.raises(StorageFull):
                    await shelf.ingest(folder)
            visible = (await shelf.contents()).payloads
            lesson_ids = {i for i, p in visible.items() if p["source_file"] == "robots/arms.md"}
            assert len(lesson_ids) == 2
            assert {i: p for i, p in visible.items() if i not in lesson_ids} == {
                i: p for i, p in old.payloads.items() if p["source_file"] != "robots/arms.md"
            }
            await shelf.ingest(folder)
            await check_clean(shelf, folder, place)


@pytest.mark.parametrize("left", [16 << 10, 400 << 10, 8 << 20])
async def test_a_disk_that_is_really_full(small_disk: Path, place: Path, left: int) -> None:
    """At some of these the engine's memory maps would kill the process, were no reserve kept."""
    many = [f"Part {k}" for k in range(30)]
    folder = write(place / BOOK, {f"m/{i:02}-l.md": lesson(f"L{i}", *many) for i in range(10)})
    filler = small_disk / "filler"
    async with open_shelf(small_disk / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - left))
        for i in range(10):
            write(folder, {f"m/{i:02}-l.md": lesson(f"New {i}", *many)})
        with pytest.raises(StorageFull, match="Free some space"):
            await shelf.ingest(folder)
        assert await shelf.contents() == before
        filler.unlink()
        await shelf.ingest(folder)
        await check_clean(shelf, folder, place)


# Refusals and modes ---------------------------------------------------------------------------


async def test_another_embedder_is_refused_with_the_way_out(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
    async with open_shelf(place / "data", NullEmbedder("other")) as shelf:
        for mode in ("incremental", "full"):
            with pytest.raises(EmbedderMismatch, match="--mode recreate"):
                await shelf.ingest(folder, mode=mode)
        with pytest.raises(EmbedderMismatch, match="--mode recreate"):
            await shelf.audit()
        with pytest.raises(EmbedderMismatch, match="--mode recreate"):
            await shelf.index.count()
    async with open_shelf(place / "data") as shelf:
        assert await shelf.contents() == before
    async with open_shelf(place / "data", NullEmbedder("other")) as shelf:
        await shelf.ingest(folder, mode="recreate")
        now = await shelf.contents()
        assert now.payloads == before.payloads
        assert set(now.vectors) == set(before.vectors)
        assert not set(now.vectors.values()) & set(before.vectors.values())
        assert (await shelf.audit()).found.all() == []
        assert len(shelf.embedder.texts) == len(set(shelf.embedder.texts)) == 11


async def test_books_recreated_at_once_for_another_embedder_lose_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {
        name: write(place / name, {"one.md": lesson(f"One of {name}", "Aims", "Tools")})
        for name in ("first", "second", "third")
    }
    async with open_shelf(place / "data") as shelf:
        for book_id, folder in folders.items():
            await shelf.ingest(folder, book_id)
    async with open_shelf(place / "data", NullEmbedder("other")) as shelf:
        plain, begun, slow = shelf.library.dirty.mark, asyncio.Event(), iter((0.1, 0.6))

        async def mark(book_id: str, chunk_ids: Iterable[str]) -> None:
            if book_id == "third":
                begun.set()
                await asyncio.sleep(next(slow))
            await plain(book_id, chunk_ids)

        monkeypatch.setattr(shelf.library.dirty, "mark", mark)
        first = asyncio.create_task(shelf.ingest(folders["first"], "first", "recreate"))
        await begun.wait()
        await asyncio.gather(first, shelf.ingest(folders["second"], "second", "recreate"))
        for book_id in ("first", "second"):
            _, chunks = await shelf.library.totals(book_id)
            assert await shelf.index.count(book_id) == chunks == 2
            assert await shelf.library.dirty.of(book_id) == []
        await shelf.ingest(folders["third"], "third", "recreate")
        assert await shelf.index.count() == 6


@pytest.mark.parametrize(
    ("moment", "is_known"),
    [
        ("planned", True),
        ("begun", True),
        ("begun", False),
        ("all switched", True),
        ("all switched", False),
    ],
)
async def test_a_book_deleted_while_it_is_ingested_stays_deleted(
    place: Path, moment: str, is_known: bool
) -> None:
    names = [f"{n:02}-x.md" for n in range(80)]
    folder = write(place / BOOK, {name: lesson(name, "One", "Two") for name in names})

    async def ingest_and_delete(shelf: Shelf) -> None:
        switched: list[str] = []
        async for event in shelf.pipeline.run(folder):
            if isinstance(event, LessonsSwitched):
                switched += event.source_files
            reached = {
                "planned": True,
                "begun": bool(switched),
                "all switched": len(switched) == len(names),
            }
            shelved = await shelf.library.book(BOOK)
            if reached[moment] and shelved is not None:
                await remove_book(shelf.library, shelf.cache, shelf.index, shelved)

    async with open_shelf(place / "data") as shelf:
        if is_known:
            await shelf.ingest(folder)
            write(folder, {name: lesson(name, "One", "Other") for name in names})
        with pytest.raises(Conflict, match="deleted while it was being ingested"):
            await ingest_and_delete(shelf)
        assert await shelf.library.book(BOOK) is None
        assert await shelf.library.totals(BOOK) == (0, 0)
        assert await shelf.library.dirty.of(BOOK) == []
        assert await shelf.index.count(BOOK) == 0
        assert len((await shelf.ingest(folder)).plan.new) == len(names)
        await check_clean(shelf, folder, place)


def damage(index: Path) -> None:
    for path in index.rglob("*"):
        if path.is_file() and path.name != "fingerprint.json":
            path.write_bytes(b"\xff" * 100)


async def test_damaged_index_is_reported_and_rebuilt_with_all_books(
    folder: Path, place: Path
) -> None:
    other = write(place / "other", {"one.md": lesson("One", "Only", "Lonely")})
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        await shelf.ingest(other)
        before, beside = await shelf.contents(), await shelf.contents("other")
    damage(place / "data" / "index")
    async with open_shelf(place / "data") as shelf:
        with pytest.raises(DataDirectoryCorrupt, match="--mode recreate"):
            await shelf.index.count()
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder, mode="recreate")
        assert await shelf.contents() == before
        assert await shelf.contents("other") == beside
        assert (await shelf.audit("other")).found.all() == []
        await check_clean(shelf, folder, place)
        # The other book's vectors came from the cache.
        assert not any("Lonely" in text for text in shelf.embedder.texts)


@pytest.mark.parametrize("mode", ["incremental", "full", "recreate"])
async def test_empty_folder_is_refused_and_nothing_lost(
    folder: Path, place: Path, mode: Any
) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        for name in ("intro", "robots"):
            shutil.rmtree(folder / name)
        with pytest.raises(InvalidInput, match="nothing was changed"):
            await shelf.ingest(folder, mode=mode)
        assert await shelf.contents() == before
        hashes = [
            row.text_hash
            for row in (await shelf.library.rows(BOOK, chunk_ids=list(before.payloads))).values()
        ]
        cached = await shelf.cache.find(str(shelf.embedder.fingerprint), hashes)
        assert len(cached) == len(set(hashes))


@pytest.mark.parametrize("mode", ["incremental", "full"])
async def test_foreign_folder_with_the_same_id_is_refused(
    folder: Path, place: Path, mode: Any
) -> None:
    foreign = write(
        place / "elsewhere" / BOOK,
        {"robots/index.md": lesson("Cooking", "Soup"), "robots/arms.md": lesson("Salt", "Sea")},
    )
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        before = await shelf.contents()
        with pytest.raises(Conflict, match="--book ID"):
            await shelf.ingest(foreign, mode=mode)
        assert await shelf.contents() == before
        await shelf.ingest(foreign, "cooking")
        assert await shelf.contents() == before
        await shelf.ingest(foreign, mode="recreate")
        assert len(await shelf.library.lessons(BOOK)) == 2


async def test_a_copy_of_the_folder_is_the_same_book(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        copy = place / "elsewhere" / BOOK
        shutil.copytree(folder, copy)
        write(copy, {"robots/arms.md": lesson("Arms", "Elbows")})
        ran = await shelf.ingest(copy)
        assert ran.plan.modified == ("robots/arms.md",)
        await check_clean(shelf, copy, place)


async def test_dry_run_changes_nothing(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        plan = await shelf.pipeline.plan(folder)
        assert len(plan.new) == 6
        assert await shelf.library.books() == []
        await shelf.ingest(folder)
        before = await shelf.contents()
        lessons = await shelf.library.lessons(BOOK)
        write(folder, {"robots/arms.md": lesson("Arms", "Elbows")})
        (folder / "robots/legs.md").unlink()
        for mode in ("incremental", "full", "recreate"):
            plan = await shelf.pipeline.plan(folder, mode=mode)
            assert plan.deleted == ["robots/legs.md"]
        assert await shelf.contents() == before
        assert await shelf.library.lessons(BOOK) == lessons
        assert len(shelf.embedder.texts) == 11


async def test_full_reads_everything_and_embeds_nothing_known(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        lessons = await shelf.library.lessons(BOOK)
        ran = await shelf.ingest(folder, mode="full")
        assert (len(ran.plan.modified), ran.embedded) == (6, 0)
        now = await shelf.library.lessons(BOOK)
        assert {p: each.version for p, each in now.items()} == dict.fromkeys(lessons, 1)
        await check_clean(shelf, folder, place)


async def test_recreate_embeds_everything_afresh(folder: Path, place: Path) -> None:
    async with open_shelf(place / "data") as shelf:
        await shelf.ingest(folder)
        (folder / "robots/legs.md").unlink()
        texts = len(shelf.embedder.texts)
        ran = await shelf.ingest(folder, mode="recreate")
        assert ran.embedded == len(shelf.embedder.texts) - texts == 9
        await check_clean(shelf, folder, place)


async def test_texts_of_one_run_are_embedded_once(place: Path) -> None:
    """The same text in several batches under way at once goes to the embedder once."""
    many = [f"Part {k}" for k in range(BATCH_CHUNKS)]
    folder = write(place / BOOK, {f"m/{i}-l.md": lesson("Same", *many) for i in range(4)})
    async with open_shelf(place / "data") as shelf:
        shelf.embedder.seconds = 0.2
        await shelf.ingest(folder)
        texts: Sequence[str] = shelf.embedder.texts
        assert len(texts) == len(set(texts)) == BATCH_CHUNKS


def test_null_embedder_gives_unit_vectors() -> None:
    vector: Vector = NullEmbedder().vector_of("some text")
    assert float(vector @ vector) == pytest.approx(1.0)
