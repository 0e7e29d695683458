"""Build the sample book with Docusaurus for real, put the widget on it, and use it in Chromium.

    python benchmarks/check_widget.py [--modules FOLDER] [--picture FILE]

`--modules` uses an existing `node_modules` instead of installing. Needs Node, npm and Chromium. The site and
askbook are served from one address, askbook below `/askbook`. Fails when something does not work as told.
"""

import argparse
import asyncio
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Page, expect, sync_playwright
from starlette.applications import Starlette
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route

from askbook.api.app import create_app
from askbook.bootstrap import Askbook
from askbook.config import Settings, load_settings
from check_routes import SAMPLE, copy_book, install, run

QUESTION = "What does colcon build --symlink-install change?"


def main() -> None:
    parser = argparse.ArgumentParser(description="Use the widget on the built sample book.")
    parser.add_argument("--modules", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        listening = socket.create_server(("127.0.0.1", 0))
        address = f"http://localhost:{listening.getsockname()[1]}"
        site = Path(folder) / "site"
        copy_book(SAMPLE, site, generate=False)
        _set_up(site, address)
        install(site, arguments.modules, {})
        run(["npx", "--no-install", "docusaurus", "build"], site)
        settings = load_settings(data_dir=Path(folder) / "data")
        asyncio.run(_ingest(site, settings))
        server = uvicorn.Server(uvicorn.Config(_both(site / "build", settings), log_config=None))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.05)
            _use(address, arguments.picture)
        finally:
            server.should_exit = True
            thread.join()
    print("The widget works on the built book.")


def _set_up(site: Path, address: str) -> None:
    """What an author does: name the script in the site, and the site's address in the manifest."""
    config = site / "docusaurus.config.js"
    tag = f"{{src: '{address}/askbook/widget.js', defer: true, 'data-title': 'Ask the book'}}"
    text = config.read_text(encoding="utf-8")
    text = text.replace("url: 'https://example.org',", f"url: '{address}',\n  scripts: [{tag}],")
    config.write_text(text, encoding="utf-8")
    manifest = site / "askbook.toml"
    lines = manifest.read_text(encoding="utf-8").replace(
        'docs = "docs"', f'docs = "docs"\nbase_url = "{address}"'
    )
    manifest.write_text(lines, encoding="utf-8")


async def _ingest(folder: Path, settings: Settings) -> None:
    async with Askbook(settings) as askbook:
        async for _ in askbook.ingest(folder):
            pass


def _both(build: Path, settings: Settings) -> Starlette:
    askbook = create_app(settings)

    async def page(request: Any) -> Response:
        name = request.path_params["name"] or "index"
        for file in (build / name, build / f"{name}.html"):
            if file.is_file():
                return FileResponse(file)
        return Response(status_code=404)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with askbook.router.lifespan_context(askbook):
            yield

    routes = [Mount("/askbook", askbook), Route("/{name:path}", page)]
    return Starlette(routes=routes, lifespan=lifespan)


def _use(address: str, picture: Path | None) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--headless", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        expect.set_options(timeout=30_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        _ask_and_follow(page, address)
        if picture is not None:
            page.screenshot(path=picture)
        _mark_and_move_on(page)
        browser.close()
    assert errors == [], errors


def _ask_and_follow(page: Page, address: str) -> None:
    """A citation opens its heading in the same page, and the conversation is still there."""
    page.goto(address)
    page.get_by_role("button", name="Ask the book").click()
    page.get_by_label("Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".actions")).to_have_count(1)
    page.locator(".chip").first.click()
    page.wait_for_url("**/ros2/workspaces-packages-launch#colcon-build")
    expect(page.locator("#colcon-build")).to_be_in_viewport()
    expect(page.locator(".chip").first).to_be_visible()
    assert len(page.context.pages) == 1


def _mark_and_move_on(page: Page) -> None:
    """A marked paragraph is asked about; moving within the site keeps the panel and what was said."""
    page.locator("article p").nth(3).click(click_count=3)
    page.get_by_role("button", name="Ask about this").click()
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".turn").last.locator(".chip").first).to_be_visible()
    page.get_by_role("link", name="Nodes and topics").first.click()
    page.wait_for_url("**/ros2/nodes-and-topics")
    expect(page.locator(".turn")).to_have_count(2)


if __name__ == "__main__":
    main()
