"""The HTTP interface over the sample book, with the shipped weights."""

import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from command_line import serving

pytestmark = pytest.mark.asyncio(loop_scope="session")

IN_THE_BOOK = "Which stop categories may an emergency stop have?"
NOT_IN_THE_BOOK = "What is the capital of Australia?"


def check_error(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    document = response.json()
    assert set(document) == {
        *("error", "message", "suggestion", "details", "timestamp", "request_id")
    }
    assert document["error"] == code
    assert document["message"]
    assert document["request_id"] == response.headers["X-Request-ID"]
    stamp = datetime.fromisoformat(document["timestamp"])
    assert abs((datetime.now(UTC) - stamp).total_seconds()) < 60
    return document


async def test_health_and_readiness(client: httpx.AsyncClient) -> None:
    health = await client.get("/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})
    ready = await client.get("/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    parts = {check["part"] for check in ready.json()["checks"]}
    assert {"database", "index", "embedder", "judge"} <= parts


async def test_the_books_are_listed(client: httpx.AsyncClient) -> None:
    [book] = (await client.get("/books")).json()
    assert (book["book_id"], book["title"]) == ("physical-ai-robotics", "Physical AI & Robotics")
    assert book["lessons"] == 12
    assert book["chunks"] > 50
    assert book["modules"] == ["intro", "ros2", "simulation", "isaac", "vla"]
    info = (await client.get("/info")).json()
    assert info["default_book"] == "physical-ai-robotics"
    assert info["books"] == [book]
    assert info["embedder"].startswith("askbook-embed/384/")


async def test_a_question_is_answered_with_its_places(client: httpx.AsyncClient) -> None:
    response = await client.post("/chat/run", json={"message": IN_THE_BOOK})
    assert response.status_code == 200
    document = response.json()
    assert document["should_answer"] is True
    assert "category 0 or 1" in document["response"]
    assert document["sources"]
    assert document["citations"]
    assert uuid.UUID(document["session_id"]).version == 4


async def test_a_foreign_question_is_declined(client: httpx.AsyncClient) -> None:
    document = (await client.post("/chat/run", json={"message": NOT_IN_THE_BOOK})).json()
    assert document["should_answer"] is False
    assert document["response"] == "I couldn't find that information in the book."
    assert (document["sources"], document["citations"]) == ([], [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", ""),
        ("message", "   "),
        ("message", "x" * 1001),
        ("session_id", "42"),
        ("session_id", "17b317fa-e144-11f1-8dbc-02fc00000001"),
        ("top_k", 0),
        ("top_k", 11),
        ("similarity_threshold", 1.5),
        ("hardware_tier", 5),
        ("nonsense", True),
    ],
)
async def test_a_bad_chat_request_is_422_and_names_the_field(
    client: httpx.AsyncClient, field: str, value: Any
) -> None:
    response = await client.post("/chat/run", json={"message": IN_THE_BOOK, field: value})
    document = check_error(response, 422, "invalid_input")
    assert document["details"]["problems"][0]["field"] == field
    assert document["message"].startswith(f"{field}: ")
    assert document["suggestion"]


async def test_unknown_books_and_modules_are_told(client: httpx.AsyncClient) -> None:
    unknown = {"message": IN_THE_BOOK, "book_id": "absent"}
    document = check_error(await client.post("/chat/run", json=unknown), 404, "not_found")
    assert "physical-ai-robotics" in document["suggestion"]
    module = {"message": IN_THE_BOOK, "module": "cooking"}
    document = check_error(await client.post("/chat/run", json=module), 422, "invalid_input")
    assert "intro, ros2, simulation, isaac, vla" in document["suggestion"]


async def test_other_failures(client: httpx.AsyncClient) -> None:
    json_type = {"Content-Type": "application/json"}
    check_error(await client.get("/nowhere"), 404, "not_found")
    check_error(await client.get("/chat/run"), 405, "method_not_allowed")
    broken = await client.post("/chat/run", content=b"{", headers=json_type)
    check_error(broken, 400, "bad_request")
    large = await client.post("/chat/run", content=b" " * 1_000_001, headers=json_type)
    check_error(large, 413, "too_large")
    check_error(await client.post("/search", json={"text": "ab"}), 422, "invalid_input")
    check_error(
        await client.post("/search", json={"text": "abc", "limit": 21}), 422, "invalid_input"
    )


async def test_search_finds_and_explains(client: httpx.AsyncClient) -> None:
    body = {"text": "emergency stop category", "limit": 3, "explain": True}
    document = (await client.post("/search", json=body)).json()
    assert document["total_found"] == len(document["results"]) == 3
    assert document["results"][0]["source_file"] == "01-intro/02-perceive-plan-act.mdx"
    assert document["results"][0]["explain"]["dense_rank"]


@pytest.mark.parametrize("path", ["/", "/health", "/nowhere", "/books", "/assets/chat.js"])
async def test_every_answer_has_an_id_and_is_safe_to_show(
    client: httpx.AsyncClient, path: str
) -> None:
    response = await client.get(path, headers={"X-Request-ID": "mine-7"})
    assert response.headers["X-Request-ID"] == "mine-7"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]


async def test_the_chat_page_loads_only_its_own_files(client: httpx.AsyncClient) -> None:
    page = await client.get("/")
    assert page.headers["Content-Type"].startswith("text/html")
    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert wanted
    for url in wanted:
        assert not url.startswith(("http:", "https:", "//")), url
        if url.startswith("/"):
            assert (await client.get(url)).status_code == 200, url


async def test_the_reading_page_refuses_what_is_not_there(client: httpx.AsyncClient) -> None:
    lesson = "/read/physical-ai-robotics/01-intro/02-perceive-plan-act.mdx"
    assert (await client.get(lesson)).status_code == 200
    check_error(await client.get("/read/physical-ai-robotics/none.mdx"), 404, "not_found")
    check_error(await client.get("/read/absent/none.mdx"), 404, "not_found")
    check_error(await client.get(f"{lesson}?chunk=x&quote=oops"), 422, "invalid_input")
    outside = "/read/physical-ai-robotics/..%2f..%2faskbook.toml"
    check_error(await client.get(outside), 404, "not_found")


async def test_a_passage_that_moved_is_said_to_be_gone(client: httpx.AsyncClient) -> None:
    lesson = "/read/physical-ai-robotics/01-intro/02-perceive-plan-act.mdx"
    page = await client.get(f"{lesson}?chunk={uuid.uuid4()}&quote=0-10")
    assert page.status_code == 200
    assert "no longer in this lesson" in page.text
    assert "<mark" not in page.text


async def test_a_real_server_answers(data_dir: Path) -> None:
    with serving(data_dir) as address:
        async with httpx.AsyncClient(base_url=address, timeout=60) as http:
            assert (await http.get("/ready")).json()["status"] == "ready"
            answer = (await http.post("/chat/run", json={"message": IN_THE_BOOK})).json()
            assert answer["should_answer"] is True
            page = await http.get(answer["citations"][0]["url"])
            assert "<mark" in page.text


async def test_a_refusal_says_which_tier_answers(client: httpx.AsyncClient) -> None:
    body = {"message": "Can I run Isaac Sim on an A100?", "hardware_tier": 1}
    document = (await client.post("/chat/run", json=body)).json()
    assert document["should_answer"] is False
    [hint] = document["info"]
    assert hint.startswith("Covered in Tier")
    assert hint in document["metrics"]["reason"]
    assert (document["sources"], document["citations"]) == ([], [])
    assert "RT cores" not in str(document)
