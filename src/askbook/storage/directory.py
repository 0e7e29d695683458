"""The data directory of the embedded profile: one process at a time holds it."""

import os
from io import TextIOWrapper
from pathlib import Path

from askbook.errors import ConfigurationError, DataDirectoryBusy

LOCK_FILE = "lock"


class DataDirectory:
    """A held data directory; release it by `close`. The lock dies with the process, however it dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._file: TextIOWrapper = (path / LOCK_FILE).open("a+", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"The data directory {path} cannot be used: {error.strerror}.",
                "Choose another with --data-dir or ASKBOOK_DATA_DIR.",
            ) from error
        if not _lock(self._file):
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            raise DataDirectoryBusy(
                f"Another askbook process (pid {holder or 'unknown'}) uses {path}.",
                "Stop it, ask the running server instead, or use another --data-dir.",
            )
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _lock(file: TextIOWrapper) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
