"""The author's page: an ingest with its progress, and what readers told."""

from collections.abc import Callable

from asking import MARKS, NOT_IN_THE_BOOK, ask
from playwright.sync_api import BrowserContext, Page, Route, expect

pytestmark = MARKS


def test_an_author_ingests_and_sees_what_is_missing(
    watched: Callable[[str], Page], page: Page, server: str
) -> None:
    ask(page, NOT_IN_THE_BOOK)
    votes = {
        "votes": [
            {
                "question": "Why?",
                "answer": "<b>So.</b>",
                "comment": "No",
                "given_at": "2026-01-02T03:04",
            }
        ]
    }
    page.context.route("**/feedback?*", lambda route: route.fulfill(json=votes))
    author = watched(f"{server}/author")
    book = author.locator("#books .card")
    expect(book).to_contain_text("12 lessons · 70 chunks")
    expect(author.locator("#gaps")).to_contain_text(NOT_IN_THE_BOOK)
    expect(author.locator("#votes")).to_contain_text("<b>So.</b>“No”")
    expect(author.locator("#evaluation")).to_contain_text("askbook eval")
    author.get_by_role("button", name="What would change?").click()
    expect(book).to_contain_text("0 new, 0 modified, 0 moved, 0 deleted, 0 failed, 12 unchanged.")
    before = author.locator("#jobs .card").count()
    author.get_by_role("button", name="Ingest", exact=True).click()
    expect(author.locator("#jobs .card")).to_have_count(before + 1)
    newest = author.locator("#jobs .card").first
    expect(newest.locator(".badge")).to_have_text("completed")
    expect(newest).to_contain_text("12 of 12 lessons, 0 chunks embedded")


def test_progress_and_warnings_are_shown_as_they_come(
    watched: Callable[[str], Page], context: BrowserContext, server: str
) -> None:
    job = {
        "job_id": 7, "book_id": "b", "mode": "full", "status": "running", "files_discovered": 4,
        "files_processed": 1, "files_skipped": 0, "files_failed": 0, "embedded_chunks": 3,
        "queued_at": "2026-01-01T00:00:00Z", "started_at": None, "completed_at": None,
        "error_message": None, "warnings": ["a.md: <i>odd</i>"], "failures": [],
    }  # fmt: skip
    context.route("**/ingestion/jobs", lambda route: route.fulfill(json=[job]))
    context.route("**/ingestion/status/7", lambda route: route.abort())
    page = watched(f"{server}/author")
    expect(page.locator("progress")).to_have_js_property("value", 1)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.get_by_text("1 warning").click()
    expect(page.locator("#jobs li")).to_have_text("a.md: <i>odd</i>")


def test_asks_for_an_admin_key(
    watched: Callable[[str], Page], context: BrowserContext, server: str
) -> None:
    def guard(route: Route) -> None:
        if route.request.headers.get("authorization") == "Bearer ab_admin":
            route.continue_()
        else:
            route.fulfill(status=401, json={"error": "unauthorized", "message": "A key is needed."})

    context.route("**/ingestion/jobs", guard)
    page = watched(f"{server}/author")
    page.get_by_label("This page is for administrators").fill("ab_admin")
    page.keyboard.press("Enter")
    expect(page.locator("#books .card")).to_have_count(1)
    expect(page.locator("#key-form")).to_be_hidden()
