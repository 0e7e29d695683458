"""`askbook doctor`: every part that can fail, failing, with its fix and its exit code."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

from askbook.api.app import create_app
from askbook.book import Vector
from askbook.bootstrap import Check, diagnose
from askbook.bootstrap import diagnosis as parts
from askbook.config import Settings, load_settings
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import ConfigurationError
from askbook.retrieval.judging import BuiltinJudge, Judgement
from askbook.storage.directory import DataDirectory
from http_server import HttpServer

NOBODY = "http://127.0.0.1:9/v1"


@pytest.fixture
def model() -> Iterator[tuple[HttpServer, dict[str, Any]]]:
    """A model's server that lists what it is told to list."""
    told: dict[str, Any] = {"status": 200, "body": {"data": [{"id": "local"}]}}
    app = FastAPI(openapi_url=None)

    @app.get("/v1/models")
    async def listed() -> Response:  # pyright: ignore[reportUnusedFunction]  # by its route
        return JSONResponse(told["body"], told["status"])

    server = HttpServer(app)
    server.start()
    yield server, told
    server.stop()


async def found(settings: Settings) -> dict[str, Check]:
    return {check.part: check for check in await diagnose(settings)}


async def test_a_sound_installation_is_sound_in_every_part(data_dir: Path) -> None:
    checks = await found(load_settings(data_dir=data_dir))
    assert all(check.ok for check in checks.values()), checks
    assert set(checks) == {
        *("python", "disk space", "built-in models", "language model", "data directory"),
        *("limits", "database", "index", "embedder", "judge"),
    }
    assert "revision 00" in checks["database"].finding
    assert "quoted" in checks["language model"].finding


async def test_nothing_ingested_yet_is_no_failure(tmp_path: Path) -> None:
    checks = await found(load_settings(data_dir=tmp_path / "new" / "deep"))
    assert all(check.ok for check in checks.values()), checks
    assert not (tmp_path / "new").exists()


async def test_the_models_server(tmp_path: Path, model: tuple[HttpServer, dict[str, Any]]) -> None:
    server, told = model

    async def checked(url: str, name: str = "local") -> Check:
        settings = load_settings(
            data_dir=tmp_path / "none",
            openai_base_url=url,
            openai_model=name,
            openai_api_key="sk-very-secret",
            judge=False,
        )
        return (await found(settings))["language model"]

    url = f"{server.url}/v1"
    assert (await checked(url)).finding == f"local at {url}"
    other = await checked(url, "gpt-4o-mini")
    assert (other.ok, other.exit_code, "local" in (other.fix or "")) == (False, 2, True)
    told["body"] = {"models": []}
    assert (await checked(url, "anything")).ok
    for status, code in ((401, 2), (403, 2), (503, 3)):
        told["status"] = status
        failed = await checked(url)
        assert (failed.ok, failed.exit_code) == (False, code)
        assert failed.fix
    away = await checked(NOBODY)
    assert (away.ok, away.exit_code, "OPENAI_BASE_URL" in (away.fix or "")) == (False, 3, True)
    assert "very-secret" not in str(away)


async def test_a_vendors_embedder_is_asked_for_a_word(
    tmp_path: Path, model: tuple[HttpServer, dict[str, Any]]
) -> None:
    server, _ = model
    settings = load_settings(
        data_dir=tmp_path / "none",
        embedder="openai",
        openai_base_url=f"{server.url}/v1",
        openai_api_key="sk-" + "x" * 40,
        openai_model="local",
        judge=False,
    )
    failed = (await found(settings))["embedder"]
    assert not failed.ok
    assert failed.fix


