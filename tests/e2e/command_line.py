"""Runs `askbook` as a user does: another process, its streams and its exit code."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "askbook"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) == 1, f"not one line but {len(lines)}:\n{self.err}"
        return lines[0]


def askbook(*arguments: str | Path, data_dir: Path | None = None, **env: str) -> Ended:
    where = ["--data-dir", str(data_dir)] if data_dir else []
    done = subprocess.run(
        [*COMMAND, *map(str, arguments), *where],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=180,
        env={**os.environ, **env},
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def hear_interrupts() -> None:
    """Have commands hear Ctrl-C also where the tests do not: a shell takes it from what it runs in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def serving(data_dir: Path) -> Generator[str]:
    """`askbook serve` on a free port; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with (data_dir.parent / "server.log").open("w+") as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), "--data-dir", str(data_dir)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + 90
            while True:
                try:
                    with urllib.request.urlopen(f"{address}/health", timeout=2):
                        break
                except (urllib.error.URLError, OSError):
                    log.seek(0)
                    assert process.poll() is None, f"the server stopped:\n{log.read()}"
                    assert time.monotonic() < deadline, f"the server is not up:\n{log.read()}"
                    time.sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
