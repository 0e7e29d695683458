"""Several serving processes on one socket: each a server of its own, started again when it dies."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

from askbook.errors import InvalidInput, ServiceUnavailable

if TYPE_CHECKING:
    from askbook.config import Settings

SOCKET = "ASKBOOK_SOCKET"
"""Tells a process of several which of its files is the socket they share."""
LIFELINE = "ASKBOOK_LIFELINE"
"""Tells it which is the pipe that closes when the process that started it is gone, however that ended."""
LOOK = 0.2
AT_ONCE = 5.0
"""Seconds within which a process that ends has not started at all."""


def shared_socket() -> socket.socket | None:
    """The socket this process was given, if it is one of several."""
    given = os.environ.get(SOCKET)
    if given is None:
        return None
    lifeline = os.environ.get(LIFELINE)
    if lifeline is not None:
        Thread(target=_stop_with, args=(int(lifeline),), daemon=True).start()
    return socket.socket(fileno=int(given))


def _stop_with(lifeline: int) -> None:
    """Wait for the other end to close, then stop as if asked to."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def serve_together(settings: "Settings", listening: socket.socket, processes: int) -> int:
    """Run this many servers until stopped; one that dies is replaced, one that cannot start ends all."""
    if sys.platform == "win32":
        raise InvalidInput("Processes cannot share a socket on Windows.", "Leave out --workers.")
    if settings.storage.database_url is None or settings.index.qdrant_url is None:
        raise InvalidInput(
            f"{processes} processes cannot share one data directory.",
            "Set ASKBOOK_DATABASE_URL and QDRANT_URL (`askbook migrate` moves what is there), or "
            "leave out --workers.",
        )
    with _stoppable() as stopped, _Servers(settings, listening) as servers:
        for number in range(processes):
            servers.start(number)
        while not stopped:
            time.sleep(LOOK)
            servers.replace_the_dead()
    return 0


class _Servers:
    def __init__(self, settings: "Settings", listening: socket.socket) -> None:
        self._settings = settings
        self._listening = listening
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}
        # Nothing is ever written: the end that is held here closes with this process.
        self._lifeline, self._held = os.pipe()

    def __enter__(self) -> "_Servers":
        return self

    def __exit__(self, *_: object) -> None:
        for process, _started in self._running.values():
            process.terminate()
        for process, _started in self._running.values():
            try:
                process.wait(self._settings.server.shutdown_grace + AT_ONCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._held)
        os.close(self._lifeline)

    def start(self, number: int) -> None:
        """Start a server with a data directory, and so a name, of its own."""
        folder = self._settings.storage.data_dir / f"process-{number}"
        shared = self._listening.fileno()
        process = subprocess.Popen(  # noqa: S603  # this very program
            [sys.executable, "-m", "askbook", "serve", "--data-dir", str(folder)],
            env={**os.environ, SOCKET: str(shared), LIFELINE: str(self._lifeline)},
            pass_fds=(shared, self._lifeline),
        )
        self._running[number] = (process, time.monotonic())

    def replace_the_dead(self) -> None:
        for number, (process, started) in list(self._running.items()):
            if process.poll() is None:
                continue
            if time.monotonic() - started < AT_ONCE:
                raise ServiceUnavailable(
                    f"Server process {number} ended at once with {process.returncode}.",
                    "Its last words above say why.",
                )
            self.start(number)


@contextmanager
def _stoppable() -> Generator[list[int]]:
    """A list that fills when this process is asked to stop."""
    asked: list[int] = []

    def stop(number: int, _frame: object) -> None:
        asked.append(number)

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
