"""`askbook migrate` as an operator uses it: told what moves, moved, killed and continued, asked afterwards."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import COMMAND, askbook, serving

from data_directories import copy_data
from lived_in import live_in
from qdrant_server import Fault, QdrantServer
from two_books import QUESTIONS, ingest_books

PASSWORD = "s3cret-password"


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed data directory that readers have used, for copying only."""
    folder = tmp_path_factory.mktemp("lived-in")
    ingest_books(folder / "data", folder / "sources")
    asyncio.run(live_in(folder / "data"))
    return folder / "data"


@pytest.fixture
def data_dir(lived_in: Path, tmp_path: Path) -> Path:
    return copy_data(lived_in, tmp_path / "data")


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


@pytest.fixture
def to(database_url: str) -> str:
    """The target, with a password that must not be seen."""
    user, colon, rest = database_url.partition("postgres:")
    assert colon, database_url
    return f"{user}postgres:{PASSWORD}{rest[rest.index('@') :]}"


def test_moves_and_answers_as_before(
    data_dir: Path, to: str, qdrant: QdrantServer, tmp_path: Path
) -> None:
    question = ("ask", QUESTIONS["gardens"], "--book", "gardens", "--json")
    before = askbook(*question, data_dir=data_dir).json
    would = askbook(
        "migrate", "--to", to, "--qdrant", qdrant.url, "--dry-run", "--json", data_dir=data_dir
    )
    assert (would.code, would.json["dry_run"], would.json["verified"]) == (0, True, False)
    assert qdrant.collections == {}
    done = askbook("migrate", "--to", to, "--qdrant", qdrant.url, data_dir=data_dir)
    assert done.code == 0, done.err
    for word in ("2 books", "4 lessons", "2 conversations", "2 keys", "1 vote,", "1 gap,"):
        assert word in done.out
    assert f"QDRANT_URL={qdrant.url}" in done.out
    assert "ASKBOOK_DATABASE_URL=postgresql://postgres:***@" in done.out
    for told in (would.out, would.err, done.out, done.err):
        assert PASSWORD not in told
    env = {"ASKBOOK_DATABASE_URL": to, "QDRANT_URL": qdrant.url}
    after = askbook(*question, data_dir=tmp_path / "other", **env).json
    assert (after["answer"], after["citations"]) == (before["answer"], before["citations"])
    audit = askbook("audit", "--json", data_dir=tmp_path / "other", **env)
    assert (audit.code, audit.json["sound"]) == (0, True)
    again = askbook("migrate", "--json", data_dir=data_dir, **env)
    assert (again.code, again.json["error"]) == (4, "conflict")
    assert again.json["details"] == {"books": ["engines", "gardens"]}


def test_killed_in_the_middle_it_is_continued(
    data_dir: Path, to: str, qdrant: QdrantServer, tmp_path: Path
) -> None:
    command = ["migrate", "--to", to, "--qdrant", qdrant.url, "--json", "--data-dir", str(data_dir)]
    process = subprocess.Popen([*COMMAND, *command], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(path.startswith("PUT") and path.endswith("points") for path in qdrant.paths()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        # The first point waits for as long as the kill takes.
        qdrant.faults = [Fault(delay=0.2)]
        time.sleep(0.01)
    process.kill()
    assert process.communicate()[0] == ""
    qdrant.faults = []
    env = {"ASKBOOK_DATABASE_URL": to, "QDRANT_URL": qdrant.url}
    assert askbook("books", "--json", data_dir=tmp_path / "other", **env).json == {"books": []}
    done = askbook(*command)
    assert done.code == 0, done.err
    assert (done.json["resumed"], done.json["verified"]) == (True, True)
    audit = askbook("audit", "--json", data_dir=tmp_path / "other", **env)
    assert (audit.code, audit.json["sound"]) == (0, True)


def test_without_qdrant_the_index_stays(data_dir: Path, to: str) -> None:
    done = askbook("migrate", "--to", to, data_dir=data_dir)
    assert done.code == 0, done.err
    assert f"The index stays in {data_dir}" in done.err
    assert "QDRANT_URL" not in done.out
    answer = askbook(
        "search",
        QUESTIONS["engines"],
        "--book",
        "engines",
        "--json",
        data_dir=data_dir,
        ASKBOOK_DATABASE_URL=to,
    )
    assert answer.code == 0
    assert answer.json["results"][0]["source_file"] == "01-upkeep/01-flumptor-oiling.md"


def test_a_running_server_is_named(data_dir: Path) -> None:
    with serving(data_dir) as address:
        ended = askbook("migrate", "--to", "postgresql://u:pw@127.0.0.1:1/d", data_dir=data_dir)
    assert ended.code == 3
    assert address in ended.complaint


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 4, "--to postgresql://"),
        (["--to", "postgresql://h/d", "--qdrant", f"u:{PASSWORD}@h"], 4, "u:***@h"),
    ],
)
def test_bad_addresses_end_in_one_line(
    data_dir: Path, arguments: list[str], code: int, said: str
) -> None:
    ended = askbook("migrate", *arguments, data_dir=data_dir)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.complaint
    assert PASSWORD not in ended.err
