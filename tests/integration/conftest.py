"""Directories for the ingestion tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from data_directories import copy_data
from two_books import ingest_books

MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory, in memory where there is some: a new index waits long for a disk."""
    root = Path(tempfile.mkdtemp(prefix="askbook-", dir=MEMORY if MEMORY.is_dir() else None))
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def two_books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed data directory with two small books, for copying only."""
    folder = tmp_path_factory.mktemp("two-books")
    ingest_books(folder / "data", folder / "sources")
    return folder / "data"


@pytest.fixture
def own_books(two_books: Path, tmp_path: Path) -> Path:
    """A data directory of the test's own, with two small books."""
    return copy_data(two_books, tmp_path / "data")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 MB."""
    root = tmp_path / "disk"
    root.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(root)]
    if os.name == "nt" or os.geteuid() != 0 or subprocess.run(command, check=False).returncode:
        pytest.skip("mounting a small file system needs root")
    yield root
    subprocess.run(["umount", "-l", str(root)], check=True)
