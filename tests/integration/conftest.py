"""Directories for the ingestion tests."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory, in memory where there is some: a new index waits long for a disk."""
    root = Path(tempfile.mkdtemp(prefix="askbook-", dir=MEMORY if MEMORY.is_dir() else None))
    yield root
    shutil.rmtree(root, ignore_errors=True)
