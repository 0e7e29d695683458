"""What browser tests ask, and how they wait for the answer."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

MARKS = [
    pytest.mark.browser,
    pytest.mark.enable_socket,
]
IN_THE_BOOK = "What does colcon build --symlink-install change?"
NOT_IN_THE_BOOK = "How long should a sourdough pizza rise before baking?"
SESSION_ID = "3f0d5f0e-7c86-4a3a-9c6e-0a4c1f1f4b11"
LONG_SESSION = "7d4a1e52-6f0b-4c6e-9a55-2f1f0c3b8e10"
LONG_TURNS, SENTENCES = 100, 50


def ask(page: Page, question: str) -> None:
    """Ask, and wait until the answer is whole."""
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".turn").last.locator(".actions, .failure")).to_have_count(1)


def an_answer(**changes: Any) -> dict[str, Any]:
    """A ChatResponse, as far as pages read it."""
    citation = {
        "n": 1,
        "page_title": "Nodes",
        "section_title": "Graph",
        "url": "/read/book/nodes?chunk=c#graph",
        "chunk_id": "c",
        "quote": "A **node** has one job.",
        "quote_start": 0,
        "quote_end": 23,
    }
    answer = {
        "response": "Yes. [1]",
        "html": '<p>Yes.<a class="chip" href="/read/book/nodes?chunk=c#graph" data-n="1">1</a></p>',
        "confidence_level": "high",
        "should_answer": True,
        "session_id": SESSION_ID,
        "citations": [citation],
        "nearest": [],
        "metrics": {"reason": "One passage says it."},
    }
    return {**answer, **changes}


def sent(request: Request) -> dict[str, Any]:
    """The JSON a page sent."""
    return json.loads(request.post_data or "{}")


def answer_with(
    page: Page, answer: dict[str, Any], status: int = 200, **headers: str
) -> list[dict[str, Any]]:
    """Let `/chat/stream` end with `answer`, or fail with it as body; returns the requests as they come."""
    requests: list[dict[str, Any]] = []

    def handle(route: Route) -> None:
        requests.append({**sent(route.request), "headers": route.request.headers})
        body = json.dumps(answer)
        route.fulfill(
            status=status,
            headers={"Access-Control-Allow-Origin": "*", **headers},
            content_type="text/event-stream" if status == 200 else "application/json",
            body=f"event: done\ndata: {body}\n\n" if status == 200 else body,
        )

    page.unroute("**/chat/stream")
    page.route("**/chat/stream", handle)
    return requests
