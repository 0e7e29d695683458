"""A conversation on the chat page, in real Chromium with the real product."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from asking import IN_THE_BOOK, MARKS, NOT_IN_THE_BOOK, an_answer, answer_with, ask, sent
from playwright.sync_api import BrowserContext, Page, Route, expect
from serving import PREFIX

pytestmark = MARKS


def letters(text: str) -> str:
    return "".join(re.findall(r"\w", text.casefold()))


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Move on by keyboard until the element has the focus."""
    for _ in range(40):
        if page.evaluate("(s) => document.activeElement?.matches(s)", selector):
            return
        page.keyboard.press(key)
    pytest.fail(f"{selector} cannot be reached by {key}")


# --- A whole conversation ---


def test_a_conversation_by_keyboard_alone(page: Page) -> None:
    page.keyboard.type(IN_THE_BOOK)
    page.keyboard.press("Enter")
    expect(page.locator(".actions")).to_have_count(1)
    expect(page.locator(".badge")).to_have_text("High confidence")
    expect(page.locator(".reason")).not_to_be_empty()
    expect(page.locator("#live")).to_contain_text("Answered with")

    tab_to(page, ".chip", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#source-title")).to_be_focused()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#source")).to_be_hidden()
    expect(page.locator(".chip:focus")).to_have_count(1)

    tab_to(page, "#question")
    page.keyboard.type("And what is a workspace?")
    page.keyboard.press("Enter")
    expect(page.locator(".actions")).to_have_count(2)

    tab_to(page, "#new", "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator("#question")).to_be_focused()


def test_a_citation_opens_beside_the_answer_with_its_words_marked(page: Page) -> None:
    ask(page, IN_THE_BOOK)
    quote = page.locator(".place q").first.inner_text()
    page.locator(".chip").first.click()
    marks = page.locator("#source-text mark")
    expect(marks.first).to_be_in_viewport()
    assert letters(" ".join(marks.all_inner_texts()))[:60] == letters(quote)[:60]
    expect(page.locator("#source-text")).to_contain_text("Two options save time")
    source, answer = page.locator("#source").bounding_box(), page.locator(".answer").bounding_box()
    assert source is not None
    assert answer is not None
    assert source["x"] >= answer["x"] + answer["width"]
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the page").click()
    expect(opened.value.locator("mark").first).to_be_in_viewport()


def test_a_declined_question_is_helped_on(page: Page) -> None:
    ask(page, NOT_IN_THE_BOOK)
    declined = page.locator(".declined")
    expect(declined.locator(".verdict")).to_have_text("Not in the book")
    expect(declined.locator(".reason")).to_contain_text("sourdough")
    expect(page.locator(".chip")).to_have_count(0)
    declined.locator(".place").first.click()
    expect(page.locator("#source-text .cited").first).to_be_in_viewport()


def test_who_thanks_is_not_told_what_the_book_lacks(page: Page) -> None:
    ask(page, "thanks!")
    declined = page.locator(".declined")
    expect(declined.locator(".prose")).to_have_text(
        "Nothing was asked here. Write what you want to know."
    )
    expect(declined.locator(".verdict, .advice, .reason")).to_have_count(0)


def test_says_what_the_readers_choice_hides(page: Page) -> None:
    page.get_by_label("Module").select_option("intro")
    expect(page.locator("#within")).to_contain_text("Asking within: Foundations")
    ask(page, IN_THE_BOOK)
    expect(page.locator(".declined .reason")).to_contain_text("Covered in module ros2")
    page.get_by_role("button", name="Ask the whole book").click()
    expect(page.locator("#within")).to_be_hidden()
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").last.locator(".badge")).to_have_text("High confidence")


def test_the_readers_choices_are_sent_and_kept(page: Page) -> None:
    page.get_by_label("Hardware tier").select_option("2")
    page.get_by_label("Proficiency").select_option("A2")
    page.get_by_label("Layer").select_option("L1")
    requests = answer_with(page, an_answer())
    ask(page, "q")
    page.reload()
    expect(page.get_by_label("Hardware tier")).to_have_value("2")
    (asked,) = requests
    assert asked["hardware_tier"] == 2
    assert asked["proficiency_levels"] == ["A1", "A2"]
    assert asked["layer"] == "L1"
    assert "module" not in asked


def test_conversations_are_listed_resumed_and_deleted(page: Page) -> None:
    ask(page, "What is a degree of freedom?")
    page.reload()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".badge")).to_have_text("High confidence")
    page.locator(".chip").first.click()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()

    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".turn")).to_have_count(0)
    page.reload()
    expect(page.locator(".example")).to_have_count(4)
    expect(page.locator(".turn")).to_have_count(0)
    mine = page.get_by_role("button", name="What is a degree of freedom?", exact=True)
    mine.click()
    expect(page.locator(".chip").first).to_be_visible()
    expect(mine).to_have_attribute("aria-current", "true")
    page.get_by_role("button", name="Delete “What is a degree of freedom?”").click()
    page.get_by_role("button", name="Press again to delete").click()
    expect(page.locator(".turn")).to_have_count(0)
    expect(mine).to_have_count(0)


