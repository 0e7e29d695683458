"""Small books written to a temporary folder."""

from pathlib import Path

import pytest
from small_books import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files into a folder named `book` and returns it."""

    def into_book(files: dict[str, str | bytes]) -> Path:
        folder = tmp_path / "book"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return into_book
