"""How the page is made: readable for everybody, light, steady, and quick however long the conversation."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from asking import IN_THE_BOOK, LONG_SESSION, LONG_TURNS, MARKS, NOT_IN_THE_BOOK, SENTENCES, ask
from playwright.sync_api import BrowserContext, Page, expect

pytestmark = MARKS

LARGEST_PAGE = 60_000
PHONES = [320, 390]


@pytest.fixture(scope="session")
def axe() -> str:
    spec = find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def violations(page: Page, axe: str) -> list[Any]:
    """What axe-core finds serious or worse; it is evaluated by the debugger, so no policy has to give way."""
    page.evaluate(axe)
    found: list[Any] = page.evaluate("axe.run(document).then((result) => result.violations)")
    return [
        (rule["id"], [node["html"][:200] for node in rule["nodes"]])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


def both_schemes(page: Page, axe: str) -> list[Any]:
    """What is wrong in light or in dark colours."""
    found: list[Any] = []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += violations(page, axe)
    return found


def test_everybody_can_read_it(page: Page, axe: str) -> None:
    assert both_schemes(page, axe) == []
    ask(page, NOT_IN_THE_BOOK)
    assert both_schemes(page, axe) == []
    ask(page, IN_THE_BOOK)
    page.locator(".chip").first.click()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()
    assert both_schemes(page, axe) == []


def test_everybody_can_read_it_on_a_phone(page: Page, axe: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.locator("#open-side").click()
    expect(page.locator("#close-side")).to_be_focused()
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    expect(page.locator("#open-side")).to_be_focused()


def test_follows_the_dark_scheme_and_the_reader(page: Page) -> None:
    brightness = (
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, part) => sum + Number(part), 0)"
    )
    assert page.evaluate(brightness) > 600
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(brightness) < 150
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(brightness) > 600
    page.reload()
    assert page.evaluate(brightness) > 600


def test_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 640})
    ask(page, "How do I write a launch file?")
    page.locator(".chip").first.click()
    expect(page.locator("#source-text :is(mark, .cited)").first).to_be_in_viewport()
    for width in PHONES:
        page.set_viewport_size({"width": width, "height": 640})
        widest = page.evaluate(
            "Math.max(...['html', 'main', '#log', '#source', '#source-text']"
            ".map((part) => document.querySelector(part).scrollWidth))"
        )
        assert widest <= width


def test_the_page_is_light(
    context: BrowserContext, watched: Callable[[str], Page], server: str
) -> None:
    """The page and all its files, as they are before any compression."""
    loaded: dict[str, int] = {}

    def count(response: Any) -> None:
        path = response.url.removeprefix(server)
        if path == "/" or path.startswith("/assets/"):
            loaded[path] = len(response.body())

    context.on("response", count)
    page = watched(f"{server}/")
    expect(page.locator(".example")).to_have_count(4)
    assert "/assets/chat.js" in loaded
    assert sum(loaded.values()) <= LARGEST_PAGE, json.dumps(loaded, indent=1)


def test_nothing_jumps_while_the_page_loads(
    context: BrowserContext, watched: Callable[[str], Page], server: str
) -> None:
    context.add_init_script(
        "window.shifts = 0; new PerformanceObserver((list) => {"
        " for (const shift of list.getEntries()) window.shifts += shift.value;"
        "}).observe({type: 'layout-shift', buffered: true})"
    )
    page = watched(f"{server}/")
    expect(page.locator(".example")).to_have_count(4)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.shifts") < 0.01


def test_a_very_long_conversation_scrolls_smoothly(page: Page) -> None:
    page.evaluate(
        "(id) => sessionStorage.setItem('askbook.session', JSON.stringify(id))", LONG_SESSION
    )
    page.reload()
    page.get_by_role("button", name="Show what was said before").click()
    expect(page.locator(".turn")).to_have_count(LONG_TURNS)
    assert page.locator("#log").inner_text().count("one") >= 1
    sentences = page.evaluate(
        "document.querySelector('#log').textContent.split(' job.').length - 1"
    )
    assert sentences == LONG_TURNS * SENTENCES
    frames = page.evaluate(
        """async () => {
          const scroller = document.querySelector("#scroller");
          const next = () => new Promise((done) => requestAnimationFrame(done));
          const times = [];
          scroller.scrollTop = 0;
          for (let step = 0; step < 60; step += 1) {
            const before = await next();
            scroller.scrollTop += 400;
            times.push((await next()) - before);
          }
          const isDrawn = (turn) => turn.firstElementChild.checkVisibility({ contentVisibilityAuto: true });
          const drawn = [...document.querySelectorAll(".turn")].filter(isDrawn).length;
          return { median: times.sort((a, b) => a - b)[30], drawn, moved: scroller.scrollTop };
        }"""
    )
    # On a machine of its own a frame takes 17 ms; what is out of sight must not be drawn at all.
    assert frames["moved"] > 5000
    assert frames["drawn"] <= LONG_TURNS / 5
    assert frames["median"] < 100


def test_everybody_can_read_the_authors_page_and_the_widget(
    watched: Callable[[str], Page], server: str, axe: str
) -> None:
    author = watched(f"{server}/author")
    expect(author.locator("#books .card")).to_have_count(1)
    expect(author.locator("#evaluation")).not_to_be_empty()
    assert violations(author, axe) == []
    site = f"{server}/a-page"
    markup = "<!doctype html><html lang=en><title>Site</title><main><h1>Site</h1></main><script src=/widget.js></script>"
    author.route(site, lambda route: route.fulfill(content_type="text/html", body=markup))
    author.goto(site)
    author.get_by_role("button", name="Ask this book").click()
    ask(author, IN_THE_BOOK)
    assert both_schemes(author, axe) == []
