"""Request ids, security headers and the body limit stand around every answer."""

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse

from askbook.api.middleware import MAX_BODY, Envelope


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()

    @app.post("/length")
    async def length(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    @app.get("/own-policy")
    async def own_policy() -> PlainTextResponse:
        return PlainTextResponse("x", headers={"Content-Security-Policy": "default-src 'none'"})

    app.add_middleware(Envelope)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_every_answer_has_an_id_of_its_own(http: httpx.AsyncClient) -> None:
    found = [(await http.post("/length")).headers["X-Request-ID"] for _ in range(3)]
    assert len(set(found)) == 3
    assert (await http.get("/nowhere")).headers["X-Request-ID"]


async def test_a_callers_id_is_kept(http: httpx.AsyncClient) -> None:
    response = await http.post("/length", headers={"X-Request-ID": "trace-42"})
    assert response.headers["X-Request-ID"] == "trace-42"


@pytest.mark.parametrize("given", ["", "x" * 65, "bad\tid", "größe".encode()])
async def test_an_unfit_id_is_replaced(http: httpx.AsyncClient, given: str | bytes) -> None:
    response = await http.post("/length", headers={b"X-Request-ID": given})  # pyright: ignore[reportArgumentType]  # raw bytes too
    found = response.headers["X-Request-ID"]
    assert found.isascii()
    assert len(found) == 32


@pytest.mark.parametrize("path", ["/own-policy", "/nowhere"])
async def test_security_headers_are_on_every_answer(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path)).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Content-Security-Policy"]


async def test_a_route_may_be_stricter(http: httpx.AsyncClient) -> None:
    response = await http.get("/own-policy")
    assert response.headers["Content-Security-Policy"] == "default-src 'none'"


async def test_the_default_policy_allows_no_foreign_code(http: httpx.AsyncClient) -> None:
    policy = (await http.get("/nowhere")).headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_a_body_up_to_the_limit_is_read(http: httpx.AsyncClient) -> None:
    response = await http.post("/length", content=b"x" * MAX_BODY)
    assert (response.status_code, response.text) == (200, str(MAX_BODY))


async def test_a_larger_body_is_refused(http: httpx.AsyncClient) -> None:
    response = await http.post("/length", content=b"x" * (MAX_BODY + 1))
    assert response.status_code == 413
    document = response.json()
    assert document["error"] == "too_large"
    assert str(MAX_BODY) in document["message"]
    assert document["request_id"] == response.headers["X-Request-ID"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_larger_body_of_unstated_length_is_refused(http: httpx.AsyncClient) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(12):
            yield b"x" * (MAX_BODY // 10)

    response = await http.post("/length", content=pieces())
    assert response.status_code == 413
