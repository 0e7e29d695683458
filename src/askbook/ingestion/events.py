"""What happens during an ingest, as one union: the progress bar, the event stream and the tests read it."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Planned:
    """The folder was compared with the library."""

    discovered: int
    new: tuple[str, ...]
    modified: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]
    deleted: tuple[str, ...]
    unchanged: int


@dataclass(frozen=True, slots=True)
class Warned:
    message: str


@dataclass(frozen=True, slots=True)
class FileFailed:
    """This file could not be read; what was indexed of it before stays served."""

    source_file: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChunksPrepared:
    """Lessons were read and split; `chunks` of them wait to be embedded and written."""

    files: int
    chunks: int


@dataclass(frozen=True, slots=True)
class ChunksEmbedded:
    texts: int


@dataclass(frozen=True, slots=True)
class LessonsSwitched:
    """These lessons are now visible in their new form."""

    source_files: tuple[str, ...]
    removed_files: tuple[str, ...]
    chunks_created: int
    chunks_deleted: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The index equals the files."""

    total_chunks: int


IngestionEvent: TypeAlias = (
    Planned | Warned | FileFailed | ChunksPrepared | ChunksEmbedded | LessonsSwitched | Finished
)
