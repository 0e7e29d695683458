"""`askbook ingest --watch`: every change is served as it is saved."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from command_line import COMMAND, askbook, hear_interrupts


def until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def test_changes_are_ingested_as_they_are_saved(tmp_path: Path) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "one.md").write_text("# One\n\nA node has one job.\n", encoding="utf-8")
    # Inside the book's folder: what an ingest writes is no change of the book.
    data_dir, log = book / ".askbook", tmp_path / "log"
    hear_interrupts()
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [*COMMAND, "ingest", str(book), "--watch", "--data-dir", str(data_dir)],
            stdout=out,
            stderr=out,
        )
        try:

            def rounds() -> int:
                return log.read_text(encoding="utf-8").count("Watching")

            until(lambda: rounds() == 1)
            (book / "two.md").write_text("# Two\n\nA topic has a name.\n", encoding="utf-8")
            until(lambda: rounds() == 2)
            found = askbook("search", "Which thing has a name?", "--json", data_dir=data_dir)
            assert found.json["results"][0]["source_file"] == "two.md"
            time.sleep(2.0)
            assert rounds() == 2
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
            process.wait()


def test_a_single_file_is_watched_also_when_it_is_replaced(tmp_path: Path) -> None:
    book, log, data_dir = tmp_path / "one.html", tmp_path / "log", tmp_path / "data"
    book.write_text("<h1>One</h1><p>A node has one job.</p>", encoding="utf-8")
    hear_interrupts()
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [*COMMAND, "ingest", str(book), "--watch", "--data-dir", str(data_dir)],
            stdout=out,
            stderr=out,
        )
        try:

            def rounds() -> int:
                return log.read_text(encoding="utf-8").count("Watching")

            until(lambda: rounds() == 1)
            (tmp_path / "other.html").write_text("<p>Not of this book.</p>", encoding="utf-8")
            saved = tmp_path / "saved"
            saved.write_text("<h1>One</h1><p>A topic has a name.</p>", encoding="utf-8")
            saved.replace(book)
            until(lambda: rounds() == 2)
            time.sleep(1.0)
            assert rounds() == 2
            assert "one: 1 read, 0 unchanged; 1 chunks added, 1 removed" in log.read_text("utf-8")
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
            process.wait()


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    ended = askbook("ingest", tmp_path, "--watch", "--json", data_dir=tmp_path / "data")
    assert ended.code == 4
    assert "--watch" in ended.err
    ended = askbook("ingest", tmp_path / "absent", "--watch", data_dir=tmp_path / "data")
    assert ended.code == 4
