"""`askbook serve --workers`: several processes behind one socket."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from askbook.cli.main import main
from qdrant_server import QdrantServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(process: subprocess.Popen[bytes]) -> set[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return set(map(int, listed.split()))


def answers(port: int, times: int) -> bool:
    try:
        return all(
            httpx.get(f"http://127.0.0.1:{port}/health", timeout=5).status_code == 200
            for _ in range(times)
        )
    except httpx.HTTPError:
        return False


def wait_until(port: int, times: int) -> None:
    deadline = time.monotonic() + 60
    while not answers(port, times):
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.2)


def start(
    folder: Path, port: int, database_url: str, qdrant: QdrantServer
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "askbook", "serve", "--workers", "2", "--port", str(port)]
    env = os.environ | {
        "ASKBOOK_DATABASE_URL": database_url,
        "QDRANT_URL": qdrant.url,
        "ASKBOOK_DATA_DIR": str(folder / "data"),
    }
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)


def is_running(pid: int) -> bool:
    """Whether a process lives; one that ended and was not asked after does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_that_dies_is_replaced_and_all_end_together(
    tmp_path: Path, database_url: str, qdrant: QdrantServer
) -> None:
    port = free_port()
    process = start(tmp_path, port, database_url, qdrant)
    try:
        wait_until(port, 1)
        first = children(process)
        assert len(first) == 2
        time.sleep(6)  # older than a process that could not start
        os.kill(min(first), signal.SIGKILL)
        deadline = time.monotonic() + 30
        while len(children(process) - first) < 1:
            assert time.monotonic() < deadline, "nobody took the place of the dead"
            time.sleep(0.2)
        wait_until(port, 20)
        second = children(process)
        process.terminate()
        assert process.wait(60) == 0
        assert not any(Path(f"/proc/{child}").exists() for child in second)
    finally:
        process.kill()
        process.wait()


def test_none_outlives_the_one_that_started_them(
    tmp_path: Path, database_url: str, qdrant: QdrantServer
) -> None:
    port = free_port()
    process = start(tmp_path, port, database_url, qdrant)
    wait_until(port, 1)
    started = children(process)
    assert len(started) == 2
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(is_running(child) for child in started):
        assert time.monotonic() < deadline, "a server goes on without the one that started it"
        time.sleep(0.2)


def test_several_processes_cannot_share_a_data_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--workers", "2", "--port", str(free_port()), "--data-dir", str(tmp_path)])
    assert ended.value.code == 4
    assert "ASKBOOK_DATABASE_URL and QDRANT_URL" in capsys.readouterr().err
