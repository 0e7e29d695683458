"""Two owners on one server: no route shows one anything of the other, whatever ids it is given.

The routes are read from the OpenAPI document, so that a new one is tried without being named here.
"""

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from fastapi.routing import iter_route_contexts

from askbook.api.gate import is_open
from askbook.config import load_settings
from two_books import Server, running

PAGE = "https://docs.example.com"
TOKENS = {"engines": "reader-engines-0123456789", "gardens": "reader-gardens-0123456789"}
PRIVATE = "My private zanzibar question: what must be oiled every thirty hours?"
PUBLIC_WORDS = "What must be oiled every thirty hours, and with which oil?"
"""Finds the engines' chapter without a word that only it has."""
UNASKED = "How tall is the xylophonic tower of Babel?"
OMITTED: Any = object()
OPEN = {"/health": {200}, "/ready": {200, 503}, "/ingestion/webhook/github": {404}}
"""What anybody may ask, and what it answers; the webhook is not there until it has a secret."""


@dataclass
class Victim:
    """Everything that belongs to the owner of `engines`, by the name a request would give it."""

    server: Server
    ids: dict[str, list[str]]
    secrets: tuple[str, ...]
    keys: dict[str, str] = field(default_factory=dict)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def victim(
    two_books: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Victim]:
    from data_directories import copy_data

    data = copy_data(two_books, tmp_path_factory.mktemp("isolation") / "data")
    async with running(load_settings(data_dir=data, address_rate=100_000)) as server:
        yield await _settle(server)


async def _settle(server: Server) -> Victim:
    wide = {"rate": 100_000}
    owner = await server.key("victim", admin=True, books=["engines"], **wide)
    widget = await server.key("widget", public=True, origins=[PAGE], books=["engines"], **wide)
    async with (
        server.client(owner) as http,
        server.client(widget, Origin=PAGE, X_Askbook_Reader=TOKENS["engines"]) as reader,
    ):
        sessions: list[str] = []
        for client in (http, reader):
            body = {"message": PRIVATE, "metadata": {"note": "privatenote"}}
            answer = (await client.post("/chat/run", json=body)).json()
            assert "flumptor" in answer["response"]
            sessions.append(answer["session_id"])
        declined = await http.post("/chat/run", json={"message": UNASKED})
        assert not declined.json()["should_answer"]
        assert "xylophonic" in (await http.get("/gaps")).text
        started = await http.post("/ingestion/trigger", json={})
        await http.get(started.headers["Location"], headers={"Accept": "text/event-stream"})
        found = (await http.post("/search", json={"text": PUBLIC_WORDS})).json()["results"]
        folder = next(
            s.folder for s in await server.askbook.library.books() if s.book.book_id == "engines"
        )
        ids = {
            "book_id": ["engines"],
            "session_id": sessions,
            "chunk_id": [found[0]["chunk_id"]],
            "chunk": [found[0]["chunk_id"]],
            "parent_doc_id": [found[0]["parent_doc_id"]],
            "job_id": [str(started.json()["job_id"])],
            "source_file": [found[0]["source_file"]],
            "path": [folder],
            "model": ["askbook/engines"],
        }
    shared = {"public": True, "origins": [PAGE], **wide}
    keys = {
        "reader of another book": await server.key("bound", books=["gardens"], **wide),
        "administrator of another book": await server.key(
            "other admin", admin=True, books=["gardens"], **wide
        ),
        "another publishable key": await server.key("other widget", books=["gardens"], **shared),
        "another reader of the same publishable key": widget,
        "a key for all books": await server.key("wide", **wide),
        "an administrator of all books": await server.key("all", admin=True, **wide),
        "nobody": "",
    }
    secrets = (
        *("flumptor", "gaskervane", "grade nine", "engines", "01-upkeep"),
        *("zanzibar", "privatenote", "xylophonic", *sessions, *ids["chunk_id"]),
    )
    return Victim(server, ids, secrets, keys)


# --- Every request that the OpenAPI document allows for ---


