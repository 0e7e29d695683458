"""Real books: nothing leaks, nothing is cut that fits, every warning is true."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from askbook.book import DocumentChunk, Lesson
from askbook.ingestion.readers import open_reader
from askbook.ingestion.splitting import split_lesson

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "dev"
SAMPLE = ROOT / "examples" / "physical-ai-book"
NAMES = ("chunk_spans", "hf_deep_rl_mdx", "robotics_course", "robotics_docusaurus", "rust_book")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

_INLINE_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
_LEAK = re.compile(
    r"^\s*(?:import\s.*from\s|import\s+['\"]|export\s+(?:default|const|function)\b|:::|!!!\s|\?\?\?\s)"
    r"|\{/\*|<!--|\{\{#|\{#[\w-]+\}|\[\[[\w-]+\]\]\s*$"
    r"|</?(?:Tabs|TabItem|Tip|Question|CourseFloatingBanner|Youtube|iframe|img|figure|div|span|a)\b[^<>]*>",
    re.M,
)


def books() -> list[Path]:
    present = [DATA / name for name in NAMES if (DATA / name / "docs").is_dir()]
    return [*present, *([SAMPLE] if (SAMPLE / "docs").is_dir() else [])]


def count_tokens(texts: Sequence[str]) -> list[int]:
    return [len(re.findall(r"\w{1,4}|[^\w\s]|\s+", text)) for text in texts]


@cache
def load(
    folder: Path,
) -> tuple[dict[str, Lesson], dict[str, list[DocumentChunk]], dict[str, str], tuple[str, ...]]:
    reader = open_reader(folder)
    found = reader.discover()
    data = {name: reader.load(name) for name in found.files}
    declared = [reader.declare(name, data[name]) for name in found.files]
    places = reader.places(declared)
    lessons = {
        d.source_file: reader.read(d, places[d.source_file], data[d.source_file]) for d in declared
    }
    chunks = {
        name: split_lesson(
            lesson, book=reader.book, count_tokens=count_tokens, created_at=NOW, updated_at=NOW
        )
        for name, lesson in lessons.items()
    }
    return lessons, chunks, {name: raw.decode() for name, raw in data.items()}, found.warnings


pytestmark = pytest.mark.skipif(not books(), reason="no real books beside this checkout")
every_book = pytest.mark.parametrize("folder", books(), ids=lambda path: path.name)


@every_book
def test_every_page_is_read_and_split(folder: Path) -> None:
    lessons, chunks, _, warnings = load(folder)
    assert warnings == ()
    assert lessons
    assert all(chunks[name] for name in lessons)
    slots = [lesson.slot for lesson in lessons.values()]
    assert len(set(slots)) == len(slots)
    ids = [chunk.id for each in chunks.values() for chunk in each]
    assert len(set(ids)) == len(ids)


@every_book
def test_nothing_that_the_site_hides_leaks_into_text(folder: Path) -> None:
    lessons, _, _, _ = load(folder)
    for name, lesson in lessons.items():
        for block in lesson.blocks:
            if block.kind != "code":
                leak = _LEAK.search(_INLINE_CODE.sub("", block.text))
                assert leak is None, f"{name}: {block.text[:300]}"
        first = lesson.blocks[0].text
        assert not re.match(r"---|\+\+\+|\w+: ", first), f"{name}: {first[:200]}"


@every_book
def test_code_blocks_keep_every_line_and_its_indentation(folder: Path) -> None:
    lessons, _, sources, _ = load(folder)
    for name, lesson in lessons.items():
        code = [block.text for block in lesson.blocks if block.kind == "code"]
        for body in top_level_fences(sources[name]):
            if "{{#" in body or "\n# " in f"\n{body}" or not body.strip() or "highlight-" in body:
                continue  # includes and hidden lines change a block on purpose
            assert any(body in text for text in code), f"{name}: {body[:200]}"


@every_book
def test_fences_and_tables_are_cut_only_when_too_big(folder: Path) -> None:
    lessons, chunks, _, _ = load(folder)
    for name, lesson in lessons.items():
        texts = ["".join(chunk.text.split()) for chunk in chunks[name]]
        for block in lesson.blocks:
            if block.kind in ("code", "table") and count_tokens([block.text])[0] < 400:
                assert any("".join(block.text.split()) in text for text in texts), (
                    f"{name}: {block.text[:200]}"
                )


@every_book
def test_chunks_cover_the_lessons_and_respect_the_maximum(folder: Path) -> None:
    lessons, chunks, sources, _ = load(folder)
    for name, lesson in lessons.items():
        covered = "".join("".join(chunk.text for chunk in chunks[name]).split())
        assert covered == "".join("".join(block.text for block in lesson.blocks).split())
        for chunk in chunks[name]:
            assert count_tokens([chunk.embedded_text])[0] + 2 <= 512
            assert 0 <= chunk.metadata.char_start < chunk.metadata.char_end <= len(sources[name])


@every_book
def test_every_warning_is_true(folder: Path) -> None:
    lessons, _, sources, _ = load(folder)
    for name, lesson in lessons.items():
        for warning in lesson.warnings:
            assert warning.startswith(name), warning
            missing = re.search(r"of (\S+) was left out: there is no such file", warning)
            number = re.search(r"frontmatter `lesson: ([\d.]+)` is not a whole number", warning)
            if missing is not None:
                path = missing[1].split(":")[0]
                docs = open_reader(folder).docs_root
                assert path in sources[name]
                assert not ((docs / name).parent / path).exists()
            else:
                assert number is not None, warning
                assert float(number[1]) != int(float(number[1]))


def top_level_fences(source: str) -> list[str]:
    """The bodies of fenced blocks that start at the margin."""
    bodies: list[str] = []
    lines = re.sub(r"^<!-- ```.*?-->", "", source, flags=re.S | re.M).split("\n")
    index = 0
    while index < len(lines):
        opening = re.match(r"(`{3,}|~{3,})[^`]*$", lines[index])
        if opening is None:
            index += 1
            continue
        end = index + 1
        while end < len(lines) and not re.match(rf" {{0,3}}{opening[1]}+\s*$", lines[end]):
            end += 1
        bodies.append("\n".join(lines[index + 1 : end]))
        index = end + 1
    return bodies
