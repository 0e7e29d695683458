"""Build a Docusaurus book for real and check that every chunk's address and anchor exists in it.

    python benchmarks/check_routes.py [BOOK] [--generate] [--override NAME=VERSION] [--modules FOLDER]

BOOK is the folder with `docusaurus.config.*` (default: the sample book). `--generate` copies only
its docs and writes a minimal configuration. `--override` pins a package that npm cannot resolve;
`--modules` uses an existing `node_modules` instead of installing. Needs Node and npm.
Exit code 1 when an address or an anchor is missing.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from askbook.ingestion.readers import Reader, open_reader
from askbook.ingestion.splitting import split_lesson

SAMPLE = Path(__file__).parents[1] / "examples" / "physical-ai-book"
PACKAGES = {
    "@docusaurus/core": "^3.7.0",
    "@docusaurus/preset-classic": "^3.7.0",
    "@mdx-js/react": "^3.1.0",
    "react": "^19.0.0",
    "react-dom": "^19.0.0",
}
CONFIG = """module.exports = {
  title: 'Book', url: 'https://example.org', baseUrl: '/', onBrokenLinks: 'ignore',
  presets: [['classic', {docs: {path: 'docs'}, blog: false, pages: false}]],
};
"""


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as place:
        site = Path(place) / "site"
        copy_book(arguments.book, site, generate=arguments.generate)
        install(site, arguments.modules, dict(pin.split("=", 1) for pin in arguments.override))
        run(["npx", "--no-install", "docusaurus", "build"], site)
        checked, missing = 0, list[str]()
        for folder in _editions(site):
            count, absent = _check(open_reader(folder), site / "build")
            checked += count
            missing += absent
    print(f"{checked} addresses checked, {len(missing)} missing")
    for line in missing:
        print("  " + line)
    return 1 if missing or not checked else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Check chunk addresses against the built site.")
    parser.add_argument("book", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("--override", action="append", default=[], metavar="NAME=VERSION")
    parser.add_argument("--modules", type=Path)
    return parser.parse_args()


def _editions(site: Path) -> list[Path]:
    """The site's own docs, its released versions and its translations."""
    translations = site.glob("i18n/*/docusaurus-plugin-content-docs/*")
    released = site.glob("versioned_docs/version-*")
    return [site, *(p for p in sorted([*released, *translations]) if p.is_dir())]


def copy_book(book: Path, site: Path, *, generate: bool) -> None:
    ignored = shutil.ignore_patterns("node_modules", "build", ".docusaurus", "formats")
    if generate:
        shutil.copytree(book / "docs", site / "docs", ignore=ignored)
        (site / "docusaurus.config.js").write_text(CONFIG, encoding="utf-8")
    else:
        shutil.copytree(book, site, ignore=ignored)
    for path in (site, *site.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def install(site: Path, modules: Path | None, pins: dict[str, str]) -> None:
    if modules is not None:
        (site / "node_modules").symlink_to(modules.resolve())
        return
    manifest = site / "package.json"
    package: dict[str, object] = {"name": "book", "version": "1.0.0", "private": True}
    package["dependencies"] = PACKAGES
    if manifest.is_file():
        package = json.loads(manifest.read_text(encoding="utf-8"))
    if pins:
        package["overrides"] = pins
    manifest.write_text(json.dumps(package), encoding="utf-8")
    run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], site)


def run(command: Sequence[str], folder: Path) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")


def _check(reader: Reader, build: Path) -> tuple[int, list[str]]:
    """Every chunk's address, and every heading's, against the ids of the page it names."""
    pages: dict[str, set[str] | None] = {}
    checked, missing = 0, list[str]()
    for url, source in _addresses(reader):
        path, _, anchor = url.partition("#")
        if path not in pages:
            pages[path] = _page_ids(build, path)
        checked += 1
        ids = pages[path]
        if ids is None:
            missing.append(f"{source}: no page {path}")
        elif anchor and anchor not in ids:
            missing.append(f"{source}: no anchor {url}")
    return checked, missing


def _addresses(reader: Reader) -> list[tuple[str, str]]:
    names = reader.discover().files
    data = {name: (reader.docs_root / name).read_bytes() for name in names}
    declared = [reader.declare(name, data[name]) for name in names]
    places = reader.places(declared)
    now = datetime.now(UTC)
    found: dict[tuple[str, str], None] = {}
    for each in declared:
        lesson = reader.read(each, places[each.source_file], data[each.source_file])
        for block in lesson.blocks:
            if block.heading is not None and block.heading.anchor:
                found[f"{lesson.url}#{block.heading.anchor}", each.source_file] = None
        for chunk in split_lesson(
            lesson, book=reader.book, count_tokens=_count, created_at=now, updated_at=now
        ):
            found[chunk.metadata.url, each.source_file] = None
    return list(found)


def _count(texts: Sequence[str]) -> list[int]:
    # Where exactly chunks end does not matter here.
    return [len(re.findall(r"\w{1,5}|[^\w\s]|\s", text)) for text in texts]


def _page_ids(build: Path, path: str) -> set[str] | None:
    relative = unquote(path).strip("/")
    for name in (
        f"{relative}/index.html",
        f"{relative}.html",
        "index.html" if not relative else "",
    ):
        file = build / name.lstrip("/")
        if name and file.is_file():
            parser = _Ids()
            parser.feed(file.read_text(encoding="utf-8"))
            return parser.ids
    return None


class _Ids(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's signature
        self.ids.update(value for name, value in attrs if name == "id" and value)


if __name__ == "__main__":
    sys.exit(main())
