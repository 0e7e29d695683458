"""The chat page and the reading page in real Chromium, served by the real product.

Set `ASKBOOK_TEST_URL` to run them against a server that is already up.
"""

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)

pytestmark = [pytest.mark.browser, pytest.mark.enable_socket]

SAMPLE_BOOK = Path(__file__).parents[2] / "examples" / "physical-ai-book"
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
IN_THE_BOOK = "What is a node in ROS 2?"
NOT_IN_THE_BOOK = "How long should a sourdough pizza rise before baking?"
SESSION_ID = "3f0d5f0e-7c86-4a3a-9c6e-0a4c1f1f4b11"


# --- The server and the browser ---


def cannot_run(reason: str) -> NoReturn:
    """Skip with the reason; where skipping would hide something, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `askbook serve` with the sample book ingested."""
    if running := os.environ.get("ASKBOOK_TEST_URL"):
        yield running.rstrip("/")
        return
    if importlib.util.find_spec("askbook.api.app") is None:
        cannot_run("askbook.api.app is not there: nothing serves the chat page")
    folder = tmp_path_factory.mktemp("served")
    command = [sys.executable, "-m", "askbook"]
    data_dir = ["--data-dir", str(folder / "data")]
    subprocess.run(
        [*command, "ingest", str(SAMPLE_BOOK), *data_dir, "--json"], check=True, timeout=300
    )
    port = free_port()
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(
        [*command, "serve", "--host", "127.0.0.1", "--port", str(port), *data_dir],
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_up(f"{address}/health", process, folder / "server.log")
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.fail(f"the server stopped:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the server was not up after 60 s:\n{log.read_text()}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        cannot_run("chromium is not installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, server: str) -> Iterator[Page]:
    """The chat page, opened; nothing on it may break a rule or throw."""
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: (
            problems.append(message.text) if "Content Security Policy" in message.text else None
        ),
    )
    page.goto(server)
    yield page
    assert problems == []


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".loading")).to_have_count(0, timeout=60_000)


def answer_with(page: Page, status: int = 200, **body: Any) -> list[dict[str, Any]]:
    """Let `/chat/run` answer with `body`; returns the requests it gets, as they come."""
    requests: list[dict[str, Any]] = []
    headers = {"Retry-After": "1"} if status == 429 else {}

    def handle(route: Route) -> None:
        requests.append({**sent(route.request), "headers": route.request.headers})
        route.fulfill(
            status=status, headers=headers, content_type="application/json", body=json.dumps(body)
        )

    page.unroute("**/chat/run")
    page.route("**/chat/run", handle)
    return requests


def sent(request: Request) -> dict[str, Any]:
    return json.loads(request.post_data or "{}")


def an_answer(response: str = "Yes. [1]", **changes: Any) -> dict[str, Any]:
    citation = {
        "n": 1,
        "page_title": "Nodes",
        "section_title": "Graph",
        "url": "/read/book/nodes?chunk=c#graph",
        "quote": "A **node** has one job.",
    }
    answer = {
        "response": response,
        "confidence": 0.9,
        "confidence_level": "high",
        "should_answer": True,
        "session_id": SESSION_ID,
        "state": "completed",
        "citations": [citation],
        "metrics": {"reason": "one passage says it"},
    }
    return {**answer, **changes}


def letters(text: str) -> str:
    return "".join(re.findall(r"\w", text.casefold()))


# --- With the sample book ---


def test_shows_the_books_title(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Physical AI & Robotics")


def test_an_answer_leads_to_the_exact_words_in_the_book(page: Page) -> None:
    ask(page, IN_THE_BOOK)
    answer = page.locator(".answer")
    expect(answer.locator(".badge")).to_have_text(re.compile("confidence"))
    quote = answer.locator(".sources blockquote").first.inner_text()
    link = answer.locator(".prose a.citation").first
    assert link.get_attribute("rel") == "noopener"
    with page.context.expect_page() as opened:
        link.click()
    lesson = opened.value
    mark = lesson.locator("mark#quote")
    expect(mark).to_be_visible()
    expect(mark).to_be_in_viewport()
    marked = letters("".join(lesson.locator("mark").all_inner_texts()))
    assert marked[:30] in letters(quote)
    assert len(marked) > 10


def test_says_when_it_is_not_in_the_book(page: Page) -> None:
    ask(page, NOT_IN_THE_BOOK)
    declined = page.locator(".not-in-book")
    expect(declined.locator(".verdict")).to_have_text("Not in the book")
    expect(declined.locator(".reason")).not_to_be_empty()
    expect(page.locator(".sources")).to_have_count(0)
    expect(page.locator(".citation")).to_have_count(0)


def test_a_conversation_survives_a_reload_and_can_be_left(page: Page) -> None:
    ask(page, IN_THE_BOOK)
    expect(page.locator(".answer")).to_have_count(1)
    page.reload()
    expect(page.locator(".answer")).to_have_count(1)
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.get_by_label("Your question")).to_be_focused()
    page.reload()
    expect(page.locator(".turn")).to_have_count(0)


