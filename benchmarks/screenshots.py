"""Take the pictures in `docs/screenshots`: the real pages, with the sample book, in Chromium.

    python benchmarks/screenshots.py [--out FOLDER]

Needs Chromium; ingests the sample book into a folder of its own.
"""

import argparse
import base64
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
BOOK = ROOT / "examples" / "physical-ai-book"
QUESTION = "What does colcon build --symlink-install change?"
DECLINED = "Which wine goes well with grilled salmon?"
SITE = """<!doctype html><title>Nodes and Topics</title>
<body style="font: 18px/1.7 Georgia, serif; max-width: 38rem; margin: 3rem 4rem; color: #222">
<h1>Nodes and Topics</h1><p>A robot program is split into <b>nodes</b>: processes that each do one job.</p>
<p id="marked">A topic is a named channel, for example /scan. A node that publishes puts messages on it, a node
that subscribes receives them.</p><p>Publishers and subscribers do not know each other.</p>
<script src="/widget.js" defer></script>"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the pictures of the pages.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screenshots")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--headless", "--disable-gpu"],
        )
        for name, show, width, height, is_dark in PICTURES:
            picture = out / f"{name}.png"
            picture.write_bytes(
                smaller(browser, taken(browser, address, show, width, height, is_dark))
            )
            print(f"{picture.name}: {picture.stat().st_size / 1000:.0f} kB")
        browser.close()


@contextmanager
def serving() -> Generator[str]:
    """The address of a server with the sample book in it."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        askbook = [sys.executable, "-m", "askbook"]
        data = ["--data-dir", f"{folder}/data"]
        subprocess.run(
            [*askbook, "ingest", str(BOOK), *data, "--json"], check=True, stdout=subprocess.DEVNULL
        )
        server = subprocess.Popen(
            [*askbook, "serve", "--port", str(port), *data],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(f"{address}/health")
            yield address
        finally:
            server.terminate()
            server.wait(timeout=20)


def wait_for(address: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{address} did not answer")


def taken(
    browser: Browser, address: str, show: "Show", width: int, height: int, is_dark: bool
) -> bytes:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if is_dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    expect.set_options(timeout=30_000)
    show(page, address)
    page.evaluate("document.fonts.ready")
    picture = page.screenshot()
    # The next picture begins without this one's conversation in its list.
    for session in page.request.get(f"{address}/sessions").json():
        page.request.delete(f"{address}/session/{session['session_id']}")
    context.close()
    return picture


def smaller(browser: Browser, picture: bytes) -> bytes:
    """The same picture with its 256 most frequent colours, which is a third of its size."""
    page = browser.new_page()
    width, height, encoded = page.evaluate(PIXELS, base64.b64encode(picture).decode())
    page.close()
    pixels = np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(-1, 4)[:, :3]
    colours, places, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    palette = colours[np.argsort(-counts)[:256]].astype(int)
    nearest = [int(((palette - colour) ** 2).sum(axis=1).argmin()) for colour in colours]
    rows = np.array(nearest, np.uint8)[places.reshape(-1)].reshape(height, width)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        (b"IHDR", header),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(name, data) for name, data in parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


PIXELS = """async (encoded) => {
  const image = new Image();
  image.src = "data:image/png;base64," + encoded;
  await image.decode();
  const drawing = new OffscreenCanvas(image.width, image.height).getContext("2d");
  drawing.drawImage(image, 0, 0);
  const { data } = drawing.getImageData(0, 0, image.width, image.height);
  const reader = new FileReader();
  const url = await new Promise((done) => {
    reader.onload = () => done(reader.result);
    reader.readAsDataURL(new Blob([data]));
  });
  return [image.width, image.height, url.slice(url.indexOf(",") + 1)];
}"""


def ask(page: Page, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    expect(page.locator(".turn").last.locator(".actions")).to_have_count(1)


def welcome(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".example")).to_have_count(4)


def answered(page: Page, address: str) -> None:
    welcome(page, address)
    ask(page, QUESTION)
    expect(page.locator("#past li")).to_have_count(1)


def sources(page: Page, address: str) -> None:
    answered(page, address)
    page.locator(".chip").first.click()
    expect(page.locator("#source-text mark").first).to_be_in_viewport()


def declined(page: Page, address: str) -> None:
    welcome(page, address)
    ask(page, DECLINED)
    expect(page.locator("#past li")).to_have_count(1)


def widget(page: Page, address: str) -> None:
    site = f"{address}/a-page-of-your-site"
    page.route(site, lambda route: route.fulfill(content_type="text/html", body=SITE))
    page.goto(site)
    page.locator("#marked").click(click_count=3)
    page.get_by_role("button", name="Ask about this").click()
    page.get_by_label("Your question").press("Enter")
    expect(page.locator(".actions")).to_have_count(1)


Show = Callable[[Page, str], None]
PICTURES: tuple[tuple[str, Show, int, int, bool], ...] = (
    ("welcome", welcome, 1280, 800, False),
    ("light", answered, 1280, 800, False),
    ("dark", sources, 1280, 800, True),
    ("sources", sources, 1280, 800, False),
    ("declined", declined, 1280, 800, False),
    ("phone", answered, 390, 844, False),
    ("phone-sources", sources, 390, 844, True),
    ("widget", widget, 1280, 800, False),
)


if __name__ == "__main__":
    main()
