"""The widget on other people's pages: one script tag, nothing of theirs breaks it, nothing of it leaks."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from asking import IN_THE_BOOK, MARKS, NOT_IN_THE_BOOK, an_answer, answer_with, ask, sent
from playwright.sync_api import Page, expect
from serving import HostPages

pytestmark = MARKS

PLAIN = "<!doctype html><title>Plain</title><p id=text>{text}</p><script src='{server}/widget.js' defer></script>"
HOSTILE = """<!doctype html><title>Hostile</title><style>
* {{ all: unset !important; display: none !important; font-size: 90px !important; color: #ff0 !important }}
html, body, head, p {{ display: block !important; transform: rotate(3deg); filter: blur(1px) }}
html {{ font-size: 3px !important }} div {{ visibility: hidden !important; opacity: 0 !important }}
</style><p id=text>{text}</p><script src='{server}/widget.js' defer data-title='Ask &lt;b&gt;me&lt;/b&gt;'></script>"""
STRICT = """<!doctype html><title>Strict</title><p id=text>{text}</p>
<script src='{server}/widget.js' defer data-book='physical-ai-robotics' data-key='ab_pub_1' data-color='#7b2d8b'
 data-position='left' data-title='Ask the robot'></script>"""
POLICY = (
    "default-src 'none'; script-src {server}; connect-src {server}; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types askbook"
)
TEXT = "A topic is a named channel, for example /scan."


@pytest.fixture(params=["plain", "hostile", "strict"])
def host(request: Any, watched: Callable[[str], Page], host_pages: HostPages, server: str) -> Page:
    markup = {"plain": PLAIN, "hostile": HOSTILE, "strict": STRICT}[request.param]
    policy = POLICY.format(server=server) if request.param == "strict" else ""
    address = host_pages.put(request.param, markup.format(server=server, text=TEXT), policy)
    return watched(address)


def test_answers_with_citations_on_any_page(host: Page, server: str) -> None:
    before = set(host.evaluate("Object.keys(window)"))
    launcher = host.get_by_role("button", name=re.compile("Ask"))
    expect(launcher).to_be_visible()
    box = launcher.bounding_box()
    assert box is not None
    assert 30 <= box["height"] <= 70
    launcher.click()
    ask(host, IN_THE_BOOK)
    answer = host.locator(".answer")
    expect(answer.locator(".badge")).to_have_text("High confidence")
    chip = answer.locator(".prose .chip").first
    expect(chip).to_have_attribute("href", re.compile(f"^{server}/read/"))
    assert answer.evaluate("(card) => getComputedStyle(card).fontSize") == "16px"
    with host.context.expect_page() as opened:
        chip.click()
    expect(opened.value.locator("mark").first).to_be_in_viewport()
    host.keyboard.press("Escape")
    expect(launcher).to_be_focused()
    assert set(host.evaluate("Object.keys(window)")) == before
    assert host.context.cookies() == []


def test_asks_about_what_the_reader_marked(host: Page) -> None:
    host.locator("#text").click(click_count=3)
    host.get_by_role("button", name="Ask about this").click()
    expect(host.locator(".marked")).to_contain_text("named channel")
    with host.expect_request("**/chat/stream") as asked:
        host.get_by_label("Your question").press("Enter")
    assert sent(asked.value)["selected_text"].strip() == TEXT
    assert len(asked.value.headers["x-askbook-reader"]) >= 32
    expect(host.locator(".answer")).to_contain_text("named channel")


@pytest.mark.parametrize("host", ["strict"], indirect=True)
def test_carries_the_sites_key_and_looks_as_it_is_told(host: Page) -> None:
    launcher = host.get_by_role("button", name="Ask the robot")
    box = launcher.bounding_box()
    assert box is not None
    assert box["x"] < 100
    assert launcher.evaluate("(b) => getComputedStyle(b).backgroundColor") == "rgb(123, 45, 139)"
    launcher.click()
    with host.expect_request("**/chat/stream") as asked:
        ask(host, IN_THE_BOOK)
    assert asked.value.headers["authorization"] == "Bearer ab_pub_1"
    assert sent(asked.value)["book_id"] == "physical-ai-robotics"


@pytest.mark.parametrize("host", ["plain"], indirect=True)
def test_the_conversation_goes_on_after_the_page_changes(host: Page) -> None:
    host.get_by_role("button", name="Ask this book").click()
    ask(host, NOT_IN_THE_BOOK)
    expect(host.locator(".declined .verdict")).to_have_text("Not in the book")
    host.reload()
    expect(host.locator(".declined .place").first).to_be_visible()
    host.get_by_role("button", name="New conversation").click()
    expect(host.locator(".turn")).to_have_count(0)
    host.reload()
    expect(host.get_by_role("dialog")).to_be_visible()
    expect(host.locator(".turn")).to_have_count(0)


def test_a_citation_of_the_same_site_opens_in_the_page(
    watched: Callable[[str], Page], host_pages: HostPages, server: str
) -> None:
    lesson = host_pages.put("lesson", PLAIN.format(server=server, text="The lesson."))
    page = watched(host_pages.put("start", PLAIN.format(server=server, text="Start.")))
    answer = an_answer(html=f'<p>Yes.<a class="chip" data-n="1" href="{lesson}#part">1</a></p>')
    answer["citations"][0]["url"] = f"{lesson}#part"
    answer_with(page, answer)
    page.get_by_role("button", name="Ask this book").click()
    ask(page, "Is it so?")
    page.locator(".prose .chip").click()
    page.wait_for_url(f"{lesson}#part")
    expect(page.locator("#text")).to_have_text("The lesson.")
    expect(page.get_by_role("dialog")).to_be_visible()


@pytest.mark.parametrize("host", ["plain"], indirect=True)
def test_is_as_dark_as_the_site(host: Page) -> None:
    panel = host.get_by_role("button", name="Ask this book")
    background = "(button) => getComputedStyle(button).backgroundColor"
    light = panel.evaluate(background)
    host.evaluate("document.documentElement.style.colorScheme = 'dark'")
    host.wait_for_function(
        "(light) => getComputedStyle(document.documentElement.lastElementChild.shadowRoot"
        ".querySelector('.launcher')).backgroundColor !== light",
        arg=light,
    )
