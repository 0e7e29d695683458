"""What the pages ask the server for: passages, suggestions, choices, history with its proof, the widget's script."""

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from askbook.api.routes.page import widget_script
from askbook.config import Settings, load_settings

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "What does colcon build --symlink-install change?"


async def _answer(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    response = await client.post("/chat/run", json={"message": QUESTION, **fields})
    assert response.status_code == 200
    return response.json()


async def test_html_comes_only_when_asked_for(client: httpx.AsyncClient) -> None:
    assert (await _answer(client))["html"] is None
    html = (await _answer(client, html=True))["html"]
    assert '<a class="chip" href="/read/' in html


async def test_a_stream_brings_the_answer_so_far_as_html(client: httpx.AsyncClient) -> None:
    response = await client.post("/chat/stream", json={"message": QUESTION, "html": True})
    grown = re.findall(r'"html": ?"((?:[^"\\]|\\.)*)"', response.text)
    assert len(grown) >= 3
    assert all(later.startswith(earlier[:40]) for earlier, later in pairwise(grown))
    assert [len(text) for text in grown] == sorted(len(text) for text in grown)


async def test_a_passage_marks_the_quote_and_carries_no_ids(client: httpx.AsyncClient) -> None:
    citation = (await _answer(client))["citations"][0]
    quote = f"{citation['quote_start']}-{citation['quote_end']}"
    response = await client.get(f"/passage/{citation['chunk_id']}", params={"quote": quote})
    passage = response.json()
    assert passage["is_marked"]
    assert passage["page_title"] == citation["page_title"]
    marked = "".join(re.findall(r"<mark[^>]*>(.*?)</mark>", passage["html"], re.DOTALL))
    assert re.sub("<[^>]*>", "", marked)[:40] in citation["quote"].replace("`", "")
    assert re.findall(r'id="([^"]*)"', passage["html"]) == ["quote"]


async def test_a_passage_above_the_readers_tier_does_not_exist(client: httpx.AsyncClient) -> None:
    found = await client.post("/search", json={"text": "Isaac ROS on a Jetson", "limit": 20})
    high = next(r for r in found.json()["results"] if r["hardware_tier"] > 1)
    allowed = await client.get(f"/passage/{high['chunk_id']}")
    refused = await client.get(f"/passage/{high['chunk_id']}", params={"hardware_tier": 1})
    assert (allowed.status_code, refused.status_code) == (200, 404)


async def test_a_passage_that_is_gone_is_said(client: httpx.AsyncClient) -> None:
    response = await client.get("/passage/00000000-0000-4000-8000-000000000000")
    assert response.status_code == 404
    assert "no longer in the book" in response.json()["message"]


async def test_a_declined_question_names_the_nearest_lessons_once(
    client: httpx.AsyncClient,
) -> None:
    response = await client.post("/chat/run", json={"message": "How long must pizza dough rise?"})
    nearest = response.json()["nearest"]
    assert 1 <= len(nearest) <= 3
    assert len({place["page_url"] for place in nearest}) == len(nearest)
    assert all(place["quote"] == "" for place in nearest)
    assert response.json()["sources"] == []


async def test_history_shows_an_answer_with_its_proof(client: httpx.AsyncClient) -> None:
    answer = await _answer(client)
    path = f"/session/{answer['session_id']}"
    history = (await client.get(f"{path}/history", params={"html": True})).json()
    asked, answered = history["messages"]
    assert (asked["html"], asked["citations"]) == (None, [])
    assert answered["citations"] == answer["citations"]
    assert answered["reason"] == answer["metrics"]["reason"]
    assert answered["confidence_level"] == answer["confidence_level"]
    assert 'class="chip"' in answered["html"]
    assert history["title"] == QUESTION
    await client.delete(path)


async def test_the_books_choices_are_those_of_its_lessons(client: httpx.AsyncClient) -> None:
    (book,) = (await client.get("/books")).json()
    assert [module["name"] for module in book["choices"]["modules"]] == book["modules"]
    assert book["choices"]["hardware_tiers"] == [1, 2, 3, 4]
    assert book["choices"]["proficiency_levels"] == sorted(book["choices"]["proficiency_levels"])


async def test_suggestions_are_the_authors_when_there_are_some(client: httpx.AsyncClient) -> None:
    (book,) = (await client.get("/books")).json()
    suggested = (await client.get("/suggestions")).json()
    assert suggested["questions"] == book["examples"]


async def test_made_suggestions_are_answered_with_high_confidence(
    client: httpx.AsyncClient, askbook: Any
) -> None:
    (shelved,) = await askbook.library.books()
    bare = replace(shelved, book=replace(shelved.book, examples=()))
    questions = await askbook.suggestions.of(bare)
    assert len(questions) == 4
    assert await askbook.suggestions.of(bare) is questions
    for question in questions:
        answer = (await client.post("/chat/run", json={"message": question})).json()
        assert (question, answer["confidence_level"]) == (question, "high")


async def test_the_pages_need_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    for path in ("/", "/author"):
        page = await client.get(path)
        assert page.status_code == 200
        assert not re.findall(r'(?:src|href)="(?:https?:)?/', page.text)
        assert "trusted-types askbook" in page.headers["Content-Security-Policy"]


async def test_the_widget_is_one_script(client: httpx.AsyncClient) -> None:
    response = await client.get("/widget.js")
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.text == widget_script()
    assert not re.search(r"^\s*(import|export) ", response.text, re.MULTILINE)
    assert "rem;" not in response.text


async def test_jobs_and_the_evaluation_report_are_for_the_author(
    serve: Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]], data_dir: Path
) -> None:
    async with serve(load_settings(data_dir=data_dir)) as client:
        (job,) = (await client.get("/ingestion/jobs")).json()
        assert (job["job_id"], job["status"]) == (1, "completed")
        missing = await client.get("/evaluation")
        assert missing.status_code == 404
        (data_dir / "evaluation.html").write_text("<style>p{}</style><p>0.9", encoding="utf-8")
        report = await client.get("/evaluation")
        assert report.text.endswith("<p>0.9")
        assert "sandbox" in report.headers["Content-Security-Policy"]
        foreign = await client.get("/evaluation", headers={"X-Forwarded-For": "203.0.113.9"})
        assert foreign.status_code == 401


async def test_a_page_that_is_not_there_says_so_without_trusting_its_address(
    client: httpx.AsyncClient,
) -> None:
    page = "/read/physical-ai-robotics/<script>alert(1)</script>"
    told = await client.get(page, headers={"Accept": "text/html"})
    assert told.status_code == 404
    assert "<script>alert" not in told.text
    assert "&lt;script&gt;alert(1)" in told.text
    assert (await client.get(page)).json()["error"] == "not_found"
