"""Gaps as an author meets them: readers ask, a table tells what the book lacks, and nothing of the readers."""

import json
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path
from typing import Any

from command_line import askbook, serving

DRONES = (
    "How long does the battery of a drone last?",
    "How long can a drone fly on one battery?",
    "My name is Jane Roe, jane.roe@example.org, +49 30 1234567: how long does a drone fly on one battery?",
)
OFF_TOPIC = "Who won the football World Cup in 2018?"
POINTING = "Tell me about the second one."
"""What is missing here is not in the book but in the question."""
PRIVATE = ("Jane", "Roe", "example.org", "1234567", "203.0.113.9", "b8f4a2c6-0d1e-4f3a")
SESSION = "b8f4a2c6-0d1e-4f3a-9b5c-7d8e9f0a1b2c"


def test_declined_questions_become_a_table_without_their_readers(data_dir: Path) -> None:
    assert askbook("gaps", "--json", data_dir=data_dir).json["clusters"] == []
    assert askbook("ask", DRONES[0], data_dir=data_dir).code == 1
    with serving(data_dir) as address:
        for question in (*DRONES[1:], OFF_TOPIC, POINTING):
            assert post(f"{address}/chat/run", question)["should_answer"] is False
        beside = askbook("gaps", "--json", data_dir=data_dir)
        assert beside.code == 0, beside.err
        with urllib.request.urlopen(f"{address}/gaps?limit=1", timeout=60) as reply:
            served = json.load(reply)
    document = askbook("gaps", "--json", data_dir=data_dir).json
    assert document == beside.json
    assert served == {**document, "clusters": document["clusters"][:1]}
    drones, football = document["clusters"]
    assert (drones["count"], football["count"]) == (3, 1)
    assert {drones["question"], *drones["other_wordings"]} == {
        *DRONES[:2],
        "My name is [removed]: how long does a drone fly on one battery?",
    }
    assert drones["nearest_lesson"]["source_file"].endswith(".mdx")
    assert football["question"] == OFF_TOPIC
    # The reader's own conversation holds what was said, until it is deleted; the author's table does not.
    with closing(sqlite3.connect(data_dir / "askbook.db")) as database:
        kept = repr(database.execute("SELECT * FROM gaps").fetchall())
    assert "drone" in kept
    assert not [private for private in PRIVATE if private in kept]
    shown = askbook("gaps", data_dir=data_dir)
    assert shown.code == 0
    lines = [line for line in shown.out.splitlines() if line.strip()]
    assert lines[0].split()[:2] == ["asked", "question"]
    assert lines[2].split()[0] == "3"
    # A long title goes over several lines of its column.
    assert set(drones["nearest_lesson"]["page_title"].split()) <= set(shown.out.split())
    assert lines[-1].endswith("4 declined questions about 2 subjects.")
    assert askbook("delete-book", "physical-ai-robotics", "--yes", data_dir=data_dir).code == 0
    assert askbook("gaps", data_dir=data_dir).code != 0


def test_what_is_not_kept_is_told(data_dir: Path) -> None:
    off = {"ASKBOOK_KEEP_GAPS": "false"}
    assert askbook("ask", OFF_TOPIC, data_dir=data_dir, **off).code == 1
    ended = askbook("gaps", data_dir=data_dir, **off)
    assert ended.code == 0
    assert ended.out == "physical-ai-robotics: no declined question is kept.\n"
    assert "ASKBOOK_KEEP_GAPS is off" in ended.complaint


def post(url: str, question: str) -> Any:
    request = urllib.request.Request(
        url,
        data=json.dumps({"message": question, "session_id": SESSION}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)
