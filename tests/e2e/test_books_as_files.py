"""A handbook as PDF and an e-book, as their authors would try them: one command, then questions."""

import json
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from command_line import askbook, serving

from ebooks import document, epub, lines, nav, pdf

HANDBOOK = pdf(
    [
        lines("Gripper Handbook", "", "This handbook tells how to care for the gripper."),
        lines(
            "Lubrication",
            "",
            "The linear guide of the gripper is lubricated with lithium grease every 400",
            "operating hours, and after every washdown.",
        ),
    ],
    outline=(("Gripper Handbook", 1), ("Lubrication", 2)),
)
NOVEL = epub(
    {
        "ch1.xhtml": document(
            '<h1>Storms</h1><h2 id="signs">Signs</h2>'
            "<p>A falling barometer and mackerel clouds announce a storm at sea within a day.</p>"
        )
    },
    contents=nav('<li><a href="ch1.xhtml">Storms</a></li>'),
    title="The Sailor's Almanac",
)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "handbook.pdf").write_bytes(HANDBOOK)
    (folder / "almanac.epub").write_bytes(NOVEL)
    for name in ("handbook.pdf", "almanac.epub"):
        ended = askbook("ingest", folder / name, "--json", data_dir=folder / "data")
        assert ended.code == 0, ended.err
        assert ended.json["files_processed"] == 1
    return folder / "data"


def test_a_citation_names_page_and_section_of_a_pdf(data_dir: Path) -> None:
    question = "How often is the linear guide of the gripper lubricated?"
    ended = askbook("ask", question, "--book", "handbook", "--json", data_dir=data_dir)
    assert ended.code == 0
    [citation, *_] = ended.json["citations"]
    assert (citation["page"], citation["section_title"]) == (2, "Lubrication")
    assert citation["url"].endswith("#page=2")
    assert "every 400 operating hours" in ended.json["answer"]


def test_the_reading_page_opens_the_place_in_an_e_book(data_dir: Path) -> None:
    question = "What announces a storm at sea?"
    ended = askbook("ask", question, "--book", "almanac", "--json", data_dir=data_dir)
    url = ended.json["citations"][0]["url"]
    assert url.startswith("/read/almanac/almanac.epub/OEBPS/ch1.xhtml?chunk=")
    assert urllib.parse.urlsplit(url).fragment == "signs"
    with serving(data_dir) as address, urllib.request.urlopen(address + url) as answer:
        shown = answer.read().decode()
    assert '<h2 id="signs">Signs</h2>' in shown
    assert "<mark id=" in shown
    assert "The Sailor&#x27;s Almanac" in shown


def test_a_dry_run_of_a_file_changes_nothing(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "handbook.pdf"
    path.write_bytes(HANDBOOK)
    ended = askbook("ingest", path, "--dry-run", "--json", data_dir=tmp_path / "data")
    assert ended.code == 0
    assert json.loads(ended.out)["new"] == ["handbook.pdf"]
    assert askbook("books", "--json", data_dir=tmp_path / "data").json == {"books": []}
