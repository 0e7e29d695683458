"""The widget with a real publishable key: it works on its own site, and nowhere else."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import IN_THE_BOOK, MARKS, ask
from playwright.sync_api import BrowserContext, Page, expect
from serving import HostPages, Product

from askbook.bootstrap import open_keys
from askbook.config import Settings, load_settings
from data_directories import copy_data

pytestmark = MARKS
PAGE = (
    "<!doctype html><title>Site</title><p>Text</p>"
    "<script src='{server}/widget.js' data-key='{key}' defer></script>"
)


@pytest.fixture(scope="module")
def published(
    ingested: Path, tmp_path_factory: pytest.TempPathFactory, host_pages: HostPages
) -> Iterator[str]:
    """A page with the widget, and a key made for its site."""
    data = copy_data(ingested, tmp_path_factory.mktemp("published") / "data")
    settings = load_settings(data_dir=data)
    key = asyncio.run(_key_for(settings, host_pages.url))
    with Product(settings) as product:
        yield host_pages.put("published", PAGE.format(server=product.url, key=key))


async def _key_for(settings: Settings, origin: str) -> str:
    async with open_keys(settings) as (keys, _):
        return (await keys.create("site", public=True, origins=[origin]))[1]


def test_answers_on_its_own_site_and_opens_the_lesson(
    published: str, watched: Callable[[str], Page]
) -> None:
    page = watched(published)
    page.get_by_role("button", name="Ask this book").click()
    ask(page, IN_THE_BOOK)
    expect(page.locator(".answer .badge")).to_have_text("High confidence")
    with page.context.expect_page() as opened:
        page.locator(".prose .chip").first.click()
    expect(opened.value.locator("mark").first).to_be_in_viewport()


def test_a_reload_goes_on_and_the_lesson_still_opens(
    published: str, watched: Callable[[str], Page]
) -> None:
    page = watched(published)
    page.get_by_role("button", name="Ask this book").click()
    ask(page, IN_THE_BOOK)
    page.reload()
    expect(page.locator(".answer .badge")).to_have_text("High confidence")
    with page.context.expect_page() as opened:
        page.locator(".prose .chip").first.click()
    expect(opened.value.locator("mark").first).to_be_in_viewport()


def test_on_another_site_it_says_that_it_cannot_ask(
    published: str, context: BrowserContext
) -> None:
    elsewhere = published.replace("localhost", "127.0.0.1")
    page = context.new_page()
    page.goto(elsewhere)
    page.get_by_role("button", name="Ask this book").click()
    ask(page, IN_THE_BOOK)
    expect(page.locator(".failure")).to_be_visible()
    expect(page.locator(".answer .badge")).to_have_count(0)
