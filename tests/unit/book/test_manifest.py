"""A folder is a book; its manifest may say more of it."""

from pathlib import Path

import pytest

from askbook.book import load_book
from askbook.book.manifest import DISCLAIMER, REFUSAL, slugify
from askbook.errors import ConfigurationError

FULL = """
id = "physical-ai-robotics"
title = "Physical AI & Robotics"
base_url = "https://example.org/book/"
docs = "content/docs"
max_chapter = 20
max_lesson = 15
reader_tier = 4
refusal = "That is not in this book."
disclaimer = "Please check."

[defaults]
hardware_tier = 2
proficiency_level = "B1"
layer = "L3"

[[modules]]
name = "intro"

[[modules]]
name = "simulation"
title = "Simulation"
aliases = ["gazebo"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "My Böok 2").mkdir()
    return tmp_path / "My Böok 2"


def test_without_a_manifest_the_folder_names_the_book(folder: Path) -> None:
    book = load_book(folder)
    assert (book.book_id, book.title) == ("my-book-2", "My Böok 2")
    assert (book.hardware_tier, book.proficiency_level, book.layer) == (1, "A2", "L1")
    assert (book.reader_tier, book.max_chapter, book.max_lesson, book.modules) == (
        *(None,) * 3,
        (),
    )
    assert book.refusal == REFUSAL == "I couldn't find that information in the book."
    assert book.disclaimer == DISCLAIMER


def test_a_full_manifest_is_read(folder: Path) -> None:
    (folder / "askbook.toml").write_text(FULL)
    book = load_book(folder)
    assert (book.book_id, book.title) == ("physical-ai-robotics", "Physical AI & Robotics")
    assert book.base_url == "https://example.org/book"
    assert book.docs == "content/docs"
    assert (book.max_chapter, book.max_lesson, book.reader_tier) == (20, 15, 4)
    assert (book.hardware_tier, book.proficiency_level, book.layer) == (2, "B1", "L3")
    assert (book.refusal, book.disclaimer) == ("That is not in this book.", "Please check.")
    assert [(m.name, m.title) for m in book.modules] == [
        ("intro", "Intro"),
        ("simulation", "Simulation"),
    ]


def test_a_given_id_wins(folder: Path) -> None:
    (folder / "askbook.toml").write_text(FULL)
    assert load_book(folder, "mine").book_id == "mine"


@pytest.mark.parametrize("name", ["simulation", "Simulation", "gazebo", "GAZEBO"])
def test_a_module_is_known_by_name_and_alias(folder: Path, name: str) -> None:
    (folder / "askbook.toml").write_text(FULL)
    module = load_book(folder).module_named(name)
    assert module is not None
    assert module.name == "simulation"


def test_an_unlisted_module_is_not_known(folder: Path) -> None:
    (folder / "askbook.toml").write_text(FULL)
    assert load_book(folder).module_named("cooking") is None


@pytest.mark.parametrize(
    ("line", "name", "value", "allowed"),
    [
        ('id = "a b"', "id", "'a b'", "pattern"),
        ('id = ""', "id", "''", "pattern"),
        ('base_url = "ftp://x"', "base_url", "'ftp://x'", "http"),
        ('docs = "/etc"', "docs", "'/etc'", "sub-folder"),
        ('docs = "../other"', "docs", "'../other'", "sub-folder"),
        ("max_chapter = -1", "max_chapter", "-1", "greater than or equal to 0"),
        ('max_lesson = "many"', "max_lesson", "'many'", "integer"),
        ("reader_tier = 5", "reader_tier", "5", "1, 2, 3 or 4"),
        ('refusal = ""', "refusal", "''", "at least 1 character"),
        ('disclaimer = ""', "disclaimer", "''", "at least 1 character"),
        ("[defaults]\nhardware_tier = 9", "defaults.hardware_tier", "9", "1, 2, 3 or 4"),
        ('[defaults]\nproficiency_level = "Z9"', "defaults.proficiency_level", "'Z9'", "'A1'"),
        ('[defaults]\nlayer = "L0"', "defaults.layer", "'L0'", "'L1'"),
        ('[[modules]]\nname = ""', "modules.0.name", "''", "at least 1 character"),
        ('[[modules]]\ntitle = "No name"', "modules.0.name", "", "required"),
        ("colour = 3", "colour", "3", "not permitted"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    folder: Path, line: str, name: str, value: str, allowed: str
) -> None:
    (folder / "askbook.toml").write_text(line)
    with pytest.raises(ConfigurationError) as caught:
        load_book(folder)
    assert f"{name} = {value}" in caught.value.message
    assert allowed in caught.value.message
    assert str(folder / "askbook.toml") in caught.value.message
    assert caught.value.suggestion


def test_every_mistake_is_told_at_once(folder: Path) -> None:
    (folder / "askbook.toml").write_text('reader_tier = 9\nmax_chapter = -2\nid = "?"')
    with pytest.raises(ConfigurationError, match="3 mistake") as caught:
        load_book(folder)
    for name in ("reader_tier", "max_chapter", "id"):
        assert f"{name} = " in caught.value.message


@pytest.mark.parametrize("content", [b"id = ", b"\xff\xfe\x00", b'id = "a"\nid = "b"'])
def test_an_unreadable_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "askbook.toml").write_bytes(content)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_book(folder)


def test_a_name_without_letters_needs_an_id(tmp_path: Path) -> None:
    folder = tmp_path / "日本語"
    folder.mkdir()
    with pytest.raises(ConfigurationError, match="--book"):
        load_book(folder)
    assert load_book(folder, "japanese").book_id == "japanese"


@pytest.mark.parametrize(
    ("name", "slug"),
    [("My Book", "my-book"), ("a__b--c", "a-b-c"), ("Ünïcode!", "unicode"), ("---", "")],
)
def test_slugs_are_plain(name: str, slug: str) -> None:
    assert slugify(name) == slug
