"""Real Chromium, and the real product started once for all browser tests."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from asking import LONG_SESSION, LONG_TURNS, SENTENCES
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from serving import HostPages, Product

from askbook.bootstrap import Askbook
from askbook.config import Settings, load_settings
from askbook.retrieval.history import Message
from data_directories import copy_data

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


def cannot_run(reason: str) -> NoReturn:
    """Skip with the reason; where skipping would hide something, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def server(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory, host_pages: HostPages
) -> Iterator[str]:
    """The address of the product with the sample book, and one very long conversation in it."""
    data = copy_data(ingested, tmp_path_factory.mktemp("browsed") / "data")
    settings = load_settings(data_dir=data, cors_origins=host_pages.url)
    asyncio.run(_have_long_conversation(settings))
    with Product(settings) as product:
        yield product.url


async def _have_long_conversation(settings: Settings) -> None:
    answer = " ".join(f"Sentence {n} says that a node has **one** job." for n in range(SENTENCES))
    async with Askbook(settings) as askbook:
        for turn in range(LONG_TURNS):
            dialogue = await askbook.conversations.dialogue(LONG_SESSION)
            asked = Message(role="user", content=f"Question {turn}", timestamp=datetime.now(UTC))
            await dialogue.append(asked, answer, book_id="physical-ai-robotics", confidence=0.9)


@pytest.fixture(scope="module")
def browser(server: str) -> Iterator[Browser]:
    """Chromium, as short as can be: while it is open, no test in this process can run an event loop of its own."""
    chromium = shutil.which("chromium")
    if chromium is None:
        cannot_run("chromium is not installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    context.add_init_script(
        "window.reports = []; addEventListener('securitypolicyviolation',"
        " (event) => window.reports.push(event.violatedDirective + ' ' + event.blockedURI))"
    )
    yield context
    context.close()


@pytest.fixture
def watched(context: BrowserContext) -> Iterator[Callable[[str], Page]]:
    """Opens pages on which nothing may break a policy or throw."""
    problems: list[str] = []

    def open_page(address: str) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: _note(problems, message))
        page.goto(address)
        return page

    yield open_page
    for page in context.pages:
        problems += page.evaluate("window.reports ?? []")
    assert problems == []


def _note(problems: list[str], message: Any) -> None:
    # What the network refuses is logged by the browser itself; tests provoke that on purpose.
    if message.type == "error" and "Failed to load resource" not in message.text:
        problems.append(message.text)


@pytest.fixture
def page(watched: Callable[[str], Page], server: str) -> Page:
    """The chat page, opened and ready."""
    page = watched(f"{server}/")
    expect(page.locator(".example")).to_have_count(4)
    return page


@pytest.fixture(scope="session")
def host_pages() -> Iterator[HostPages]:
    with HostPages() as pages:
        yield pages
