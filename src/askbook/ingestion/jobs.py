"""An ingestion job as a value: what it is to do, how far it is, and which steps it may take."""

from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from askbook.book import IngestionMode, JobStatus
from askbook.errors import IllegalTransition, InvalidInput
from askbook.ingestion.events import (
    ChunksEmbedded,
    FileFailed,
    IngestionEvent,
    LessonsSwitched,
    Planned,
    Warned,
)

_TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    "queued": frozenset({"running", "failed"}),
    "running": frozenset({"completed", "failed"}),
    "completed": frozenset(),
    "failed": frozenset(),
}


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a job is; none is ever negative."""

    files_discovered: int = 0
    files_processed: int = 0
    files_skipped: int = 0
    files_failed: int = 0
    files_deleted: int = 0
    chunks_created: int = 0
    chunks_deleted: int = 0
    embedded_chunks: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 0:
                raise InvalidInput(f"{name} is {value}, but must be 0 or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionJob:
    """One import run of one book."""

    job_id: int
    book_id: str
    folder: str
    mode: IngestionMode
    status: JobStatus = "queued"
    counts: Counts = Counts()
    queued_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    completed_at: datetime | None = None
    error_message: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def is_over(self) -> bool:
        return not _TRANSITIONS[self.status]

    @property
    def duration_seconds(self) -> int | None:
        if self.started_at is None or self.completed_at is None:
            return None
        return round((self.completed_at - self.started_at).total_seconds())

    def to(self, status: JobStatus, error_message: str | None = None) -> "IngestionJob":
        """The job one step on; only the documented steps are allowed."""
        if status not in _TRANSITIONS[self.status]:
            raise IllegalTransition(f"Job {self.job_id} cannot go from {self.status} to {status}.")
        now = datetime.now(UTC)
        return replace(
            self,
            status=status,
            counts=_none_left_over(self.counts) if status == "failed" else self.counts,
            started_at=self.started_at or (now if status == "running" else None),
            completed_at=now if status in ("completed", "failed") else None,
            error_message=error_message,
        )

    def after(self, event: IngestionEvent) -> "IngestionJob":
        """The job with an event counted."""
        counts = self.counts
        match event:
            case Planned():
                return self._planned(event)
            case Warned(message=message):
                return replace(self, warnings=(*self.warnings, message))
            case FileFailed(source_file=source_file, reason=reason):
                counts = replace(counts, files_failed=counts.files_failed + 1)
                return replace(
                    self, counts=counts, failures=(*self.failures, (source_file, reason))
                )
            case ChunksEmbedded(texts=texts):
                counts = replace(counts, embedded_chunks=counts.embedded_chunks + texts)
            case LessonsSwitched():
                counts = replace(
                    counts,
                    files_processed=counts.files_processed + len(event.source_files),
                    files_deleted=counts.files_deleted + len(event.removed_files),
                    chunks_created=counts.chunks_created + event.chunks_created,
                    chunks_deleted=counts.chunks_deleted + event.chunks_deleted,
                )
            case _:
                return self
        return replace(self, counts=counts)

    def to_json(self) -> dict[str, Any]:
        return {
            "job_id": self.job_id,
            "book_id": self.book_id,
            "mode": self.mode,
            "status": self.status,
            **asdict(self.counts),
            "queued_at": self.queued_at.isoformat(),
            "started_at": None if self.started_at is None else self.started_at.isoformat(),
            "completed_at": None if self.completed_at is None else self.completed_at.isoformat(),
            "duration_seconds": self.duration_seconds,
            "error_message": self.error_message,
            # A resumed job is warned again of what it still sees; once is enough.
            "warnings": list(dict.fromkeys(self.warnings)),
            "failures": [{"source_file": f, "reason": r} for f, r in self.failures],
        }

    def _planned(self, event: Planned) -> "IngestionJob":
        """The start of the work, or of its rest: a resumed job plans anew.

        What was unchanged in the first plan was skipped. Whatever more is unchanged now, this job did
        before its process died, even if it died before it could count it.
        """
        resumed = self.counts.files_discovered > 0
        skipped = event.unchanged
        if resumed:
            skipped = min(self.counts.files_skipped, event.unchanged)
        counts = replace(
            self.counts,
            files_discovered=event.discovered,
            files_processed=event.unchanged - skipped,
            files_skipped=skipped,
            files_failed=0,
        )
        return replace(self, counts=counts, failures=())


@dataclass(frozen=True, slots=True)
class Progress:
    """A job after one more event; no event: it was taken up, or is over."""

    job: IngestionJob
    event: IngestionEvent | None


def _none_left_over(counts: Counts) -> Counts:
    """Files a failed job did not come to count as failed: the next one reads them."""
    left = counts.files_discovered - counts.files_processed - counts.files_skipped
    return replace(counts, files_failed=max(left, counts.files_failed))