def test_a_suggested_question_is_answered(page: Page) -> None:
    page.locator(".example").first.click()
    expect(page.locator(".badge")).to_have_text("High confidence")


def test_sentences_come_one_by_one_and_can_be_stopped(page: Page) -> None:
    """The stream of a slow model: two sentences, then nothing more."""
    events = [
        ("state", {"state": "generating"}),
        ("sentence", {"text": "One. [1]", "html": "<p>One.</p>"}),
        ("sentence", {"text": "Two. [1]", "html": "<p>One. Two.</p>"}),
    ]
    text = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
    page.evaluate(
        """(text) => {
          const real = window.fetch;
          window.fetch = (address, options) => {
            if (!String(address).endsWith("/chat/stream")) return real(address, options);
            const body = new ReadableStream({
              start(stream) {
                stream.enqueue(new TextEncoder().encode(text));
                options.signal.addEventListener("abort", () => {
                  window.wasStopped = true;
                  stream.error(options.signal.reason);
                });
              },
            });
            return Promise.resolve(new Response(body));
          };
        }""",
        text,
    )
    page.get_by_label("Your question").fill("slow")
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_have_text("One. Two.")
    expect(page.locator("#live")).to_contain_text("Two.")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    expect(page.locator(".prose")).to_have_text("One. Two.")
    assert page.evaluate("window.wasStopped")
    expect(page.get_by_role("button", name="Send")).to_be_visible()


# --- The question field ---


def test_enter_sends_and_shift_enter_starts_a_line(page: Page) -> None:
    requests = answer_with(page, an_answer())
    field = page.get_by_label("Your question")
    field.press_sequentially("one")
    page.keyboard.press("Shift+Enter")
    field.press_sequentially("two")
    page.keyboard.press("Enter")
    expect(page.locator(".badge")).to_have_count(1)
    assert [request["message"] for request in requests] == ["one\ntwo"]
    expect(field).to_have_value("")


def test_blank_and_too_long_questions_are_not_sent(page: Page) -> None:
    requests = answer_with(page, an_answer())
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


# --- What can be done with an answer ---


def test_answers_and_code_can_be_copied(page: Page, server: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    code = '<pre tabindex="0"><code>ros2 run</code></pre>'
    answer_with(page, an_answer(html=f"<p>Yes.</p>{code}"))
    ask(page, "q")
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Yes. [1]")
    assert f"[1] Nodes › Graph – {server}/read/book/nodes?chunk=c#graph" in copied
    page.get_by_role("button", name="Copy code").click()
    page.wait_for_function("navigator.clipboard.readText().then((text) => text === 'ros2 run')")


def test_an_answer_can_be_rated(page: Page) -> None:
    votes: list[dict[str, Any]] = []

    def take(route: Route) -> None:
        votes.append(sent(route.request))
        route.fulfill(status=204)

    page.route("**/feedback", take)
    answer_with(page, an_answer())
    ask(page, "q")
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was wrong?").fill("Too short")
    page.keyboard.press("Enter")
    expect(page.locator(".thanks")).to_have_text("Thank you.")
    assert [(v["rating"], v["turn"], v.get("comment")) for v in votes] == [
        ("down", 1, None),
        ("down", 1, "Too short"),
    ]
    page.unroute("**/feedback")
    page.route("**/feedback", lambda route: route.fulfill(status=404, json={}))
    page.get_by_role("button", name="Helpful", exact=True).click()
    expect(page.locator(".thanks")).to_have_text("This server keeps no ratings.")


def test_low_confidence_sets_its_caution_apart(page: Page) -> None:
    html = '<p>Perhaps.<a class="chip" data-n="1">1</a></p><p>Please check.</p>'
    answer_with(page, an_answer(html=html, confidence_level="low"))
    ask(page, "q")
    expect(page.locator(".caution")).to_have_text("Please check.")
    expect(page.locator(".badge")).to_have_text("Low confidence")


# --- When something is wrong ---


@pytest.mark.parametrize("status", [422, 429, 503])
def test_an_error_is_explained_and_can_be_retried(page: Page, status: int) -> None:
    body = {"message": "It did not work.", "suggestion": "Do this next."}
    headers = {"Retry-After": "1"} if status == 429 else {}
    answer_with(page, body, status, **headers)
    ask(page, "q")
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("It did not work.")
    expect(failure).to_contain_text("Do this next.")
    if status == 429:
        expect(failure.get_by_role("button")).to_be_disabled()
    requests = answer_with(page, an_answer())
    failure.get_by_role("button", name="Try again", exact=True).click()
    expect(page.locator(".badge")).to_have_count(1)
    expect(page.locator(".turn")).to_have_count(1)
    assert [request["message"] for request in requests] == ["q"]


def test_offline_is_said_and_the_question_kept(page: Page, context: BrowserContext) -> None:
    context.set_offline(True)
    ask(page, IN_THE_BOOK)
    expect(page.get_by_role("alert")).to_contain_text("You are offline.")
    context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".badge")).to_have_text("High confidence")