def requests(document: dict[str, Any], ids: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """Each operation, with each of the victim's ids, the attacker's own, and none, where it takes them."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield from _requests(document, method, path, operation, ids)


def _requests(
    document: dict[str, Any], method: str, path: str, operation: Any, ids: dict[str, list[str]]
) -> Iterator[dict[str, Any]]:
    places: list[tuple[str, str, list[Any]]] = []
    for parameter in operation.get("parameters", ()):
        name, place = parameter["name"], parameter["in"]
        if place in ("path", "query"):
            places.append((place, name, _choices(name, ids, parameter.get("required", False))))
    body = _resolved(document, _body_schema(operation))
    needed = set(body.get("required", ()))
    for name, schema in body.get("properties", {}).items():
        places.append(("body", name, _choices(name, ids, name in needed, schema)))
    for chosen in itertools.product(*(choices for _, _, choices in places)):
        given: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
        for (place, name, _), value in zip(places, chosen, strict=True):
            if value is not OMITTED:
                given[place][name] = value
        url = path
        for name, value in given["path"].items():
            url = url.replace(f"{{{name}}}", str(value)).replace(f"{{{name}:path}}", str(value))
        yield {
            "method": method.upper(),
            "url": url,
            "params": given["query"],
            "json": given["body"] or None,
        }


def _choices(name: str, ids: dict[str, list[str]], required: bool, schema: Any = None) -> list[Any]:
    own = {"book_id": ["gardens"], "path": ["."], "model": ["askbook"]}
    if name in ids:
        return [*ids[name], *own.get(name, ()), *([] if required else [OMITTED])]
    if name in ("message", "text", "query", "question", "comment"):
        return [PUBLIC_WORDS]
    if name == "messages":
        return [[{"role": "user", "content": PUBLIC_WORDS}]]
    if name in ("archived", "stream", "explain"):
        return [True, OMITTED]
    if name in ("limit", "days"):
        return [20]
    if not required:
        return [OMITTED]
    return [
        {"string": "x", "integer": 1, "array": [], "object": {}}.get(
            str((schema or {}).get("type")), "x"
        )
    ]


def _body_schema(operation: Any) -> Any:
    return (
        operation.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema", {})
    )


def _resolved(document: dict[str, Any], schema: Any) -> Any:
    reference = schema.get("$ref", "")
    return document["components"]["schemas"][reference.rsplit("/", 1)[1]] if reference else schema


# --- What nobody but the victim may see ---


def told(response: httpx.Response) -> str:
    return f"{response.text}\n{dict(response.headers)}".lower()


def sent(request: dict[str, Any]) -> str:
    return json.dumps(request).lower()


def of_attack(victim: Victim, attacker: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """What must stay hidden from an attacker, and the headers it sends."""
    headers = {"X-Request-ID": "attack"}
    if "publishable" in attacker:
        headers |= {"Origin": PAGE, "X-Askbook-Reader": TOKENS["gardens"]}
        # Another key with the victim's own token is still another key.
        if attacker == "another publishable key":
            headers["X-Askbook-Reader"] = TOKENS["engines"]
    hidden = victim.secrets
    if attacker in ("another reader of the same publishable key", "a key for all books"):
        # These may read the book; what was said about it is not theirs.
        hidden = (*("zanzibar", "privatenote", "xylophonic"), *victim.ids["session_id"])
    if attacker == "an administrator of all books":
        hidden = (*("zanzibar", "privatenote"), *victim.ids["session_id"])
    return hidden, headers


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "attacker",
    [
        "reader of another book",
        "administrator of another book",
        "another publishable key",
        "another reader of the same publishable key",
        "a key for all books",
        "an administrator of all books",
        "nobody",
    ],
)
async def test_no_route_shows_one_owner_anything_of_the_other(
    victim: Victim, attacker: str
) -> None:
    hidden, headers = of_attack(victim, attacker)
    document = victim.server.app.openapi()
    tried: set[tuple[str, str]] = set()
    async with victim.server.client(victim.keys[attacker] or None) as http:
        http.headers.update(headers)
        for request in requests(document, victim.ids):
            response = await http.request(**request)
            shown, given = told(response), sent(request)
            tried.add((request["method"], request["url"].split("/")[1]))
            assert response.status_code < 500 or request["url"] == "/ready", request
            leaked = [word for word in hidden if word in shown and word.lower() not in given]
            assert leaked == [], (request, response.status_code, response.text[:500])
            if attacker == "nobody" and request["url"] not in OPEN:
                assert response.status_code == 401, request
            for session in victim.ids["session_id"]:
                if session in given:
                    assert response.status_code in (401, 403, 404, 409, 422), request
    assert len(tried) >= 10


@pytest.mark.asyncio(loop_scope="module")
async def test_the_attacks_would_show_what_there_is(victim: Victim) -> None:
    """The same requests, made by who may: otherwise nothing above would mean anything."""
    owner = await victim.server.key("again", admin=True, rate=100_000)
    document = victim.server.app.openapi()
    seen: set[str] = set()
    async with victim.server.client(owner) as http:
        for request in requests(document, victim.ids):
            if request["method"] == "DELETE" or "session" in request["url"]:
                continue
            response = await http.request(**request)
            shown, given = told(response), sent(request)
            seen |= {word for word in victim.secrets if word in shown and word not in given}
    assert {"flumptor", "grade nine", "engines", "01-upkeep", "xylophonic"} <= seen


@pytest.mark.asyncio(loop_scope="module")
async def test_every_route_is_behind_the_gate_or_meant_to_be_open(victim: Victim) -> None:
    await victim.server.key("any")
    async with victim.server.client() as http:
        for path, operations in victim.server.app.openapi()["paths"].items():
            for method in operations:
                answer = await http.request(method.upper(), path)
                assert answer.status_code in OPEN.get(path, {401}), path


@pytest.mark.asyncio(loop_scope="module")
async def test_every_route_says_what_its_callers_keys_must_be_made_for(victim: Victim) -> None:
    """Also those that the document does not name."""
    contexts: list[Any] = list(iter_route_contexts(victim.server.app.routes))
    closed = [c for c in contexts if not is_open(f"{c.path}/" if c.path == "/assets" else c.path)]
    assert len(closed) >= 10
    for context in closed:
        called = {getattr(d.call, "__qualname__", "") for d in context.dependant.dependencies}
        assert any(name.startswith("Requires.") for name in called), context.path
