"""`askbook ingest --watch`: every change is served as it is saved."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import COMMAND, askbook, hear_interrupts


def until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


@dataclass
class Watch:
    """A running `askbook ingest --watch` and what it has said so far."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def rounds(self) -> int:
        return self.said.count("Watching")

    def interrupt(self) -> int:
        os.kill(self.process.pid, signal.SIGINT)
        return self.process.wait(timeout=30)


@contextmanager
def watching(book: Path, data_dir: Path, log: Path) -> Generator[Watch]:
    """Watch a book from its first ingest on."""
    hear_interrupts()
    command = [*COMMAND, "ingest", str(book), "--watch", "--data-dir", str(data_dir)]
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            watch = Watch(process, log)
            until(lambda: watch.rounds() == 1)
            yield watch
        finally:
            process.kill()
            process.wait()


def test_changes_are_ingested_as_they_are_saved(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "one.md").write_text("# One\n\nA node has one job.\n", encoding="utf-8")
    # Inside the book's folder: what an ingest writes is no change of the book.
    data_dir = book / ".askbook"
    with watching(book, data_dir, tmp_path / "log") as watch:
        (book / "two.md").write_text("# Two\n\nA topic has a name.\n", encoding="utf-8")
        until(lambda: watch.rounds() == 2)
        found = askbook("search", "Which thing has a name?", "--json", data_dir=data_dir)
        assert found.json["results"][0]["source_file"] == "two.md"
        time.sleep(2.0)
        assert watch.rounds() == 2
        assert watch.interrupt() == 130


def test_a_single_file_is_watched_also_when_it_is_replaced(tmp_path: Path) -> None:
    book = tmp_path / "one.html"
    book.write_text("<h1>One</h1><p>A node has one job.</p>", encoding="utf-8")
    with watching(book, tmp_path / "data", tmp_path / "log") as watch:
        (tmp_path / "other.html").write_text("<p>Not of this book.</p>", encoding="utf-8")
        saved = tmp_path / "saved"
        saved.write_text("<h1>One</h1><p>A topic has a name.</p>", encoding="utf-8")
        saved.replace(book)
        until(lambda: watch.rounds() == 2)
        time.sleep(1.0)
        assert watch.rounds() == 2
        assert "one: 1 read, 0 unchanged; 1 chunks added, 1 removed" in watch.said
        assert watch.interrupt() == 130


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    ended = askbook("ingest", tmp_path, "--watch", "--json", data_dir=tmp_path / "data")
    assert ended.code == 4
    assert "--watch" in ended.err
    ended = askbook("ingest", tmp_path / "absent", "--watch", data_dir=tmp_path / "data")
    assert ended.code == 4
