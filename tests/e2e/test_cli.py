"""The command line as a user meets it: real processes, the shipped weights, the sample book."""

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import askbook, serving

from askbook.cli.main import _run as run_here
from data_directories import copy_data

IN_THE_BOOK = "Which stop categories may an emergency stop have?"
NOT_IN_THE_BOOK = "What is the capital of Australia?"
HEAVY = ("numpy", "onnxruntime", "sqlalchemy", "fastapi", "qdrant_edge", "pydantic", "tokenizers")
FINE = "# Gears\n\nThe gearbox ratio is fifty to one, and it multiplies the torque by forty.\n"


@pytest.fixture(scope="module")
def shelf(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the sample book for commands that only read."""
    return copy_data(ingested, tmp_path_factory.mktemp("shelf") / "data")


def still_answers(data_dir: Path) -> bool:
    """Whether the book is as good as before; asked in this process, which starts sooner."""
    return run_here(["ask", IN_THE_BOOK, "--data-dir", str(data_dir)]) == 0


# --- Starting ---


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom askbook.cli.main import _run\n_run(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stderr.strip() == "[]"
    assert "ingest" in done.stdout
    assert "doctor" in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_help_lists_the_commands(arguments: list[str]) -> None:
    ended = askbook(*arguments)
    assert ended.code == 0
    assert ended.err == ""
    for command in ("ingest", "search", "ask", "status", "doctor", "config", "serve"):
        assert f"\n  {command} " in ended.out


# --- Results ---


def test_a_book_is_ingested_and_not_again(sample_book: Path, tmp_path: Path) -> None:
    """The first run reads everything, the second nothing; --json is one document."""
    folder = tmp_path / "small"
    (folder / "docs").mkdir(parents=True)
    for name in ("01-intro", "02-ros2"):
        shutil.copytree(sample_book / "docs" / name, folder / "docs" / name)
    dry = askbook("ingest", folder, "--dry-run", "--json", data_dir=tmp_path / "data")
    assert dry.code == 0
    assert dry.json["discovered"] == len(dry.json["new"]) == 6
    first = askbook("ingest", folder, "--json", data_dir=tmp_path / "data")
    assert (first.code, first.json["status"], first.json["book_id"]) == (0, "completed", "small")
    assert first.json["files_processed"] == 6
    assert first.json["embedded_chunks"] == first.json["chunks_created"] > 6
    second = askbook("ingest", folder, "--json", data_dir=tmp_path / "data")
    assert (second.code, second.json["files_skipped"]) == (0, 6)
    assert (second.json["embedded_chunks"], second.json["chunks_created"]) == (0, 0)


def test_an_answer_with_its_places(shelf: Path) -> None:
    ended = askbook("ask", IN_THE_BOOK, "--json", data_dir=shelf)
    assert ended.code == 0, ended.err
    document = ended.json
    assert document["should_answer"] is True
    assert "category 0 or 1" in document["answer"]
    assert document["citations"]
    assert document["error"] is None


def test_an_answer_for_people(shelf: Path) -> None:
    ended = askbook("ask", IN_THE_BOOK, "--verbose", data_dir=shelf)
    assert ended.code == 0
    assert "category 0 or 1" in ended.out
    assert "[1] Perceive, Plan, Act" in ended.out
    # What a reader at a terminal can open: the file, not the path of a page that no server shows.
    assert "    01-intro/02-perceive-plan-act.mdx#" in ended.out
    assert "/read/" not in ended.out
    assert "confidence" in ended.out


def test_not_in_the_book_is_exit_code_1(shelf: Path) -> None:
    ended = askbook("ask", NOT_IN_THE_BOOK, "--json", data_dir=shelf)
    assert ended.code == 1
    document = ended.json
    assert document["answer"] == "I couldn't find that information in the book."
    assert document["should_answer"] is False
    assert (document["citations"], document["sources"]) == ([], [])


def test_search_finds_passages(shelf: Path) -> None:
    ended = askbook(
        "search", "emergency stop", "--top-k", "3", "--explain", "--json", data_dir=shelf
    )
    assert ended.code == 0
    results = ended.json["results"]
    assert [result["rank"] for result in results] == [1, 2, 3]
    assert ended.json["total_found"] == 3
    assert "explain" in results[0]


def test_search_without_a_match_is_exit_code_1(shelf: Path) -> None:
    ended = askbook("search", "xyzzyqwert", "--mode", "sparse", "--json", data_dir=shelf)
    assert (ended.code, ended.json["results"]) == (1, [])


def test_status_and_doctor_and_config(shelf: Path) -> None:
    status = askbook("status", "--json", data_dir=shelf)
    assert status.code == 0
    [book] = status.json["books"]
    assert book["book_id"] == "physical-ai-robotics"
    assert book["total_chunks"] == sum(r["chunk_count"] for r in book["records"].values())
    doctor = askbook("doctor", "--json", data_dir=shelf)
    assert doctor.code == 0, doctor.out
    assert all(check["ok"] for check in doctor.json["checks"])
    config = askbook(
        "config", "--json", data_dir=shelf, ASKBOOK_DATABASE_URL="postgresql://u:pw@h/d"
    )
    assert config.code == 0
    assert config.json["ASKBOOK_DATA_DIR"] == str(shelf)
    assert "pw" not in json.dumps(config.json["ASKBOOK_DATABASE_URL"])


def test_status_of_nothing(tmp_path: Path) -> None:
    ended = askbook("status", "--json", data_dir=tmp_path / "none")
    assert (ended.code, ended.json) == (0, {"books": []})
    assert not (tmp_path / "none").exists()


# --- Bad input: one clear line, the documented exit code, nothing lost ---


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("", "The question is empty. Write what you want to know."),
        ("x" * 1001, "1001 characters, at most 1000 are taken. Shorten it"),
    ],
    ids=["empty", "too long"],
)
def test_a_bad_question_is_exit_code_4(shelf: Path, question: str, told: str) -> None:
    ended = askbook("ask", question, data_dir=shelf)
    assert ended.code == 4
    assert told in ended.complaint
    assert ended.complaint.startswith("askbook: ")
    assert ended.out == ""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--top-k", "0"], "top_k is 0, but must be between 1 and 100"),
        (["--tier", "9"], "The tier is 9, but must be 1 to 4"),
        (["--module", "cooking"], "Its modules: intro, ros2, simulation"),
        (["--book", "absent"], "Known books: physical-ai-robotics"),
        (["--layer", "L9"], "must be one of L1, L2, L3, L4"),
        (["--proficiency", "Z1"], "must be one of A1, A2, B1, B2, C1, C2"),
        (["--chapter-min", "4", "--chapter-max", "2"], "Give the lower number first"),
    ],
)
def test_bad_options_are_exit_code_4(
    shelf: Path, capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    """In this process: starting one for each option would show nothing more."""
    for command in ("search", "ask"):
        assert run_here([command, IN_THE_BOOK, *options, "--data-dir", str(shelf)]) == 4
        out, err = capsys.readouterr()
        assert out == ""
        assert told in err
        assert len(err.splitlines()) == 1


def test_an_error_is_json_too_when_asked_for(shelf: Path) -> None:
    ended = askbook("ask", "", "--json", data_dir=shelf)
    assert ended.code == 4
    assert ended.json["error"] == "invalid_input"
    assert ended.json["suggestion"] in ended.complaint


def test_a_bad_setting_is_exit_code_2(shelf: Path) -> None:
    ended = askbook("ask", IN_THE_BOOK, data_dir=shelf, AGENT_TOP_K="many")
    assert ended.code == 2
    assert "AGENT_TOP_K = 'many'" in ended.complaint
    assert ".env" in ended.complaint


def write_empty(folder: Path) -> None:
    (folder / "notes.txt").write_text("no lesson")


def write_binary(folder: Path) -> None:
    (folder / "binary.md").write_bytes(bytes(range(256)) * 16)
    (folder / "fine.md").write_text(FINE)


def write_latin1(folder: Path) -> None:
    (folder / "latin1.md").write_bytes("# Caf\xe9\n\nText enough for a chunk.".encode("latin-1"))
    (folder / "fine.md").write_text(FINE)


def write_broken_frontmatter(folder: Path) -> None:
    (folder / "fine.md").write_text(f"---\ntitle: [unclosed\nlesson: : :\n---\n{FINE}")


def write_bad_manifest(folder: Path) -> None:
    (folder / "askbook.toml").write_text("reader_tier = 9")
    (folder / "fine.md").write_text(FINE)


@pytest.mark.parametrize(
    ("write", "code", "told"),
    [
        (write_empty, 4, "No lesson was found in"),
        (write_binary, 0, "binary.md is not a text file"),
        (write_latin1, 0, "latin1.md is not valid UTF-8"),
        (write_broken_frontmatter, 0, "fine.md: the frontmatter is broken at line"),
        (write_bad_manifest, 2, "reader_tier = 9"),
    ],
)
def test_a_bad_folder_is_told_and_what_is_good_is_indexed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    write: Callable[[Path], None],
    code: int,
    told: str,
) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    write(folder)
    ended = askbook("ingest", folder, data_dir=tmp_path / "data")
    assert ended.code == code
    assert told in ended.complaint
    if code == 0:
        assert run_here(["search", "gearbox", "--json", "--data-dir", str(tmp_path / "data")]) == 0
        assert json.loads(capsys.readouterr().out)["results"][0]["source_file"] == "fine.md"


def test_a_book_of_which_nothing_can_be_read_is_not_added(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "one.md").write_bytes(b"\xff\xfe\x00")
    (folder / "two.md").write_bytes(b"\x00")
    ended = askbook("ingest", folder, data_dir=tmp_path / "data")
    assert ended.code == 4
    assert "None of the 2 files could be read; one.md:" in ended.complaint
    assert ended.complaint.endswith("Mend them and ingest again; no book was added.")
    assert askbook("books", "--json", data_dir=tmp_path / "data").json == {"books": []}
    (folder / "two.md").write_text(FINE)
    assert askbook("ingest", folder, data_dir=tmp_path / "data").code == 0


def test_a_missing_path_is_told(tmp_path: Path) -> None:
    ended = askbook("ingest", tmp_path / "nowhere", data_dir=tmp_path / "data")
    assert ended.code == 4
    assert (
        "nowhere is not a folder or a file. Give the folder or the file that is the book."
        in ended.complaint
    )


def test_a_bad_ingest_loses_nothing(data_dir: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (empty, tmp_path / "nowhere"):
        ended = askbook("ingest", folder, "--book", "physical-ai-robotics", data_dir=data_dir)
        assert ended.code == 4
    assert still_answers(data_dir)


def test_nothing_ingested_yet_is_told(tmp_path: Path) -> None:
    ended = askbook("ask", IN_THE_BOOK, data_dir=tmp_path / "new")
    assert ended.code == 4
    assert ended.complaint.endswith("Ingest one with `askbook ingest PATH`.")


def test_a_damaged_database_is_exit_code_3(data_dir: Path) -> None:
    database = data_dir / "askbook.db"
    good = database.read_bytes()
    for name in ("askbook.db-wal", "askbook.db-shm"):
        (data_dir / name).unlink(missing_ok=True)
    database.write_bytes(b"\xf3garbage" * 700)
    ended = askbook("ask", IN_THE_BOOK, data_dir=data_dir)
    assert ended.code == 3
    assert "damaged" in ended.complaint
    assert "backup" in ended.complaint
    assert database.read_bytes() == b"\xf3garbage" * 700, "what is damaged is left for rescue"
    doctor = askbook("doctor", "--json", data_dir=data_dir)
    assert doctor.code == 3
    assert [check["fix"] for check in doctor.json["checks"] if not check["ok"]]
    database.write_bytes(good)
    assert still_answers(data_dir)


def test_a_damaged_index_is_exit_code_3_and_is_made_anew(data_dir: Path, sample_book: Path) -> None:
    """Other files of the index are damaged one by one in the index's own tests."""
    (data_dir / "index" / "edge_config.json").write_bytes(b"\xf3garbage" * 50)
    ended = askbook("ask", IN_THE_BOOK, data_dir=data_dir)
    assert ended.code == 3
    assert "`askbook ingest PATH --mode recreate`" in ended.complaint
    # The way out that was named is one; the database still held everything.
    again = askbook("ingest", sample_book, "--mode", "recreate", "--json", data_dir=data_dir)
    assert (again.code, again.json["status"]) == (0, "completed")
    assert still_answers(data_dir)


def test_a_lost_index_is_exit_code_3_and_is_restored(data_dir: Path) -> None:
    shutil.rmtree(data_dir / "index")
    ended = askbook("ask", IN_THE_BOOK, data_dir=data_dir)
    assert ended.code == 3
    assert "holds none of the" in ended.complaint
    assert "`askbook audit --repair`" in ended.complaint
    assert askbook("audit", "--repair", data_dir=data_dir).code == 0
    assert still_answers(data_dir)


def test_a_file_that_cannot_be_read_is_a_finding_of_an_audit(tmp_path: Path) -> None:
    book, data = tmp_path / "book", tmp_path / "data"
    book.mkdir()
    (book / "wheels.md").write_text("# Wheels\n\nA wheel turns around its axle.\n")
    (book / "zzz.md").write_bytes(b"\xff\xfe\x00no text")
    assert askbook("ingest", book, data_dir=data).code == 0
    found = askbook("audit", "--repair", "--json", data_dir=data)
    assert (found.code, found.json["sound"]) == (5, False)
    assert [each["source_file"] for each in found.json["unreadable"]] == ["zzz.md"]
    shown = askbook("audit", data_dir=data)
    assert shown.code == 5
    assert "files that cannot be read: 1" in shown.out
    (book / "zzz.md").unlink()
    mended = askbook("audit", data_dir=data)
    assert (mended.code, "cannot be read" in mended.out) == (0, False)


def test_a_second_process_is_told_and_nothing_is_lost(data_dir: Path, sample_book: Path) -> None:
    with serving(data_dir) as address:
        for arguments in (["ask", IN_THE_BOOK], ["ingest", str(sample_book)], ["serve"]):
            ended = askbook(*arguments, data_dir=data_dir)
            assert ended.code == 3
            assert "Another askbook process" in ended.complaint
            assert f"--url {address}" in ended.complaint
            assert "--data-dir" in ended.complaint
        # Reading what is indexed needs no lock.
        assert askbook("status", data_dir=data_dir).code == 0
        body = json.dumps({"message": IN_THE_BOOK}).encode()
        request = urllib.request.Request(
            f"{address}/chat/run", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response)["should_answer"] is True
    assert still_answers(data_dir)


def test_a_taken_port_is_exit_code_3(data_dir: Path, tmp_path: Path) -> None:
    with serving(data_dir) as address:
        port = address.rsplit(":", 1)[1]
        ended = askbook("serve", "--port", port, data_dir=tmp_path / "other")
        assert ended.code == 3
        assert f"Cannot listen on 127.0.0.1:{port}" in ended.complaint
        assert "--port" in ended.complaint
