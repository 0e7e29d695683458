"""What earlier runs found, kept on disk: it counts as long as the code that found it is the same."""

import hashlib
import pickle
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import askbook

R = TypeVar("R")

_PACKAGE = Path(askbook.__file__).parent
_SEARCHING = (
    "book",
    "config",
    "embedding",
    "evaluation",
    "index",
    "ingestion",
    "models",
    "retrieval",
    "storage",
)
_ANSWERING = ("agent", "bootstrap", "chat")
_RATING = ("calibration.py", "calibration.json", "confidence.py")
"""What is made of a retrieval afterwards."""


def state_of_answers() -> str:
    """Names the code and data that answers depend on."""
    return _digest(_files((*_SEARCHING, *_ANSWERING)))


def state_of_retrievals(*, rated: bool) -> str:
    """Names the code and data that retrievals depend on; what rates them counts where their rating is kept too."""
    files = _files(_SEARCHING)
    return _digest([path for path in files if rated or path.name not in _RATING])


class KeptRows(Generic[R]):
    """Rows in a file, pickled as they come; one that was being written when a run was stopped is cut off."""

    def __init__(self, file: Path, kind: type[R]) -> None:
        self._file = file
        self.rows: list[R] = []
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+b") as kept:
            kept.seek(0)
            end = 0
            with suppress(EOFError, pickle.UnpicklingError):
                while True:
                    row = pickle.load(kept)
                    if not isinstance(row, kind):
                        raise TypeError(f"{file} holds a {type(row).__name__}: remove it.")
                    self.rows.append(row)
                    end = kept.tell()
            kept.truncate(end)

    def put(self, row: R) -> None:
        with self._file.open("ab") as kept:
            pickle.dump(row, kept)


def _files(folders: Sequence[str]) -> list[Path]:
    return [
        path
        for folder in folders
        for path in sorted((_PACKAGE / folder).rglob("*"))
        if path.suffix in (".py", ".json", ".md", ".txt") and path.is_file()
    ]


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
