"""Who may ask what over HTTP: keys, scopes, books, tiers, publishable keys, links, limits."""

import asyncio
import itertools
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from askbook.config import load_settings
from two_books import ANSWERS, QUESTIONS, Server, running

PAGE = "https://docs.example.com"
ONE, OTHER = "reader-one-0123456789", "reader-two-0123456789"
GATED = ("/info", "/books", "/sessions", "/gaps?book_id=gardens", "/nowhere")
OPEN = ("/health", "/ready", "/", "/assets/chat.js", "/docs", "/openapi.json")


@pytest_asyncio.fixture
async def server(own_books: Path) -> AsyncIterator[Server]:
    async with running(load_settings(data_dir=own_books)) as server:
        yield server


def code(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["X-Request-ID"] == response.json()["request_id"]
    return response.status_code, response.json()["error"]


async def ask(http: httpx.AsyncClient, book: str = "gardens", **more: Any) -> dict[str, Any]:
    body = {"message": QUESTIONS[book], "book_id": book} | more
    response = await http.post("/chat/run", json=body)
    assert response.status_code == 200, response.text
    return response.json()


# --- Who comes in ---


async def test_until_a_key_exists_this_machine_needs_none(server: Server) -> None:
    async with server.client() as http:
        assert (await ask(http))["should_answer"]
        assert (await http.get("/gaps", params={"book_id": "gardens"})).status_code == 200
        assert "X-RateLimit-Limit" not in (await http.get("/info")).headers
    async with server.client("anything-a-client-insists-on") as http:
        assert (await http.get("/info")).status_code == 200


STRANGERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("192.0.2.7", {}),
    ("127.0.0.1", {"Host": "books.example"}),
    ("127.0.0.1", {"X_Forwarded_For": "127.0.0.1"}),
    ("127.0.0.1", {"Origin": "https://evil.example"}),
    ("127.0.0.1", {"Origin": "http://[broken"}),
)


async def test_strangers_need_a_key_even_before_one_exists(server: Server) -> None:
    for address, headers in STRANGERS:
        async with server.client(address=address, **headers) as http:
            for path in GATED:
                response = await http.get(path)
                assert code(response) == (401, "unauthorized"), (address, headers)
                assert response.headers["WWW-Authenticate"].startswith("Bearer")
                assert "askbook keys create" in response.json()["suggestion"]
    async with server.client(address="192.0.2.7") as http:
        for path in OPEN:
            assert (await http.get(path)).status_code == 200


async def test_from_the_first_key_on_everybody_needs_one_for_good(server: Server) -> None:
    key = await server.key(admin=True)
    async with server.client() as nobody, server.client(key) as holder:
        for path in GATED:
            assert code(await nobody.get(path)) == (401, "unauthorized")
        for path in OPEN:
            assert (await nobody.get(path)).status_code == 200
        assert (await holder.get("/info")).status_code == 200
        [stored] = await server.askbook.keys.list()
        await server.askbook.keys.revoke(stored.key_id)
        assert code(await holder.get("/info")) == (401, "unauthorized")
        assert code(await nobody.get("/info")) == (401, "unauthorized")


async def test_what_is_no_key_is_refused(server: Server) -> None:
    await server.key()
    unknown = "bearer ab_" + "A" * 43
    for header in ("", "Bearer", "Bearer ", "Basic abc", unknown, "Bearer " + "x" * 9000):
        async with server.client(Authorization=header) as http:
            assert code(await http.get("/info")) == (401, "unauthorized")


async def test_the_word_bearer_is_read_in_any_case(server: Server) -> None:
    key = await server.key()
    async with server.client(Authorization=f"bEARER   {key} ") as http:
        assert (await http.get("/info")).status_code == 200


