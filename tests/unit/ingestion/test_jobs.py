"""What a job may do, and how it counts, also when it has to begin again."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.book import JobStatus
from askbook.errors import IllegalTransition, InvalidInput
from askbook.ingestion.events import (
    ChunksEmbedded,
    ChunksPrepared,
    FileFailed,
    Finished,
    LessonsSwitched,
    Planned,
    Warned,
)
from askbook.ingestion.jobs import Counts, IngestionJob

STATUSES: tuple[JobStatus, ...] = ("queued", "running", "completed", "failed")
LEGAL = {
    ("queued", "running"),
    ("queued", "failed"),
    ("running", "completed"),
    ("running", "failed"),
}


def a_job(status: JobStatus = "queued") -> IngestionJob:
    job = IngestionJob(job_id=7, book_id="book", folder="/books/book", mode="incremental")
    if status == "queued":
        return job
    return job.to("running") if status == "running" else job.to("running").to(status)


def planned(discovered: int, unchanged: int) -> Planned:
    return Planned(discovered, (), (), (), (), unchanged)


def switched(files: int, created: int = 0, deleted: int = 0) -> LessonsSwitched:
    return LessonsSwitched(tuple(f"{n}.md" for n in range(files)), (), created, deleted)


@pytest.mark.spec("C78", "C85")
@pytest.mark.parametrize(("before", "after"), list(product(STATUSES, STATUSES)))
def test_only_the_documented_steps_are_allowed(before: JobStatus, after: JobStatus) -> None:
    job = a_job(before)
    if (before, after) in LEGAL:
        assert job.to(after).status == after
    else:
        with pytest.raises(IllegalTransition, match=f"from {before} to {after}"):
            job.to(after)


@pytest.mark.spec("C83", "C84", "C86", "C87")
def test_moments_follow_the_status() -> None:
    queued = a_job()
    assert (queued.started_at, queued.completed_at, queued.duration_seconds) == (None, None, None)
    running = queued.to("running")
    assert running.started_at is not None
    assert (running.completed_at, running.duration_seconds) == (None, None)
    completed = running.to("completed")
    assert completed.started_at == running.started_at
    assert completed.completed_at is not None
    assert completed.duration_seconds == 0
    assert completed.error_message is None


@pytest.mark.spec("C84")
def test_a_failed_job_says_when_and_why() -> None:
    failed = a_job("running").to("failed", "No space is left.")
    assert failed.completed_at is not None
    assert failed.error_message == "No space is left."
    never_started = a_job().to("failed", "Cancelled.")
    assert never_started.started_at is None
    assert never_started.completed_at is not None
    assert never_started.duration_seconds is None


@pytest.mark.spec("C88")
@pytest.mark.parametrize("name", ["chunks_created", "chunks_deleted", "files_failed"])
def test_counts_are_never_negative(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        Counts(**{name: -1})


@pytest.mark.spec("C79", "C80", "C81", "C82", "C89")
def test_events_are_counted() -> None:
    job = a_job("running").after(planned(discovered=10, unchanged=4))
    job = job.after(Warned("a.md has no title."))
    job = job.after(FileFailed("b.md", "Permission denied"))
    job = job.after(ChunksPrepared(3, 9)).after(ChunksEmbedded(7))
    job = job.after(LessonsSwitched(("c.md", "d.md"), ("gone.md",), 9, 4))
    job = job.after(switched(3)).after(Finished(40))
    assert job.counts == Counts(
        files_discovered=10,
        files_processed=5,
        files_skipped=4,
        files_failed=1,
        files_deleted=1,
        chunks_created=9,
        chunks_deleted=4,
        embedded_chunks=7,
    )
    assert job.warnings == ("a.md has no title.",)
    assert job.failures == (("b.md", "Permission denied"),)


def test_a_resumed_job_counts_what_it_did_even_if_it_died_before_counting_it() -> None:
    job = a_job("running").after(planned(discovered=10, unchanged=4)).after(switched(2))
    # Three more were switched, and the process died before it saved that.
    job = job.after(planned(discovered=10, unchanged=4 + 2 + 3))
    assert (job.counts.files_processed, job.counts.files_skipped) == (5, 4)
    job = job.after(switched(1))
    assert job.counts.files_processed + job.counts.files_skipped == 10


def test_a_resumed_job_keeps_its_warnings_and_repeats_none() -> None:
    job = a_job("running").after(planned(3, 0)).after(Warned("first")).after(Warned("second"))
    job = job.after(FileFailed("b.md", "busy")).after(planned(3, 1)).after(Warned("second"))
    assert job.to_json()["warnings"] == ["first", "second"]
    assert job.failures == ()
    assert job.counts.files_failed == 0


@given(
    files=st.integers(1, 40),
    unchanged=st.integers(0, 40),
    runs=st.lists(st.lists(st.integers(1, 5), max_size=4), max_size=4),
    failing=st.integers(0, 5),
)
def test_files_add_up_after_any_number_of_resumes(
    files: int, unchanged: int, runs: list[list[int]], failing: int
) -> None:
    left_alone = min(unchanged, files)
    failing = min(failing, files - left_alone)
    job, done = a_job("running"), 0
    for run in [*runs, [files]]:
        job = job.after(planned(files, left_alone + done))
        for number in range(failing):
            job = job.after(FileFailed(f"{number}.md", "unreadable"))
        for batch in run:
            batch = min(batch, files - left_alone - failing - done)
            job, done = job.after(switched(batch)), done + batch
    counts = job.to("completed").counts
    assert counts.files_skipped == left_alone
    assert counts.files_failed == failing
    assert counts.files_processed + counts.files_skipped + counts.files_failed == files


def test_files_add_up_when_a_job_fails_half_way() -> None:
    job = a_job("running").after(planned(10, 2)).after(FileFailed("b.md", "busy"))
    counts = job.after(switched(3)).to("failed", "The embedder is away.").counts
    assert (counts.files_processed, counts.files_skipped, counts.files_failed) == (3, 2, 5)


@pytest.mark.spec("C75", "C76", "C77")
def test_its_json_has_every_documented_field() -> None:
    document = replace(a_job("completed"), warnings=("w",)).to_json()
    assert {
        "job_id", "book_id", "mode", "status", "files_processed", "files_skipped", "chunks_created",
        "chunks_deleted", "started_at", "completed_at", "duration_seconds", "error_message",
        "files_deleted", "files_failed", "warnings", "embedded_chunks",
    } <= set(document)  # fmt: skip
    assert (document["job_id"], document["book_id"], document["mode"]) == (7, "book", "incremental")
