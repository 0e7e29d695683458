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
            told = self._file.read().split()
            self._file.close()
            raise _busy(path, *told[:2])
        self._tell(str(os.getpid()))

    def announce(self, address: str) -> None:
        """Tell other processes where the one that holds the directory can be asked."""
        self._tell(f"{os.getpid()}\n{address}")

    def close(self) -> None:
        self._file.close()

    def _tell(self, text: str) -> None:
        self._file.truncate(0)
        self._file.write(text)
        self._file.flush()


def _busy(path: Path, pid: str = "unknown", address: str | None = None) -> DataDirectoryBusy:
    if address is None:
        return DataDirectoryBusy(
            f"Another askbook process (pid {pid}) uses {path}.",
            "Wait until it is done, stop it, or use another --data-dir.",
        )
    return DataDirectoryBusy(
        f"Another askbook process (pid {pid}) uses {path} and serves it at {address}.",
        f"Ask it: `askbook ask`, `search` and `chat` take --url {address} (or set ASKBOOK_URL). "
        "Otherwise stop it, or use another --data-dir.",
        {"pid": pid, "url": address},
    )


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
