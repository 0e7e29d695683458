"""MkDocs: nav, addresses, admonitions, tabs and anchors."""

import pytest
from small_books import Write, anchors_of, read_all, read_folder, text_of

from askbook.ingestion.readers import open_reader

NAV = """site_name: X
docs_dir: pages
markdown_extensions:
  - pymdownx.emoji:
      emoji_index: !!python/name:material.extensions.emoji.twemoji
  - x: !ENV [A, b]
nav:
  - Home: index.md
  - Guide:
      - guide/first.md
      - Second one: guide/second.md
      - Deep:
          - guide/deep/z.md
  - Elsewhere: https://x.org
  - Gone: gone.md
"""


def site(write: Write, config: str = NAV) -> dict[str, str | bytes]:
    return {
        "mkdocs.yml": config,
        "pages/index.md": "# Welcome\n\nHello there all.\n",
        "pages/guide/first.md": "# First page\n\nSome text here.\n",
        "pages/guide/second.md": "# Other title\n\nSome text here.\n",
        "pages/guide/deep/z.md": "Some text here.\n",
        "pages/extra.md": "Some text here.\n",
    }


def test_nav_gives_order_titles_and_places(write: Write) -> None:
    reader = open_reader(write(site(write)))
    found = reader.discover()
    assert found.files == (
        "index.md",
        "guide/first.md",
        "guide/second.md",
        "guide/deep/z.md",
        "extra.md",
    )
    assert any("gone.md" in warning for warning in found.warnings)
    lessons = read_all(reader)
    assert [lesson.page_title for lesson in lessons.values()] == [
        "Home",
        "First page",
        "Second one",
        "Z",
        "Extra",
    ]
    slot = lessons["guide/deep/z.md"].slot
    assert (slot.module, slot.chapter, slot.lesson) == ("guide", 1, 1)
    assert lessons["guide/deep/z.md"].chapter_title == "Deep"


@pytest.mark.parametrize(
    ("option", "urls"),
    [
        ("", ["/", "/guide/first/"]),
        ("use_directory_urls: false\n", ["/index.html", "/guide/first.html"]),
        ("site_url: https://x.org/book/\n", ["/book/", "/book/guide/first/"]),
    ],
)
def test_addresses(write: Write, option: str, urls: list[str]) -> None:
    lessons = read_folder(write(site(write, NAV + option)))
    assert [lessons[name].url for name in ("index.md", "guide/first.md")] == urls


def page(write: Write, text: str) -> str:
    return text_of(read_folder(write({"mkdocs.yml": "site_name: X\n", "docs/p.md": text}))["p.md"])


def test_admonitions_and_tabs_become_readable(write: Write) -> None:
    text = page(
        write,
        '!!! note "Mind this"\n    Body one.\n\n    ```python\n    def f():\n        return 1\n    ```\n\n    !!! tip\n        Nested tip.\n\nAfter.\n\n'
        '??? warning\n    Folded.\n\n=== "Linux"\n\n    Use apt.\n\n=== "macOS"\n\n    Use brew.\n\n'
        '!!! info ""\n    No title.\n\n```text\n!!! note "not one"\n```\n',
    )
    assert "**Note:** Mind this" in text
    assert "```python\ndef f():\n    return 1\n```" in text
    assert "**Tip:**\n\nNested tip." in text
    assert "**Warning:**" in text
    assert "**Linux**" in text
    assert "Use apt." in text
    assert "**macOS**" in text
    assert "No title." in text
    assert '```text\n!!! note "not one"\n```' in text
    assert text.count("!!!") == 1


def test_anchors_follow_python_markdown(write: Write) -> None:
    folder = write(
        {
            "mkdocs.yml": "site_name: X\n",
            "docs/p.md": "# A `b` -- c\n\n## Größe\n\n## Same\n\n## Same\n\n## Same\n\n## Own { #mine }\n\n## 日本\n",
        }
    )
    assert anchors_of(read_folder(folder)["p.md"]) == [
        "a-b-c",
        "groe",
        "same",
        "same_1",
        "same_2",
        "mine",
        "_1",
    ]


def test_a_broken_configuration_is_reported_and_the_pages_are_read(write: Write) -> None:
    folder = write({"mkdocs.yml": "nav: [\n", "docs/p.md": "Some text here.\n"})
    found = open_reader(folder).discover()
    assert found.files == ("p.md",)
    assert any("mkdocs.yml" in warning for warning in found.warnings)
