"""Any sequence of edits ends in the clean build, and no text is embedded twice."""

import asyncio
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from shelf import BOOK, clean_build, open_shelf, write

from askbook.ingestion import preparing
from askbook.ingestion.planning import make_plan
from askbook.ingestion.preparing import prepare
from askbook.ingestion.readers import open_reader
from doubles import NullEmbedder

MEMORY = Path("/dev/shm")
# Most have no number: their slots follow their order, and move when one comes or goes.
NAMES = [
    "index.md",
    "01-one.md",
    "m/index.md",
    "m/a.md",
    "m/b.md",
    "m/c.mdx",
    "m/d.md",
    "m/e.md",
    "m/03-third.md",
    "n/chapter-1/a.md",
    "n/chapter-1/b.md",
    "n/chapter-2/01-deep.md",
]
name = st.sampled_from(NAMES)
section = st.sampled_from(["Aims", "Tools", "Plan"])
content = st.builds(
    lambda front, title, sections: (
        ("".join(("---\n", *(f"{k}: {v}\n" for k, v in front.items()), "---\n")) if front else "")
        + f"# {title}\n\n"
        + "\n".join(f"## {s}\n\n" + f"The {s.lower()} of this. " * 60 for s in sections)
    ),
    st.dictionaries(
        st.sampled_from(["sidebar_position", "lesson", "chapter"]), st.integers(0, 4), max_size=1
    ),
    st.sampled_from(["Robots", "Arms", "Legs", "Chapter 3: Wheels"]),
    st.lists(section, max_size=4),
)
edit = st.one_of(
    st.tuples(st.just("write"), name, content),
    st.tuples(st.just("write"), name, content),
    st.tuples(st.just("move"), name, name),
    st.tuples(st.just("swap"), name, name),
    st.tuples(st.just("copy"), name, name),
    st.tuples(st.just("delete"), name, st.none()),
    st.tuples(
        st.just("manifest"),
        st.sampled_from(['title = "Other"', 'base_url = "https://example.org"', ""]),
        st.none(),
    ),
)
rounds = st.lists(st.lists(edit, min_size=1, max_size=5), min_size=1, max_size=4)


@settings(max_examples=20)
@given(
    first=st.dictionaries(name, content, min_size=3, max_size=9),
    rounds=rounds,
    modes=st.lists(st.sampled_from(["incremental", "incremental", "full"]), min_size=4, max_size=4),
)
def test_any_sequence_of_edits_equals_a_clean_build(
    first: dict[str, str], rounds: list[list[tuple[str, str, str | None]]], modes: list[str]
) -> None:
    root = Path(tempfile.mkdtemp(prefix="askbook-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        with pytest.MonkeyPatch.context() as patch:
            # Small batches: what must be switched in order is not hidden by being switched at once.
            patch.setattr(preparing, "BATCH_CHUNKS", 2)
            asyncio.run(edit_and_compare(root, first, rounds, modes))
    finally:
        shutil.rmtree(root)


async def edit_and_compare(
    root: Path,
    first: dict[str, str],
    rounds: list[list[tuple[str, str, str | None]]],
    modes: list[str],
) -> None:
    folder = write(root / BOOK, {**first, "00-always.md": "# Always\n\nThis lesson stays.\n"})
    async with open_shelf(root / "data") as shelf:
        await shelf.ingest(folder)
        seen = texts_of(folder)
        assert sorted(shelf.embedder.texts) == sorted(seen)
        for number, edits in enumerate(rounds):
            for each in edits:
                apply(folder, *each)
            note(sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()))
            await shelf.ingest(folder, mode=modes[number])  # pyright: ignore[reportArgumentType] one of the modes
            # Exactly the texts never seen before went to the embedder, each once.
            seen |= texts_of(folder)
            assert sorted(shelf.embedder.texts) == sorted(seen)
        stored = await shelf.contents()
        assert stored == await clean_build(folder, root / "clean")
        assert stored.payloads == stored.indexed
        assert (await shelf.audit()).found.all() == []
        assert await shelf.library.dirty.of(BOOK) == []


def texts_of(folder: Path) -> set[str]:
    """What a clean build would embed."""
    reader = open_reader(folder, BOOK)
    plan = make_plan(reader, {}, mode="full", same_settings=False)
    now = datetime.now(UTC)
    batches = prepare(reader, plan.units, NullEmbedder().count_tokens, now)
    return {chunk.embedded_text for batch in batches for chunk in batch.chunks}


def apply(folder: Path, kind: str, one: str, other: str | None) -> None:
    """Make one edit; edits of files that are not there do nothing."""
    path = folder / one
    if kind == "manifest":
        write(folder, {"askbook.toml": f'id = "{BOOK}"\n{one}\n'})
    elif kind == "write":
        write(folder, {one: other or ""})
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif path.is_file() and other is not None and other != one:
        target = folder / other
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        if kind == "move":
            path.rename(target)
        elif kind == "copy":
            target.write_bytes(data)
        elif target.is_file():
            path.write_bytes(target.read_bytes())
            target.write_bytes(data)