def test_follow_up_questions_stay_in_the_session(page: Page) -> None:
    sessions: list[str | None] = []
    page.on(
        "request",
        lambda request: (
            sessions.append(sent(request).get("session_id"))
            if request.url.endswith("/chat/run")
            else None
        ),
    )
    ask(page, IN_THE_BOOK)
    ask(page, "And what is a topic?")
    assert sessions[0] is None
    assert sessions[1] is not None


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_fits_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    ask(page, IN_THE_BOOK)
    widest = page.evaluate(
        "Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth)"
    )
    assert widest <= width


def test_follows_the_dark_scheme(page: Page) -> None:
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, part) => sum + Number(part), 0)"
    )
    assert page.evaluate(brightness) > 600
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(brightness) < 150


# --- The question field ---


def test_enter_sends_and_shift_enter_starts_a_line(page: Page) -> None:
    requests = answer_with(page, **an_answer())
    field = page.get_by_label("Your question")
    field.press_sequentially("one")
    page.keyboard.press("Shift+Enter")
    field.press_sequentially("two")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(1)
    assert [request["message"] for request in requests] == ["one\ntwo"]
    expect(field).to_have_value("")


def test_blank_and_too_long_questions_are_not_sent(page: Page) -> None:
    requests = answer_with(page, **an_answer())
    field, send = page.get_by_label("Your question"), page.locator("#send")
    field.fill("  \n ")
    expect(send).to_be_disabled()
    field.fill("x" * 1001)
    expect(page.locator("#counter")).to_have_text("1001 / 1000")
    expect(send).to_be_disabled()
    page.keyboard.press("Enter")
    field.fill("🤖" * 1000)
    expect(send).to_be_enabled()
    assert requests == []


def test_a_question_in_flight_can_be_stopped(page: Page) -> None:
    page.route("**/chat/run", lambda _route: None)
    page.get_by_label("Your question").fill("slow")
    page.keyboard.press("Enter")
    expect(page.locator(".loading")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    answer_with(page, **an_answer())
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".answer")).to_have_count(1)


# --- Answers ---


def test_a_citation_shows_its_passage_on_keyboard_focus(page: Page) -> None:
    answer_with(page, **an_answer())
    ask(page, "q")
    page.locator(".citation").focus()
    card = page.get_by_role("tooltip")
    expect(card).to_contain_text("Nodes › Graph")
    expect(card).to_contain_text("A node has one job.")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_low_confidence_carries_a_disclaimer(page: Page) -> None:
    answer_with(page, **an_answer(confidence_level="low", state="low_confidence"))
    ask(page, "q")
    expect(page.locator(".disclaimer")).to_be_visible()
    expect(page.locator(".badge")).to_have_text("Low confidence")


def test_the_books_own_disclaimer_is_shown_once(page: Page) -> None:
    text = "Perhaps. [1]\n\nPlease check the passages."
    answer_with(page, **an_answer(text, confidence_level="low"))
    ask(page, "q")
    expect(page.locator(".disclaimer")).to_have_text("Please check the passages.")
    expect(page.locator(".prose")).not_to_contain_text("Please check")


def test_a_quoted_table_row_is_shown_as_cells(page: Page) -> None:
    answer_with(page, **an_answer("| a stream | topic | [1]"))
    ask(page, "q")
    cells = page.locator(".prose td")
    expect(cells).to_have_count(3)
    expect(cells.nth(1)).to_have_text("topic")
    expect(cells.nth(2).locator("a.citation")).to_have_text("1")


