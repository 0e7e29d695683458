"""What stands around every route: pages elsewhere, proxies, compression, deadlines."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from askbook.api.deadline import Deadline
from askbook.api.errors import install
from askbook.api.gate import Gate
from askbook.api.middleware import Envelope
from askbook.config import load_settings
from askbook.errors import ConfigurationError
from two_books import QUESTIONS, Server, running

LISTED, PAGE, EVIL = "https://listed.example", "https://docs.example.com", "https://evil.example"
READER = "reader-one-0123456789"


@pytest_asyncio.fixture
async def server(own_books: Path) -> AsyncIterator[Server]:
    settings = load_settings(data_dir=own_books, cors_origins=f"{LISTED}, http://localhost:3000")
    async with running(settings) as server:
        yield server


async def preflight(http: httpx.AsyncClient, origin: str, **headers: str) -> httpx.Response:
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type, x-askbook-reader",
    }
    return await http.options("/chat/stream", headers=asked | headers)


# --- Pages elsewhere ---


async def test_listed_pages_and_those_of_publishable_keys_may_ask(server: Server) -> None:
    key = await server.key("widget", public=True, origins=[PAGE])
    async with server.client(address="192.0.2.1") as http:
        for origin in (LISTED, PAGE):
            allowed = await preflight(http, origin)
            assert allowed.status_code == 200
            assert allowed.headers["Access-Control-Allow-Origin"] == origin
            assert "POST" in allowed.headers["Access-Control-Allow-Methods"]
            sent = allowed.headers["Access-Control-Allow-Headers"].lower()
            assert all(name in sent for name in ("authorization", "x-askbook-reader"))
            assert "Origin" in allowed.headers["Vary"]
            assert "Access-Control-Allow-Credentials" not in allowed.headers
    async with server.client(key, Origin=PAGE, X_Askbook_Reader=READER) as http:
        answer = await http.get("/info")
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
        assert "X-RateLimit-Remaining" in answer.headers["Access-Control-Expose-Headers"]
        missing = await http.get("/nowhere")
        assert missing.headers["Access-Control-Allow-Origin"] == PAGE


async def test_other_pages_may_not(server: Server) -> None:
    key = await server.key()
    async with server.client(key) as http:
        for origin in (EVIL, "null", "*", LISTED + ".evil.example", "http://[broken"):
            refused = await preflight(http, origin)
            assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
            assert "ASKBOOK_CORS_ORIGINS" in refused.json()["suggestion"]
            answer = await http.get("/info", headers={"Origin": origin})
            for response in (refused, answer):
                assert "Access-Control-Allow-Origin" not in response.headers


async def test_a_revoked_keys_pages_may_ask_no_longer(server: Server) -> None:
    await server.key("widget", public=True, origins=[PAGE])
    [stored] = await server.askbook.keys.list()
    async with server.client() as http:
        assert (await preflight(http, PAGE)).status_code == 200
        await server.askbook.keys.revoke(stored.key_id)
        assert (await preflight(http, PAGE)).status_code == 403


async def test_a_refused_key_is_told_to_the_page(server: Server) -> None:
    await server.key("widget", public=True, origins=[PAGE])
    async with server.client("abp_" + "A" * 43, Origin=PAGE) as http:
        answer = await http.get("/info")
        assert answer.status_code == 401
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cors_origins", "*"),
        ("cors_origins", "docs.example.com"),
        ("cors_origins", "https://a.example/path"),
        ("trusted_proxies", "*"),
        ("trusted_proxies", "10.0.0.0/99"),
        ("redis_url", "http://localhost"),
        ("address_rate", 0),
        ("request_timeout", 0),
    ],
)
def test_settings_that_make_no_sense_stop_the_start(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"ASKBOOK_{name.upper()}"):
        load_settings(**{name: value})


def test_a_wrong_store_address_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_settings(redis_url="http://user:topsecret@host")
    assert "topsecret" not in str(caught.value)


# --- Proxies ---


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "counted"),
    [
        ("", "10.0.0.9", "203.0.113.5", "10.0.0.9"),
        ("10.0.0.0/8", "10.0.0.9", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.0/8", "10.0.0.9", "198.51.100.1, 203.0.113.5", "203.0.113.5"),
        ("10.0.0.0/8", "10.0.0.9", "203.0.113.5, 10.0.0.1", "203.0.113.5"),
        ("10.0.0.0/8", "192.0.2.1", "203.0.113.5", "192.0.2.1"),
    ],
)
async def test_only_a_trusted_proxys_word_counts_for_an_address(
    own_books: Path, proxies: str, peer: str, forwarded: str, counted: str
) -> None:
    settings = load_settings(data_dir=own_books, trusted_proxies=proxies, address_rate=1)
    async with running(settings) as server:
        key = await server.key("widget", public=True, origins=[PAGE])
        async with server.client(
            key, address=peer, Origin=PAGE, X_Forwarded_For=forwarded
        ) as proxied:
            assert (await proxied.get("/info")).status_code == 200
        async with server.client(key, address=counted, Origin=PAGE) as same:
            assert (await same.get("/info")).status_code == 429


async def test_a_proxy_that_is_trusted_makes_nobody_local(own_books: Path) -> None:
    settings = load_settings(data_dir=own_books, trusted_proxies="127.0.0.1")
    async with running(settings) as server, server.client(X_Forwarded_For="127.0.0.1") as http:
        assert (await http.get("/info")).status_code == 401


# --- Compression ---


async def test_pages_scripts_and_json_are_compressed_and_streams_are_not(server: Server) -> None:
    async with server.client(Accept_Encoding="gzip") as http:
        for path in ("/", "/assets/chat.js", "/openapi.json"):
            answer = await http.get(path)
            assert answer.headers["Content-Encoding"] == "gzip", path
            assert "Accept-Encoding" in answer.headers["Vary"]
        body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
        stream = await http.post("/chat/stream", json=body)
        assert "Content-Encoding" not in stream.headers
        assert "event: done" in stream.text
        assert "Content-Encoding" not in (await http.get("/health")).headers
    async with server.client(Accept_Encoding="identity") as http:
        assert "Content-Encoding" not in (await http.get("/openapi.json")).headers


# --- Deadlines ---


@pytest_asyncio.fixture
async def slow() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    install(app)
    app.state.ended = []

    @app.get("/slow")
    async def wait() -> str:
        try:
            await asyncio.sleep(30)
        finally:
            app.state.ended.append("slow")
        return "late"

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            for n in range(4):
                yield str(n).encode()
                await asyncio.sleep(0.1)

        return StreamingResponse(parts())

    @app.get("/impatient")
    async def impatient() -> None:
        raise TimeoutError("of its own")

    app.add_middleware(Deadline, seconds=0.2)
    app.add_middleware(Envelope)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        http.ended = app.state.ended  # pyright: ignore[reportAttributeAccessIssue]  # for the test
        yield http


async def test_an_answer_that_does_not_begin_in_time_is_503(slow: httpx.AsyncClient) -> None:
    response = await slow.get("/slow")
    assert (response.status_code, response.json()["error"]) == (503, "service_unavailable")
    assert "0.2 seconds" in response.json()["message"]
    assert response.json()["request_id"] == response.headers["X-Request-ID"]
    assert slow.ended == ["slow"]  # pyright: ignore[reportAttributeAccessIssue]  # set above


async def test_a_stream_that_has_begun_may_take_its_time(slow: httpx.AsyncClient) -> None:
    assert (await slow.get("/stream")).text == "0123"


async def test_a_timeout_of_a_routes_own_is_not_taken_for_this_one(slow: httpx.AsyncClient) -> None:
    response = await slow.get("/impatient")
    assert (response.status_code, response.json()["error"]) == (500, "internal_error")


async def test_websockets_are_closed(server: Server) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/", "headers": [], "app": server.app}
    await Gate(server.app.router, address_rate=1)(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


async def test_a_prefix_that_a_proxy_adds_changes_nothing(server: Server) -> None:
    key = await server.key()
    prefixed = httpx.ASGITransport(server.app, raise_app_exceptions=False, root_path="/tutor")
    async with httpx.AsyncClient(transport=prefixed, base_url="http://127.0.0.1/tutor") as http:
        assert (await http.get("/health")).status_code == 200
        assert (await http.get("/info")).status_code == 401
        headers = {"Authorization": f"Bearer {key}"}
        body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
        answer = (await http.post("/chat/run", json=body, headers=headers)).json()
        url = answer["citations"][0]["url"]
        assert (await http.get(url)).status_code == 200
