"""Every failure has the one shape, and no stack trace."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

from askbook import errors
from askbook.api.errors import install
from askbook.api.middleware import Envelope

RAISED: dict[str, tuple[Exception, int, str]] = {
    "input": (errors.InvalidInput("Bad.", "Do better.", {"x": 1}), 422, "invalid_input"),
    "missing": (errors.NotFound("Gone.", "Look elsewhere."), 404, "not_found"),
    "conflict": (errors.Conflict("Taken.", "Choose another."), 409, "conflict"),
    "transition": (errors.IllegalTransition("No."), 409, "illegal_transition"),
    "mismatch": (errors.EmbedderMismatch("Other."), 503, "embedder_mismatch"),
    "busy": (errors.DataDirectoryBusy("Busy."), 503, "data_directory_busy"),
    "corrupt": (errors.DataDirectoryCorrupt("Broken."), 503, "data_directory_corrupt"),
    "full": (errors.StorageFull("Full."), 503, "storage_full"),
    "settings": (errors.ConfigurationError("Wrong."), 500, "configuration_error"),
    "away": (errors.ServiceUnavailable("Away."), 503, "service_unavailable"),
    "forbidden": (HTTPException(403, "Not you"), 403, "forbidden"),
    "unauthorized": (HTTPException(401, "Who"), 401, "unauthorized"),
    "teapot": (HTTPException(418, "Teapot"), 418, "http_error"),
    "bug": (RuntimeError("secret detail 4711"), 500, "internal_error"),
}


class Body(BaseModel):
    number: int


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    install(app)

    @app.get("/fail/{name}")
    async def fail(name: str) -> None:
        raise RAISED[name][0]

    @app.post("/body")
    async def body(given: Body) -> int:
        return given.number

    app.add_middleware(Envelope)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


def check(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status
    document = response.json()
    shape = {"error", "message", "suggestion", "details", "timestamp", "request_id"}
    assert set(document) == shape
    assert document["error"] == code
    assert document["message"]
    assert isinstance(document["details"], dict)
    assert document["request_id"] == response.headers["X-Request-ID"]
    assert "Traceback" not in response.text
    return document


@pytest.mark.parametrize("name", RAISED)
async def test_every_error_has_its_status_and_the_one_shape(
    http: httpx.AsyncClient, name: str
) -> None:
    raised, status, code = RAISED[name]
    document = check(await http.get(f"/fail/{name}"), status, code)
    if isinstance(raised, errors.AskbookError):
        assert document["message"] == raised.message
        assert document["suggestion"] == raised.suggestion
        assert document["details"] == raised.details


async def test_a_bug_tells_nothing_of_itself(http: httpx.AsyncClient) -> None:
    response = await http.get("/fail/bug")
    assert "4711" not in response.text
    assert "RuntimeError" not in response.text
    assert response.json()["suggestion"]


async def test_wrong_values_are_422_and_name_the_field(http: httpx.AsyncClient) -> None:
    document = check(await http.post("/body", json={"number": "x"}), 422, "invalid_input")
    assert document["details"]["problems"][0]["field"] == "number"
    assert document["message"].startswith("number: ")
    missing = check(await http.post("/body", json={}), 422, "invalid_input")
    assert missing["details"]["problems"][0]["field"] == "number"


async def test_a_body_that_is_no_json_is_400(http: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "application/json"}
    check(await http.post("/body", content=b"{nope", headers=headers), 400, "bad_request")


async def test_unknown_paths_and_methods(http: httpx.AsyncClient) -> None:
    check(await http.get("/nowhere"), 404, "not_found")
    response = await http.get("/body")
    check(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == "POST"