def test_markdown_is_rendered(page: Page) -> None:
    text = (
        "Some **bold**, *slanted* and `code` [1].\n\n- one\n  - deep\n- two [1, 9]\n\n3. three\n\n"
        "```py\nx = '[1] **no**'\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "[site](https://example.org/) [9]"
    )
    answer_with(page, **an_answer(text))
    ask(page, "q")
    prose = page.locator(".prose")
    expect(prose.locator("strong")).to_have_text("bold")
    expect(prose.locator("em")).to_have_text("slanted")
    expect(prose.locator("p code")).to_have_text("code")
    expect(prose.locator("ul ul li")).to_have_text("deep")
    expect(prose.locator("ol[start='3'] li")).to_have_text("three")
    expect(prose.locator("pre")).to_have_text("x = '[1] **no**'")
    expect(prose.locator("td")).to_have_text(["1", "2"])
    expect(prose.locator("a.citation")).to_have_text(["1", "1"])
    expect(prose.get_by_role("link", name="site")).to_have_attribute("rel", "noopener noreferrer")
    expect(prose).to_contain_text("[9]")


def test_hostile_answers_stay_text(page: Page) -> None:
    hostile = (
        "<img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script> "
        "[a](javascript:document.title='owned') [b](//evil.example/x) [c](data:text/html,x) [1]\n\n"
        "- <b onclick=x>list</b>\n\n| <i>cell</i> | b |\n|---|---|\n| <svg onload=x> | 2 |"
    )
    citation = {
        "n": 1,
        "page_title": "<b>Page</b>",
        "section_title": "<img src=x>",
        "url": "javascript:document.title='owned'",
        "quote": "<script>document.title='owned'</script>",
    }
    answer_with(page, **an_answer(hostile, citations=[citation], metrics={"reason": "<u>why</u>"}))
    ask(page, "<img src=x onerror=alert(1)>")
    expect(page.locator(".question")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".turn :is(img, script, svg, b, i, u, a)")).to_have_count(0)
    expect(page.locator(".place").first).to_have_text("<b>Page</b> › <img src=x>")
    assert page.title() != "owned"


def test_an_answer_can_be_copied_with_its_sources(page: Page, server: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    answer_with(page, **an_answer())
    ask(page, "q")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Yes. [1]")
    assert f"[1] Nodes › Graph – {server}/read/book/nodes?chunk=c#graph" in copied


# --- When something is wrong ---


@pytest.mark.parametrize("status", [422, 429, 503, 500])
def test_an_error_is_explained_and_can_be_retried(page: Page, status: int) -> None:
    answer_with(page, status, message="It did not work.", suggestion="Do this next.")
    ask(page, "q")
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("It did not work.")
    expect(failure).to_contain_text("Do this next.")
    requests = answer_with(page, **an_answer())
    failure.get_by_role("button", name="Try again", exact=True).click()
    expect(page.locator(".answer")).to_have_count(1)
    expect(page.locator(".turn")).to_have_count(1)
    assert [request["message"] for request in requests] == ["q"]


def test_a_server_that_is_gone_is_said(page: Page) -> None:
    page.route("**/chat/run", lambda route: route.abort("connectionrefused"))
    ask(page, "q")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")


def test_asks_for_a_key_when_one_is_needed(page: Page) -> None:
    expect(page.locator("#key-form")).to_be_hidden()
    answer_with(page, 401, message="A key is needed.", suggestion="Enter it below.")
    ask(page, "q")
    requests = answer_with(page, **an_answer())
    page.locator("#key").fill("ab_secret")
    page.keyboard.press("Enter")
    expect(page.locator(".answer")).to_have_count(1)
    assert requests[0]["headers"]["authorization"] == "Bearer ab_secret"
    expect(page.locator("#key-form")).to_be_hidden()


# --- Several books, example questions ---


def test_several_books_can_be_chosen_from(page: Page, server: str) -> None:
    books = [
        {"book_id": "one", "title": "One", "examples": ["What is one?", "Why one?"]},
        {"book_id": "two", "title": "Two"},
    ]
    page.route("**/info", lambda route: route.fulfill(json={"books": books, "default_book": "one"}))
    requests = answer_with(page, **an_answer())
    page.goto(server)
    page.get_by_role("button", name="What is one?").click()
    expect(page.locator(".answer")).to_have_count(1)
    page.get_by_role("combobox", name="Book").select_option("two")
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator(".example")).to_have_count(0)
    ask(page, "And two?")
    assert [(r["message"], r["book_id"], r.get("session_id")) for r in requests] == [
        ("What is one?", "one", None),
        ("And two?", "two", None),
    ]
