"""Splitting: properties that hold for any lesson, and the rules that have a number in them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from askbook.book import Block, Book, DocumentChunk, Heading, Lesson, Slot
from askbook.ingestion.breadcrumbs import breadcrumb
from askbook.ingestion.readers.markdown import Dialect, read_blocks
from askbook.ingestion.readers.traced import TracedText
from askbook.ingestion.splitting import split_lesson

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BOOK = Book("robots", "Robots")
_TOKEN = re.compile(r"\w{1,5}|[^\w\s]|\s")


def count_tokens(texts: Sequence[str]) -> list[int]:
    """A small stand-in for the built-in tokenizer: pieces of words, every mark and space counted."""
    return [len(_TOKEN.findall(text)) for text in texts]


def lesson_of(markdown: str, **changes: object) -> Lesson:
    blocks = read_blocks(TracedText(markdown), Dialect(h1_anchor=False))
    values: dict[str, object] = {
        "source_file": "a/b.md",
        "source_file_hash": "0" * 64,
        "slot": Slot("arms", 1, 2),
        "page_title": "Joints",
        "chapter_title": "Motion",
        "module_title": "Arms",
        "url": "/docs/joints",
        "hardware_tier": 1,
        "proficiency_level": "A2",
        "layer": "L1",
        "blocks": tuple(blocks),
    }
    return Lesson(**(values | changes))  # type: ignore[arg-type]


def split(lesson: Lesson, target: int = 400, maximum: int = 512) -> list[DocumentChunk]:
    return split_lesson(
        lesson,
        book=BOOK,
        count_tokens=count_tokens,
        created_at=NOW,
        updated_at=NOW,
        target=target,
        maximum=maximum,
    )


def squeezed(text: str) -> str:
    return "".join(text.split())


WORDS = st.sampled_from(
    "robot arm sensor é 机器 torque e=mc² joint-3 plan. act! loop, `x<y>` **b**".split()
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=4).map("\n".join)
HEADING = st.builds(
    lambda n, t: "#" * n + " " + t, st.integers(1, 4), SENTENCE.filter(lambda t: len(t) < 60)
)
CODE_LINE = st.sampled_from(
    ["def f(x):", "    return x", "", "# note", "import os", "| a |", "<T>"]
)
FENCE = st.builds(
    lambda mark, lines: f"{mark}py\n" + "\n".join(lines) + f"\n{mark}",
    st.sampled_from(["```", "~~~", "````"]),
    st.lists(CODE_LINE, min_size=1, max_size=90),
)
TABLE = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=40).map(
    lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {x} | {y} |" for x, y in rows)
)
LIST = st.lists(SENTENCE, min_size=1, max_size=12).map(
    lambda items: "\n".join(f"- {i}" for i in items)
)
NESTED = st.builds(
    lambda s, c: f"1. {s}\n\n   ```sh\n   {c}\n     more\n   ```\n\n   after {s}", SENTENCE, WORDS
)
LONG_LINE = st.integers(600, 9000).map(lambda n: "x" * n)
TINY = st.sampled_from(["ok", "a b", "—"])
MARKDOWN = st.lists(
    st.one_of(PARAGRAPH, HEADING, HEADING, FENCE, TABLE, LIST, NESTED, LONG_LINE, TINY),
    min_size=1,
    max_size=25,
).map("\n\n".join)
PROPERTY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PROPERTY
@given(MARKDOWN)
def test_chunks_cover_every_visible_character_exactly_once(markdown: str) -> None:
    lesson = lesson_of(markdown)
    chunks = split(lesson)
    if chunks:
        assert squeezed("".join(chunk.text for chunk in chunks)) == squeezed(
            "".join(block.text for block in lesson.blocks)
        )
    else:
        assert len(squeezed("".join(block.text for block in lesson.blocks))) < 10


@PROPERTY
@given(MARKDOWN)
def test_no_chunk_exceeds_the_maximum_and_none_is_under_ten_characters(markdown: str) -> None:
    for chunk in split(lesson_of(markdown)):
        assert count_tokens([chunk.embedded_text])[0] + 2 <= 512
        assert len(chunk.text.strip()) >= 10
        assert chunk.text == chunk.text.strip()


@PROPERTY
@given(MARKDOWN)
def test_ids_are_unique_and_stable_and_the_chain_is_symmetric(markdown: str) -> None:
    chunks = split(lesson_of(markdown))
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    assert ids == [chunk.id for chunk in split(lesson_of(markdown))]
    assert [chunk.metadata.prev_chunk_id for chunk in chunks] == [None, *ids][: len(ids)]
    assert [chunk.metadata.next_chunk_id for chunk in chunks] == [*ids[1:], None][: len(ids)]
    assert [chunk.metadata.chunk_index for chunk in chunks] == list(range(len(ids)))


@PROPERTY
@given(MARKDOWN)
def test_a_heading_never_ends_a_chunk_when_text_follows(markdown: str) -> None:
    for chunk in split(lesson_of(markdown))[:-1]:
        last = chunk.text.split("\n\n")[-1]
        in_fence = len(re.findall(r"^\s*(?:```|~~~)", chunk.text, re.M)) % 2
        assert in_fence or not re.fullmatch(r"#{1,6} [^\n]+", last)


@PROPERTY
@given(MARKDOWN)
def test_fences_and_tables_stay_whole_unless_too_big(markdown: str) -> None:
    lesson = lesson_of(markdown)
    texts = [squeezed(chunk.text) for chunk in split(lesson)]
    for block in lesson.blocks:
        if block.kind in ("code", "table") and count_tokens([block.text])[0] < 400:
            assert any(squeezed(block.text) in text for text in texts)


@PROPERTY
@given(MARKDOWN)
def test_spans_lie_in_order_inside_the_source(markdown: str) -> None:
    spans = [(c.metadata.char_start, c.metadata.char_end) for c in split(lesson_of(markdown))]
    assert all(0 <= start < end <= len(markdown) for start, end in spans)
    assert spans == sorted(spans)


def words(count: int) -> str:
    return " ".join(["robot"] * count)


def test_a_section_under_a_hundred_tokens_joins_its_neighbour() -> None:
    markdown = f"## Big\n\n{words(130)}\n\n## Small\n\n{words(10)}\n\n## Next\n\n{words(140)}"
    chunks = split(lesson_of(markdown))
    assert len(chunks) == 2
    assert all(count_tokens([chunk.text])[0] >= 100 for chunk in chunks)


def test_small_sibling_sections_are_merged_and_large_sections_stand_alone() -> None:
    small = "\n\n".join(f"## Part {n}\n\n{words(30)}" for n in range(4))
    large = f"## Whole\n\n{words(90)}\n\n{words(90)}"
    chunks = split(lesson_of(f"{small}\n\n{large}"))
    assert [chunk.metadata.section_title for chunk in chunks] == ["Part 0", "Whole"]


def test_a_section_larger_than_the_target_is_split_in_balanced_parts() -> None:
    markdown = "## Long\n\n" + "\n\n".join(words(25) for _ in range(11))
    sizes = [count_tokens([chunk.text])[0] for chunk in split(lesson_of(markdown))]
    assert len(sizes) == 2
    assert max(sizes) < 1.4 * min(sizes)


def test_a_line_of_100_kb_without_spaces_is_cut() -> None:
    chunks = split(lesson_of("x" * 100_000))
    assert len(chunks) > 10
    assert "".join(chunk.text for chunk in chunks) == "x" * 100_000


def test_a_fence_too_big_for_one_chunk_is_cut_at_line_ends() -> None:
    code = "\n".join(f"    value_{n} = compute({n})" for n in range(200))
    chunks = split(lesson_of(f"## Code\n\n```python\n{code}\n```"))
    lines = [line for chunk in chunks for line in chunk.text.split("\n") if "compute" in line]
    assert [line.strip() for line in lines] == [line.strip() for line in code.split("\n")]


def test_a_long_fence_is_cut_between_functions_and_keeps_its_indentation() -> None:
    function = "def compute_{0}(value):\n    if value:\n        return value * {0}\n    return 0\n"
    code = "\n".join(function.format(n) for n in range(40))
    chunks = split(lesson_of(f"```python\n{code}```"))
    assert len(chunks) > 2
    assert all(chunk.text.startswith("def ") for chunk in chunks[1:])
    assert code in "\n\n".join(chunk.text for chunk in chunks) + "\n"


def test_the_same_text_twice_gets_two_ids() -> None:
    paragraph = words(160)
    chunks = split(lesson_of(f"{paragraph}\n\n{paragraph}\n\n{paragraph}"))
    assert len({chunk.text for chunk in chunks}) == 1
    assert len({chunk.id for chunk in chunks}) == 3


def test_an_edit_leaves_the_other_chunks_alone() -> None:
    sections = [f"## Part {n}\n\n{words(120)} {n}.\n\n{words(60)}" for n in range(8)]
    before = {chunk.id for chunk in split(lesson_of("\n\n".join(sections)))}
    sections[4] = sections[4].replace("robot", "drone", 3)
    after = {chunk.id for chunk in split(lesson_of("\n\n".join(sections)))}
    assert len(after - before) == 1


def test_titles_and_addresses_come_from_the_heading_at_the_start() -> None:
    markdown = f"# Joints\n\n{words(110)}\n\n## Hinge *joints*\n\n{words(150)}\n\n### Limits\n\n{words(150)}"
    first, hinge, limits = split(lesson_of(markdown))
    assert (first.metadata.url, first.metadata.section_title) == ("/docs/joints", "Joints")
    assert hinge.metadata.url == "/docs/joints#hinge-joints"
    assert hinge.metadata.section_title == "Hinge joints"
    assert limits.metadata.breadcrumb == "Arms > Motion > Joints > Hinge joints > Limits"


@PROPERTY
@given(MARKDOWN)
def test_a_chunk_knows_the_headings_inside_it(markdown: str) -> None:
    lesson = lesson_of(markdown)
    titles = [block.heading.title for block in lesson.blocks if block.heading is not None]
    for chunk in split(lesson):
        starts = [section.start for section in chunk.sections]
        assert starts == sorted(set(starts))
        for section in chunk.sections:
            assert chunk.text[section.start :].startswith("#")
            assert chunk.text[: section.start].endswith("\n\n")
            assert section.title in titles


def test_a_place_in_a_chunk_belongs_to_the_heading_above_it() -> None:
    markdown = "# Joints\n\nFirst words.\n\n## Hinge *joints* {#hinge}\n\nThey turn.\n\n## Limits\n\nThey end."
    [chunk] = split(lesson_of(markdown))
    found = [chunk.section_at(chunk.text.index(w)) for w in ("First", "They turn", "They end")]
    assert [(s.title, s.anchor) for s in found] == [
        ("Joints", ""),
        ("Hinge joints", "hinge"),
        ("Limits", "limits"),
    ]


def test_text_before_the_first_heading_has_the_page_address() -> None:
    chunk, *_ = split(lesson_of(f"{words(200)}\n\n## Later\n\n{words(200)}"))
    assert (chunk.metadata.url, chunk.metadata.section_title) == ("/docs/joints", None)


def test_breadcrumbs_hold_no_numbers_no_repeats_and_stay_short() -> None:
    lesson = lesson_of(
        "x",
        module_title="Module 2: Arms",
        chapter_title="Chapter 3 — Motion",
        page_title="Motion",
    )
    path = (Heading(2, "1. Why this matters", "a"), Heading(3, "word " * 200, "b"))
    crumb = breadcrumb(lesson, path)
    assert crumb.startswith("Arms > Motion > Why this matters > word word")
    assert len(crumb) <= 220


def test_a_very_long_title_does_not_eat_the_budget() -> None:
    title = "endless " * 300
    lesson = lesson_of(f"## {title}\n\n{words(150)}", page_title=title, chapter_title=title)
    for chunk in split(lesson):
        assert count_tokens([chunk.metadata.breadcrumb])[0] < 150


def test_pages_span_the_blocks_of_a_chunk() -> None:
    blocks = tuple(Block("text", words(20), n * 10, n * 10 + 9, page=n + 1) for n in range(3))
    (chunk,) = split(lesson_of("x", blocks=blocks))
    assert (chunk.metadata.page_start, chunk.metadata.page_end) == (1, 3)
    assert (chunk.metadata.char_start, chunk.metadata.char_end) == (0, 29)


@pytest.mark.parametrize("markdown", ["", "   \n\n", "ok", "# Hi"])
def test_a_lesson_with_fewer_than_ten_visible_characters_has_no_chunks(markdown: str) -> None:
    assert split(lesson_of(markdown)) == []


def test_a_chunk_that_starts_inside_a_list_item_is_not_indented() -> None:
    code = "\n".join(f"    run {n}" for n in range(120))
    markdown = f"1. {words(60)}\n\n    ```sh\n{code}\n    ```\n\n    {words(40)}"
    for chunk in split(lesson_of(markdown))[1:]:
        assert not re.search(r"^    \S.*robot", chunk.text, re.M)
