"""Whatever a file holds, reading it ends, and its blocks lie inside it in order."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askbook.book import Book
from askbook.ingestion.readers.docusaurus import DocusaurusReader, Site
from askbook.ingestion.readers.docusaurus_config import SiteConfig
from askbook.ingestion.readers.docusaurus_versions import Edition
from askbook.ingestion.readers.markdown import Dialect, read_blocks
from askbook.ingestion.readers.mdx import strip_mdx
from askbook.ingestion.readers.mkdocs_syntax import plain_syntax
from askbook.ingestion.readers.plain import PlainReader
from askbook.ingestion.readers.traced import Edit, TracedText

PIECES = (
    "import A from './a.mdx';\n|export const x = {\n|};\n|<Tabs>|</Tabs>|<TabItem label=\"Ä\">|</TabItem>|<A />|<|>|{|}|"
    '{\' \'}|{/* c */}|<!-- c -->|```py\n|```\n|~~~\n|`|``|$|$$|\\|:::tip[T]\n|:::\n|!!! note "N"\n|=== "T"\n|    |  |\n|\n\n|'
    "# H {#id}\n|## H\n|- item\n|1. one\n|> quote\n|| a | b |\n|--|--|\n|---\n|+++\n|title: x\n|[x][y]|[y]: z\n|![i](j)|<b>|</b>|"
    "text é 机|🤖|\t|\r\n|\ufeff|[^1]|[^1]: n\n|<pre>|</pre>|<script>|</script>|&lt;|<T>|{{#include x}}|[[id]]"
).split("|")
SOURCE = st.lists(st.sampled_from([*PIECES, "|"]), max_size=40).map("".join)
MANY = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@MANY
@given(source=SOURCE)
@pytest.mark.parametrize("kind", ["plain.md", "plain.mdx", "docusaurus.md"])
def test_any_text_is_read_and_every_block_has_its_place(
    kind: str, source: str, tmp_path: Path
) -> None:
    book = Book("b", "B")
    reader = (
        DocusaurusReader(book, tmp_path, Site(tmp_path, None, tmp_path, SiteConfig(), Edition()))
        if kind.startswith("docusaurus")
        else PlainReader(book, tmp_path, tmp_path)
    )
    data = source.encode()
    declared = reader.declare(kind, data)
    lesson = reader.read(declared, reader.places([declared])[kind], data)
    spans = [(block.start, block.end) for block in lesson.blocks]
    assert all(0 <= start <= end <= len(source) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)
    assert all(block.text.strip() for block in lesson.blocks)
    assert lesson.page_title


@MANY
@given(SOURCE)
def test_mkdocs_syntax_never_loses_a_line_of_text(source: str) -> None:
    result = plain_syntax(TracedText(source)).text
    for word in ("text", "item", "quote"):
        assert result.count(word) == source.count(word)


@MANY
@given(
    st.text("abc\n", max_size=30),
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 6), st.sampled_from(["", "xy"])), max_size=5
    ),
)
def test_the_origin_of_untouched_text_is_exact(
    text: str, wanted: list[tuple[int, int, str]]
) -> None:
    edits: list[Edit] = []
    position = 0
    for start, length, replacement in sorted(wanted):
        if start >= position and start + length <= len(text):
            edits.append(Edit(start, start + length, replacement))
            position = start + length
    traced = TracedText(text).edited(edits).edited([Edit(0, 0, "!")])
    for index, char in enumerate(traced.text):
        start, end = traced.origin(index, index + 1)
        assert 0 <= start <= end <= len(text)
        if char in "abc\n":
            assert text[start:end] == char


@MANY
@given(st.text("ab c\n.", max_size=200))
def test_plain_prose_passes_the_mdx_scanner_unchanged(text: str) -> None:
    assert strip_mdx(TracedText(text)).text == text
    joined = "".join(block.text for block in read_blocks(TracedText(text), Dialect()))
    assert "".join(joined.split()) == "".join(text.split())