async def test_keys_are_not_logged(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    key = await server.key()
    async with server.client(key) as http:
        await ask(http)
        await http.get("/context/none", params={"book_id": "gardens"})
    shown = capfd.readouterr()
    assert key not in shown.out + shown.err


# --- What a key opens ---


async def test_scopes_open_what_they_name(server: Server) -> None:
    async with server.client(await server.key()) as http:
        assert (await http.get("/info")).status_code == 200
        assert (await ask(http))["should_answer"]
        assert (await http.get("/sessions")).status_code == 200
        for method, path in (
            ("GET", "/gaps"),
            ("POST", "/ingestion/trigger"),
            ("GET", "/ingestion/status/1"),
            ("GET", "/ingestion/changes"),
            ("POST", "/ingestion/cancel/1"),
        ):
            answer = await http.request(method, path, json={"book_id": "gardens"})
            assert code(answer) == (403, "forbidden")
    async with server.client(await server.key(admin=True)) as http:
        assert (await http.get("/gaps", params={"book_id": "gardens"})).status_code == 200
        changes = await http.get("/ingestion/changes", params={"book_id": "gardens"})
        assert changes.json()["unchanged"] == 2


async def test_a_key_of_one_book_needs_not_name_it(server: Server) -> None:
    async with server.client(await server.key(books=["engines"])) as http:
        info = (await http.get("/info")).json()
        assert [book["book_id"] for book in info["books"]] == ["engines"]
        assert info["default_book"] == "engines"
        answer = (await http.post("/chat/run", json={"message": QUESTIONS["engines"]})).json()
        assert answer["book_id"] == "engines"
    async with server.client(await server.key()) as http:
        several = await http.post("/chat/run", json={"message": QUESTIONS["engines"]})
        assert code(several) == (422, "invalid_input")


async def test_a_hint_at_other_tiers_tells_a_key_nothing_above_its_own(server: Server) -> None:
    """Guess after guess, a hint would say which of them the hidden lesson confirms."""
    asked = {"message": "Where does a marrowfern grow?", "book_id": "gardens"}
    async with server.client() as local:
        open_reader = (await local.post("/chat/run", json=asked | {"hardware_tier": 1})).json()
        assert "Marrowfern" in open_reader["metrics"]["reason"]
    low_key, high_key = await server.key(tier=1), await server.key(tier=3)
    async with server.client(low_key) as low, server.client(high_key) as high:
        hidden = (await low.post("/chat/run", json=asked)).json()
        assert not hidden["should_answer"]
        assert "marrowfern" not in str(hidden["info"]).lower()
        assert "Tier" not in str(hidden["info"]) + hidden["metrics"]["reason"]
        filtered = (await high.post("/chat/run", json=asked | {"hardware_tier": 1})).json()
        assert "Marrowfern" in filtered["metrics"]["reason"]


async def test_books_are_described_to_a_key_as_far_as_it_reads(server: Server) -> None:
    async with server.client() as local:
        [whole] = [b for b in (await local.get("/books")).json() if b["book_id"] == "gardens"]
    async with server.client(await server.key(books=["gardens"], tier=1)) as low:
        [part] = (await low.get("/books")).json()
        [told] = (await low.get("/info")).json()["books"]
    assert (whole["lessons"], part["lessons"], told["lessons"]) == (2, 1, 1)
    assert part["chunks"] < whole["chunks"]
    assert whole["choices"]["hardware_tiers"][-1] == 3
    assert max(part["choices"]["hardware_tiers"]) == 1


async def test_an_evaluation_of_any_book_is_not_for_a_key_of_some(server: Server) -> None:
    report = server.askbook.settings.storage.data_dir / "evaluation.html"
    report.write_text("<title>Evaluation</title>", encoding="utf-8")
    async with server.client(await server.key(admin=True, books=["engines"])) as some:
        assert code(await some.get("/evaluation")) == (404, "not_found")
    async with server.client(await server.key(admin=True)) as every:
        assert (await every.get("/evaluation")).status_code == 200


async def test_a_chunked_body_over_the_limit_is_413(server: Server) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"message": "'
        for _ in range(40):
            yield b"x" * 50_000
        yield b'"}'

    async with server.client() as http:
        sent = {"Content-Type": "application/json"}
        answer = await http.post("/chat/run", content=endless(), headers=sent)
    assert code(answer) == (413, "too_large")


async def test_the_keys_tier_is_the_readers_and_cannot_be_raised(server: Server) -> None:
    body: dict[str, Any] = {"text": "Where does a marrowfern grow?", "book_id": "gardens"}
    page = "/read/gardens/01-care/02-marrowfern.md"
    async with server.client(await server.key(tier=3)) as high:
        [found] = [
            r
            for r in (await high.post("/search", json=body)).json()["results"]
            if "marrowfern" in r["text"]
        ]
        lesson = f"/lesson/{found['parent_doc_id']}?book_id=gardens"
        context = f"/context/{found['chunk_id']}?book_id=gardens"
        for path in (lesson, context, page):
            assert (await high.get(path)).status_code == 200
        narrowed = await high.post("/search", json=body | {"hardware_tier_filter": 2})
        assert "shade of old walls" not in narrowed.text
    async with server.client(await server.key(tier=2)) as low:
        for tier in (None, 2, 3, 4):
            answer = await low.post("/search", json=body | {"hardware_tier_filter": tier})
            assert answer.status_code == 200
            assert "shade of old walls" not in answer.text
            asked = {"message": body["text"], "book_id": "gardens", "hardware_tier": tier}
            for route in ("/chat/run", "/chat/stream"):
                assert "shade of old walls" not in (await low.post(route, json=asked)).text
        for path in (
            lesson,
            context,
            f"{lesson}&hardware_tier=4",
            f"{context}&hardware_tier=4",
            page,
        ):
            assert code(await low.get(path)) == (404, "not_found")


async def test_sessions_belong_to_the_key_that_began_them(server: Server) -> None:
    mine, yours = await server.key("mine"), await server.key("yours")
    async with server.client(mine) as me, server.client(yours) as you:
        session = (await ask(me))["session_id"]
        assert [s["session_id"] for s in (await me.get("/sessions")).json()] == [session]
        assert (await you.get("/sessions")).json() == []
        assert code(await you.get(f"/session/{session}/history")) == (404, "not_found")
        assert code(await you.delete(f"/session/{session}")) == (404, "not_found")
        for route in ("/chat/run", "/chat/stream"):
            body = {"message": "And then?", "book_id": "gardens", "session_id": session}
            assert code(await you.post(route, json=body)) == (404, "not_found")
        history = (await me.get(f"/session/{session}/history")).json()
        assert history["turn_count"] == 1


async def test_an_administrator_of_one_book_reads_no_other_folder(
    own_books: Path, tmp_path: Path
) -> None:
    free = tmp_path / "free"
    (free / "new").mkdir(parents=True)
    (free / "new" / "a.md").write_text("# New\n\nSomething else entirely is written here.\n")
    async with running(load_settings(data_dir=own_books, books_dir=free)) as server:
        folders = {s.book.book_id: s.folder for s in await server.askbook.library.books()}
        async with server.client(await server.key(admin=True, books=["gardens"])) as http:
            for body, status in (
                ({"path": folders["engines"]}, 403),
                ({"path": folders["engines"], "book_id": "gardens"}, 403),
                ({"path": folders["gardens"], "book_id": "engines"}, 404),
                ({"path": str(free / "new")}, 403),
                ({"path": str(free / "new"), "book_id": "gardens"}, 403),
                ({"book_id": "engines"}, 404),
            ):
                refused = await http.post("/ingestion/trigger", json=body)
                assert refused.status_code == status, body
                assert "flumptor" not in refused.text.lower()
            mine = await http.post("/ingestion/trigger", json={})
            assert mine.status_code == 202, mine.text
            job = mine.headers["Location"]
            await http.get(job, headers={"Accept": "text/event-stream"})
        async with server.client(await server.key(admin=True, books=["engines"])) as other:
            assert code(await other.get(job)) == (404, "not_found")
            cancel = job.replace("status", "cancel")
            assert code(await other.post(cancel)) == (404, "not_found")


# --- Publishable keys ---


async def publishable(server: Server, **wanted: Any) -> str:
    return await server.key("widget", public=True, origins=[PAGE], **wanted)


async def test_a_publishable_key_works_on_its_pages_only(server: Server) -> None:
    key = await publishable(server)
    async with server.client(key, Origin=PAGE, X_Askbook_Reader=ONE) as http:
        assert (await http.get("/info")).status_code == 200
        answer = await ask(http)
        assert answer["should_answer"]
        assert code(await http.get("/gaps")) == (403, "forbidden")
    for headers in (
        {},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": PAGE + ".evil"},
    ):
        async with server.client(key, X_Askbook_Reader=ONE, **headers) as http:
            assert code(await http.get("/info")) == (403, "forbidden")


async def test_readers_of_one_publishable_key_never_see_each_other(server: Server) -> None:
    key = await publishable(server)
    async with (
        server.client(key, Origin=PAGE, X_Askbook_Reader=ONE) as one,
        server.client(key, Origin=PAGE, X_Askbook_Reader=OTHER) as other,
    ):
        session = (await ask(one))["session_id"]
        assert (await other.get("/sessions")).json() == []
        assert code(await other.get(f"/session/{session}/history")) == (404, "not_found")
        assert code(await other.delete(f"/session/{session}")) == (404, "not_found")
        body = {"message": "And then?", "book_id": "gardens", "session_id": session}
        assert code(await other.post("/chat/run", json=body)) == (404, "not_found")
        assert code(await other.post("/chat/stream", json=body)) == (404, "not_found")
        [mine] = (await one.get("/sessions")).json()
        assert mine["session_id"] == session


async def test_a_publishable_key_needs_a_readers_token_for_sessions(server: Server) -> None:
    body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
    asked = (
        ("POST", "/chat/run"),
        ("POST", "/chat/stream"),
        ("GET", "/sessions"),
        ("GET", f"/session/{uuid.uuid4()}/history"),
        ("DELETE", f"/session/{uuid.uuid4()}"),
    )
    tokens = (None, "short", "x" * 129, "no spaces are allowed", "ünicode-0123456789")
    async with server.client(await publishable(server, rate=1000), Origin=PAGE) as http:
        for token, (method, path) in itertools.product(tokens, asked):
            headers: Any = {} if token is None else {"X-Askbook-Reader": token.encode()}
            answer = await http.request(method, path, headers=headers, json=body)
            assert code(answer) == (422, "invalid_input"), (token, path)
            assert "X-Askbook-Reader" in answer.json()["message"]


async def test_an_address_is_limited_apart_from_the_key(own_books: Path) -> None:
    async with running(load_settings(data_dir=own_books, address_rate=3)) as server:
        key = await publishable(server, rate=5)
        async with (
            server.client(key, address="203.0.113.1", Origin=PAGE) as one,
            server.client(key, address="203.0.113.2", Origin=PAGE) as other,
        ):
            found = [(await one.get("/info")).status_code for _ in range(10)]
            assert found == [200] * 3 + [429] * 7
            # What one address was refused costs the others nothing.
            first = await other.get("/info")
            assert (first.status_code, first.headers["X-RateLimit-Remaining"]) == (200, "1")
            assert (await other.get("/info")).status_code == 200
            last = await other.get("/info")
            assert (last.status_code, last.headers["X-RateLimit-Limit"]) == (429, "5")


async def test_an_ipv6_network_is_one_address(own_books: Path) -> None:
    async with running(load_settings(data_dir=own_books, address_rate=2)) as server:
        key = await publishable(server)
        found: list[int] = []
        for n in range(4):
            async with server.client(key, address=f"2001:db8::{n}", Origin=PAGE) as http:
                found.append((await http.get("/info")).status_code)
        assert found == [200, 200, 429, 429]


# --- Links to lessons ---


async def test_a_citation_opens_without_the_key_and_nothing_else_does(server: Server) -> None:
    key = await server.key(books=["gardens"])
    async with server.client(key) as http, server.client(address="192.0.2.1") as browser:
        answer = await ask(http)
        streamed = await http.post(
            "/chat/stream", json={"message": QUESTIONS["gardens"], "book_id": "gardens"}
        )
        url = answer["citations"][0]["url"]
        assert "&ticket=" in url
        assert answer["sources"][0]["url"] == url
        found = await http.post(
            "/search", json={"text": QUESTIONS["gardens"], "book_id": "gardens"}
        )
        first = found.json()["results"][0]["url"]
        assert "&ticket=" in first
        assert (await browser.get(first)).status_code == 200
        assert url.partition("#")[0] in streamed.text
        page = await browser.get(url)
        assert page.status_code == 200
        assert ANSWERS["gardens"].split(",")[0] in page.text
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert "no-store" in page.headers["Cache-Control"]
        assert (await browser.get(answer["citations"][0]["page_url"])).status_code == 200
        ticket = url.partition("ticket=")[2].partition("#")[0]
        for path in (
            "/read/gardens/01-care/02-marrowfern.md",
            "/read/engines/01-upkeep/01-flumptor-oiling.md",
            "/info",
            "/books",
            "/sessions",
        ):
            refused = await browser.get(path, params={"ticket": ticket})
            assert code(refused) == (401, "unauthorized")
        bare = url.partition("?")[0]
        assert code(await browser.get(bare)) == (401, "unauthorized")
        broken = url.replace(ticket, ticket[:-1] + ("0" if ticket[-1] != "0" else "1"))
        assert code(await browser.get(broken)) == (401, "unauthorized")
        told = await browser.get(broken, headers={"Accept": "text/html,*/*;q=0.8"})
        assert told.status_code == 401
        assert told.headers["Content-Type"].startswith("text/html")
        assert "This link has expired" in told.text
        assert "Ask the question again" in told.text
        assert 'href="../../../">Back to chat' in told.text
        assert "default-src 'self'" in told.headers["Content-Security-Policy"]
        assert (await http.get(bare)).status_code == 200
        [stored] = await server.askbook.keys.list()
        await server.askbook.keys.revoke(stored.key_id)
        assert code(await browser.get(url)) == (401, "unauthorized")


async def test_a_link_is_held_to_its_keys_tier_and_limit(server: Server) -> None:
    key = await server.key(rate=3)
    async with server.client(key) as http, server.client(address="192.0.2.1") as browser:
        url = (await ask(http))["citations"][0]["url"]
        found = [(await browser.get(url)).status_code for _ in range(4)]
        assert found == [200, 200, 429, 429]


async def test_without_keys_links_are_plain(server: Server) -> None:
    async with server.client() as http:
        assert "ticket" not in (await ask(http))["citations"][0]["url"]


# --- Limits ---


@pytest.mark.spec("D69")
async def test_a_key_may_ask_a_hundred_times_a_minute_and_is_told_where_it_stands(
    server: Server,
) -> None:
    key = await server.key()
    async with server.client(key) as http, server.client(await server.key()) as other:
        for n in range(100):
            response = await http.get("/nowhere" if n % 2 else "/info")
            assert response.status_code in (200, 404)
            assert response.headers["X-RateLimit-Limit"] == "100"
            assert response.headers["X-RateLimit-Remaining"] == str(99 - n)
        refused = await http.get("/info")
        assert code(refused) == (429, "rate_limited")
        wait = int(refused.headers["Retry-After"])
        assert 1 <= wait <= 60
        reset = int(refused.headers["X-RateLimit-Reset"])
        assert abs(reset - (time.time() + wait)) <= 2
        assert refused.headers["X-RateLimit-Remaining"] == "0"
        assert str(wait) in refused.json()["suggestion"]
        assert (await other.get("/info")).status_code == 200
        assert (await http.get("/health")).status_code == 200


async def test_requests_at_once_are_all_counted(server: Server) -> None:
    async with server.client(await server.key(rate=10)) as http:
        answers = await asyncio.gather(*(http.get("/info") for _ in range(30)))
    assert sorted(a.status_code for a in answers) == [200] * 10 + [429] * 20


async def test_refused_streams_and_bad_bodies_are_told_and_counted(server: Server) -> None:
    async with server.client(await server.key(rate=2)) as http:
        bad = await http.post("/chat/run", json={"message": ""})
        assert (bad.status_code, bad.headers["X-RateLimit-Remaining"]) == (422, "1")
        body = {"message": QUESTIONS["gardens"], "book_id": "gardens"}
        stream = await http.post("/chat/stream", json=body)
        assert (stream.status_code, stream.headers["X-RateLimit-Remaining"]) == (200, "0")
        assert code(await http.post("/chat/stream", json=body)) == (429, "rate_limited")


# --- What goes with a book ---


async def test_deleting_a_book_removes_what_was_said_about_it(server: Server) -> None:
    async with server.client() as http:
        gone = (await ask(http, "gardens"))["session_id"]
        stays = (await ask(http, "engines"))["session_id"]
        await server.askbook.delete_book("gardens")
        assert code(await http.get(f"/session/{gone}/history")) == (404, "not_found")
        assert [s["session_id"] for s in (await http.get("/sessions")).json()] == [stays]