async def test_a_full_disk_and_damaged_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(total=2**30, used=2**30, free=5 * 2**20)
    monkeypatch.setattr(parts.shutil, "disk_usage", lambda _: usage)

    def damaged(name: str) -> None:
        raise ConfigurationError(f"The built-in model file {name} is damaged.", "Install again.")

    monkeypatch.setattr(parts, "load_weights", damaged)
    checks = await found(load_settings(data_dir=tmp_path / "none"))
    full, weights = checks["disk space"], checks["built-in models"]
    assert (full.ok, full.exit_code) == (False, 3)
    assert "5 MB" in full.finding
    assert (weights.ok, weights.exit_code) == (False, 2)


async def test_beside_a_server_its_own_findings_are_told(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir)
    server = HttpServer(None, lifespan=True)
    server._app = create_app(settings, address=server.url)
    server.start()
    try:
        checks = await found(settings)
        assert all(check.ok for check in checks.values()), checks
        assert server.url in checks["data directory"].finding
        assert "chunks" in checks["index"].finding
    finally:
        server.stop()


async def test_a_directory_held_by_who_does_not_answer(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir)
    held = DataDirectory(data_dir)
    try:
        busy = (await found(settings))["data directory"]
        assert (busy.ok, busy.exit_code) == (False, 3)
        held.announce("http://127.0.0.1:9")
        silent = (await found(settings))["server"]
        assert (silent.ok, silent.exit_code, bool(silent.fix)) == (False, 3, True)
    finally:
        held.close()


async def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no directory")
    failed = (await found(load_settings(data_dir=tmp_path / "file")))["data directory"]
    assert (failed.ok, failed.exit_code) == (False, 2)


def differ(monkeypatch: pytest.MonkeyPatch, cosine: float, logit: float) -> list[int]:
    """Move what the built-in models give by this much; the list grows with each use of one."""
    embed, judge = BuiltinEmbedder.embed_passages, BuiltinJudge.judge
    used: list[int] = []

    async def moved_vectors(self: BuiltinEmbedder, texts: Sequence[str]) -> list[Vector]:
        used.append(len(texts))
        return [turned(vector, cosine) for vector in await embed(self, texts)]

    async def moved_scores(
        self: BuiltinJudge, question: str, passages: Sequence[str]
    ) -> list[Judgement]:
        used.append(len(passages))
        found = await judge(self, question, passages)
        return [replace(each, relevance=each.relevance + logit) for each in found]

    monkeypatch.setattr(BuiltinEmbedder, "embed_passages", moved_vectors)
    monkeypatch.setattr(BuiltinJudge, "judge", moved_scores)
    return used


def turned(vector: Vector, cosine: float) -> Vector:
    """A unit vector with this cosine to the given one."""
    aside = np.roll(vector, 1)
    aside -= (aside @ vector) * vector
    aside /= np.linalg.norm(aside)
    return (cosine * vector + np.sqrt(1 - cosine**2) * aside).astype(np.float32)


async def test_what_another_cpu_rounds_differently_is_told_and_sound(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    differ(monkeypatch, cosine=0.994, logit=0.43)
    checks = await found(load_settings(data_dir=data_dir))
    assert (checks["embedder"].ok, checks["judge"].ok) == (True, True)
    assert "differently here (cosine 0.99" in checks["embedder"].finding
    assert "differently here (scores off by 0.4" in checks["judge"].finding


async def test_what_no_cpu_gives_is_broken(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    differ(monkeypatch, cosine=0.9, logit=2.0)
    checks = await found(load_settings(data_dir=data_dir))
    assert (checks["embedder"].ok, checks["judge"].ok) == (False, False)
    assert (checks["embedder"].exit_code, bool(checks["embedder"].fix)) == (3, True)


async def test_a_server_checks_its_models_once_and_not_at_each_probe(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = differ(monkeypatch, cosine=0.994, logit=0.43)
    server = HttpServer(create_app(load_settings(data_dir=data_dir)), lifespan=True)
    server.start()
    try:
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as http:
            first = await http.get("/ready")
            after_first = len(used)
            second = await http.get("/ready")
    finally:
        server.stop()
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert after_first > 0
    assert len(used) == after_first