def test_an_answer_cut_short_is_said(page: Page) -> None:
    page.route(
        "**/chat/stream",
        lambda route: route.fulfill(body=": ping\n\n", content_type="text/event-stream"),
    )
    ask(page, "q")
    expect(page.get_by_role("alert")).to_contain_text("cut short")


def test_asks_for_a_key_when_one_is_needed(page: Page, server: str) -> None:
    expect(page.locator("#key-form")).to_be_hidden()
    answer_with(page, {"message": "A key is needed."}, 401)
    ask(page, "q")
    requests = answer_with(page, an_answer())
    page.locator("#key").fill("ab_secret")
    page.keyboard.press("Enter")
    expect(page.locator(".badge")).to_have_count(1)
    assert requests[0]["headers"]["authorization"] == "Bearer ab_secret"
    expect(page.locator("#key-form")).to_be_hidden()
    assert "ab_secret" not in page.url


def test_a_locked_server_asks_for_a_key_at_once(
    watched: Callable[[str], Page], context: BrowserContext, server: str
) -> None:
    def guard(route: Route) -> None:
        if "authorization" in route.request.headers:
            route.continue_()
        else:
            route.fulfill(status=401, json={"error": "unauthorized", "message": "A key is needed."})

    context.route("**/info", guard)
    page = watched(f"{server}/")
    page.locator("#key").fill("ab_secret")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Physical AI & Robotics")


# --- Several books, none, and a path of the server's own ---


def test_several_books_can_be_chosen_from(page: Page, server: str) -> None:
    books = [{"book_id": "one", "title": "One"}, {"book_id": "two", "title": "Two"}]
    page.route("**/info", lambda route: route.fulfill(json={"books": books, "default_book": "one"}))
    page.route("**/suggestions?*", lambda route: route.fulfill(json={"questions": ["Why?"]}))
    requests = answer_with(page, an_answer())
    page.evaluate("sessionStorage.clear()")
    page.goto(server)
    page.get_by_role("button", name="Why?").click()
    expect(page.locator(".badge")).to_have_count(1)
    page.get_by_role("combobox", name="Book").select_option("two")
    expect(page.locator(".turn")).to_have_count(0)
    ask(page, "And two?")
    assert [(r["message"], r["book_id"], r.get("session_id")) for r in requests] == [
        ("Why?", "one", None),
        ("And two?", "two", None),
    ]


def test_a_server_without_a_book_says_how_to_add_one(page: Page, server: str) -> None:
    page.route("**/info", lambda route: route.fulfill(json={"books": [], "default_book": None}))
    page.goto(server)
    expect(page.locator("#welcome")).to_contain_text("askbook ingest PATH")


def test_works_behind_a_path_prefix(watched: Callable[[str], Page], server: str) -> None:
    page = watched(f"{server}{PREFIX}/")
    ask(page, IN_THE_BOOK)
    expect(page.locator(".chip").first).to_have_attribute(
        "href", re.compile(f"^{server}{PREFIX}/read/")
    )
    page.locator(".chip").first.click()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the page").click()
    lesson = opened.value
    expect(lesson.locator("mark").first).to_be_in_viewport()
    lesson.get_by_role("link", name="Back to chat").click()
    lesson.wait_for_url(f"{server}{PREFIX}/")


def test_works_where_the_browser_keeps_nothing(
    watched: Callable[[str], Page], context: BrowserContext, server: str
) -> None:
    context.add_init_script(
        "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name,"
        " {get: () => { throw new DOMException('closed', 'SecurityError'); }})"
    )
    page = watched(f"{server}/")
    answer_with(page, {"message": "A key is needed."}, 401)
    ask(page, "q")
    requests = answer_with(page, an_answer())
    page.locator("#key").fill("ab_secret")
    page.keyboard.press("Enter")
    expect(page.locator(".badge")).to_have_count(1)
    assert requests[0]["headers"]["authorization"] == "Bearer ab_secret"
