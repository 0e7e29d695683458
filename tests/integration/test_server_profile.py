"""The whole product on a Qdrant server and with remote embedders: ingest, search, switch, recover."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cohere_server
import openai_server
from askbook.bootstrap import Askbook
from askbook.cli.main import main
from askbook.config import Settings, load_settings
from askbook.errors import ConfigurationError, EmbedderMismatch, ServiceUnavailable
from askbook.index.edge import EdgeIndex
from askbook.index.server import ServerIndex
from cohere_server import CohereServer
from openai_server import OpenAIServer, Reply
from qdrant_server import Fault, QdrantServer

LESSONS = {
    "01-intro/01-welcome.md": "# Welcome\n\nThis small book is about robots and how they are built.\n",
    "02-ros/01-nodes.md": "# Nodes\n\nNodes exchange messages over topics. A topic is a named channel.\n",
    "02-ros/02-building.md": (
        "# Building\n\nRun `colcon build --symlink-install` in the workspace folder.\n\n"
        "## Errors\n\nThe build stops with `ERR_42` when a package is missing.\n"
    ),
    "03-arms/01-joints.md": "# Joints\n\nA fixed joint holds two links of the arm together.\n",
}
QUESTIONS = ("How do nodes exchange messages?", "colcon build --symlink-install", "ERR_42")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "small-book"
    for name, text in LESSONS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as server:
        yield server


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


def settings_for(data_dir: Path, **given: Any) -> Settings:
    return load_settings(data_dir=data_dir, judge=False, **given)


def with_openai(server: OpenAIServer, **given: Any) -> dict[str, Any]:
    return {
        "embedder": "openai",
        "openai_api_key": openai_server.KEY,
        "openai_base_url": server.url,
        **given,
    }


async def ingest(settings: Settings, folder: Path, mode: Any = "incremental") -> dict[str, Any]:
    async with Askbook(settings) as askbook:
        done: dict[str, Any] = {}
        async for progress in askbook.ingest(folder, mode=mode):
            done = progress.job.to_json()
        return done


async def found(settings: Settings, question: str) -> list[str]:
    async with Askbook(settings) as askbook:
        _, context = await askbook.search(question, top_k=3)
        return [result.chunk.metadata.source_file for result in context.results]


# --- A Qdrant server ---


async def test_finds_the_same_as_the_embedded_index(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    embedded = settings_for(tmp_path / "embedded")
    served = settings_for(tmp_path / "served", qdrant_url=qdrant.url)
    await ingest(embedded, book)
    job = await ingest(served, book)
    assert job["status"] == "completed"
    assert not (tmp_path / "served" / "index").exists()
    for question in QUESTIONS:
        assert await found(served, question) == await found(embedded, question)


async def test_a_change_reaches_the_server(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path / "data", qdrant_url=qdrant.url)
    await ingest(settings, book)
    (book / "02-ros/01-nodes.md").unlink()
    (book / "03-arms/01-joints.md").write_text(
        "# Joints\n\nA revolute joint turns about one axis.\n"
    )
    job = await ingest(settings, book)
    assert (job["files_deleted"], job["files_processed"]) == (1, 1)
    assert "03-arms/01-joints.md" in (await found(settings, "What does a revolute joint do?"))[:1]
    async with Askbook(settings) as askbook:
        [shelved] = await askbook.library.books()
        _, chunks = await askbook.library.totals(shelved.book.book_id)
        assert await askbook.index.count() == chunks


async def test_an_ingest_rides_out_a_stumbling_server(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path / "data", qdrant_url=qdrant.url)
    qdrant.faults = [Fault(status=503, times=2)]
    qdrant.http.drops = 1
    assert (await ingest(settings, book))["status"] == "completed"


async def test_an_ingest_broken_off_by_the_server_is_finished_by_the_next(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path / "data", qdrant_url=qdrant.url)
    await ingest(settings, book)
    (book / "02-ros/01-nodes.md").write_text("# Nodes\n\nServices answer one request each.\n")
    qdrant.http.stop()
    with pytest.raises(ServiceUnavailable):
        await ingest(settings, book)
    qdrant.http.start()
    await ingest(settings, book)
    assert (await found(settings, "What do services answer?"))[0] == "02-ros/01-nodes.md"


async def test_two_books_share_the_collection(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path / "data", qdrant_url=qdrant.url)
    other = tmp_path / "cooking"
    other.mkdir()
    (other / "bread.md").write_text("# Bread\n\nNodes of dough exchange messages with the yeast.\n")
    await ingest(settings, book)
    await ingest(settings, other)
    async with Askbook(settings) as askbook:
        from askbook.bootstrap import Scope

        for book_id, file in (("small-book", "02-ros/01-nodes.md"), ("cooking", "bread.md")):
            _, context = await askbook.search(QUESTIONS[0], Scope(book_id=book_id))
            assert context.results[0].chunk.metadata.source_file == file
            assert {r.chunk.metadata.book_id for r in context.results} == {book_id}


async def test_the_http_service_says_503_while_the_server_is_away(
    book: Path, qdrant: QdrantServer, tmp_path: Path, serve: Any
) -> None:
    settings = settings_for(tmp_path / "data", qdrant_url=qdrant.url)
    await ingest(settings, book)
    async with serve(settings) as http:
        assert (await http.post("/search", json={"text": QUESTIONS[0]})).status_code == 200
        qdrant.http.stop()
        away = await http.post("/search", json={"text": QUESTIONS[0]})
        assert away.status_code == 503
        assert away.json()["error"] == "service_unavailable"
        assert "QDRANT_URL" in away.json()["suggestion"]
        assert (await http.get("/ready")).status_code == 503
        assert (await http.get("/health")).status_code == 200
        qdrant.http.start()
        assert (await http.post("/search", json={"text": QUESTIONS[0]})).status_code == 200


def test_the_command_line_works_on_a_server(
    book: Path,
    qdrant: QdrantServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKBOOK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ASKBOOK_JUDGE", "false")
    monkeypatch.setenv("QDRANT_URL", qdrant.url)
    monkeypatch.setenv("QDRANT_COLLECTION_NAME", "my-books")
    monkeypatch.setenv("QDRANT_API_KEY", "qdrant-secret-key")
    qdrant.api_key = "qdrant-secret-key"

    def run(*arguments: str) -> tuple[int, Any]:
        with pytest.raises(SystemExit) as end:
            main([*arguments, "--json"])
        return int(end.value.code or 0), json.loads(capsys.readouterr().out)

    assert run("ingest", str(book))[0] == 0
    assert list(qdrant.collections) == ["my-books"]
    code, answer = run("search", QUESTIONS[1])
    assert code == 0
    assert answer["results"][0]["source_file"] == "02-ros/02-building.md"
    code, shown = run("config")
    assert shown["QDRANT_API_KEY"] == "********"
    qdrant.api_key = "another-key"
    code, refused = run("search", QUESTIONS[1])
    assert code == 2
    assert "QDRANT_API_KEY" in refused["suggestion"]
    assert "secret" not in json.dumps(refused)
    qdrant.http.stop()
    code, away = run("search", QUESTIONS[1])
    assert code == 3
    assert away["error"] == "service_unavailable"


def test_a_missing_extra_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "askbook.index.server")
    monkeypatch.delitem(sys.modules, "askbook.index.server_errors")
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    from askbook.bootstrap.parts import make_embedder, make_index

    settings = settings_for(tmp_path, qdrant_url="http://127.0.0.1:6333")
    with pytest.raises(ConfigurationError, match="qdrant_client") as caught:
        make_index(settings, make_embedder(settings).fingerprint)
    assert "pip install 'askbook[server]'" in caught.value.suggestion


def test_the_embedded_profile_imports_no_client_of_a_server() -> None:
    code = (
        "import sys; from askbook.bootstrap import Askbook; from askbook.bootstrap.parts import make_embedder, make_index; "
        "from askbook.config import load_settings; s = load_settings(); "
        "make_index(s, make_embedder(s).fingerprint); "
        "print([m for m in ('qdrant_client', 'grpc', 'askbook.index.server', "
        "'askbook.embedding.openai', 'askbook.embedding.cohere') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


# --- Remote embedders ---


async def test_ingests_and_searches_with_openai(
    book: Path, openai: OpenAIServer, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path / "data", **with_openai(openai))
    openai.replies = [Reply(status=429, headers={"Retry-After": "0.05"}, times=2)]
    job = await ingest(settings, book)
    assert job["status"] == "completed"
    assert job["embedded_chunks"] == job["chunks_created"] > 0
    assert (await found(settings, QUESTIONS[0]))[0] == "02-ros/01-nodes.md"
    before = len(openai.seen)
    assert (await ingest(settings, book))["embedded_chunks"] == 0
    assert len(openai.seen) == before


async def test_ingests_and_searches_with_cohere_on_a_server(
    book: Path, qdrant: QdrantServer, tmp_path: Path
) -> None:
    with CohereServer() as cohere:
        settings = settings_for(
            tmp_path / "data",
            qdrant_url=qdrant.url,
            embedder="cohere",
            cohere_api_key=cohere_server.KEY,
            cohere_base_url=cohere.url,
        )
        await ingest(settings, book)
        assert (await found(settings, QUESTIONS[0]))[0] == "02-ros/01-nodes.md"
        assert {body["input_type"] for body in cohere.seen} == {"search_query", "search_document"}
    made = qdrant.collections["documentation"].config
    assert isinstance(made.vectors, dict)
    assert made.vectors["dense"].size == 1024


def test_a_key_alone_does_not_change_the_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", openai_server.KEY)
    monkeypatch.setenv("COHERE_API_KEY", cohere_server.KEY)
    from askbook.bootstrap.parts import make_embedder

    assert make_embedder(load_settings(data_dir=tmp_path)).fingerprint.name == "askbook-embed"


@pytest.mark.parametrize("profile", ["embedded", "server"])
async def test_switching_the_embedder_is_refused_until_the_book_is_recreated(
    book: Path, openai: OpenAIServer, qdrant: QdrantServer, tmp_path: Path, profile: str
) -> None:
    url = qdrant.url if profile == "server" else None
    builtin = settings_for(tmp_path / "data", qdrant_url=url)
    switched = settings_for(tmp_path / "data", **with_openai(openai, qdrant_url=url))
    await ingest(builtin, book)
    async with Askbook(switched) as askbook:
        assert isinstance(askbook.index, ServerIndex if url else EdgeIndex)
        with pytest.raises(EmbedderMismatch) as caught:
            await askbook.index.count()
        assert "--mode recreate" in caught.value.suggestion
    for refused in (ingest(switched, book), found(switched, QUESTIONS[0])):
        with pytest.raises(EmbedderMismatch) as caught:
            await refused
        assert "askbook-embed" in caught.value.message
        assert "text-embedding-3-small" in caught.value.message
        assert "--mode recreate" in caught.value.suggestion
    # Nothing was changed by trying.
    assert (await found(builtin, QUESTIONS[0]))[0] == "02-ros/01-nodes.md"
    job = await ingest(switched, book, "recreate")
    assert job["status"] == "completed"
    assert (await found(switched, QUESTIONS[0]))[0] == "02-ros/01-nodes.md"
    with pytest.raises(EmbedderMismatch):
        await found(builtin, QUESTIONS[0])


async def test_a_missing_key_stops_the_start_and_frees_the_directory(
    book: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        await ingest(settings_for(tmp_path / "data", embedder="openai"), book)
    await ingest(settings_for(tmp_path / "data"), book)
