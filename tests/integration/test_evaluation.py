"""`askbook eval` on a small folder, through the real embedder, judge, index and database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askbook.cli import evaluate as command
from askbook.cli.main import app, main
from askbook.config import load_settings
from askbook.evaluation.configurations import WHOLE_DOCUMENTS
from askbook.evaluation.datasets import load_dataset
from askbook.evaluation.run import Evaluated, Indexed, Request, evaluate
from askbook.storage.engine import DATABASE_FILE

if not any(each.name == "eval" for each in app.registered_commands):
    command.register(app)

PASSAGES = {
    "bees#1": (
        "Bees",
        "A honey bee colony has one queen, and the queen lays up to two thousand eggs a day.",
    ),
    "tides#1": (
        "Tides",
        "Tides rise and fall because the gravity of the Moon pulls at the oceans of the Earth.",
    ),
    "bread#1": (
        "Bread",
        "Yeast feeds on sugar and gives off carbon dioxide, and that gas makes bread dough rise.",
    ),
    "glass <x>": (
        "Glass",
        "---\nGlass is made by melting sand {silica} with soda ash at about 1500 degrees Celsius.",
    ),
}
QUESTIONS = [
    {"qid": "1", "question": "How many eggs does a queen bee lay in a day?", "answerable": True,
     "answers": ["up to two thousand"], "gold_docs": ["bees#1"], "kind": "plain"},
    {"qid": "2", "question": "Why does bread dough rise?", "answerable": True,
     "answers": ["carbon dioxide from yeast"], "gold_docs": ["bread#1"], "kind": "plain",
     "gold_spans": [{"doc_id": "bread#1", "start": 0, "end": 20}]},
    {"qid": "3", "question": "What is glass made from?", "answerable": True, "answers": ["sand"],
     "gold_docs": ["glass <x>"], "history": [{"speaker": "user", "text": "Hello"}]},
    {"qid": "4", "question": "Who won the 1998 football world cup?", "answerable": False, "kind": "foreign"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "small"
    made.mkdir()
    rows = [{"doc_id": i, "title": title, "text": text} for i, (title, text) in PASSAGES.items()]
    (made / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["eval", *arguments])
    return int(left.value.code or 0), capsys.readouterr().out


def test_eval_prints_the_documented_numbers(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    code, out = run(
        capsys, str(folder), "--json", "--data-dir", str(tmp_path / "data"), "--out", str(report)
    )
    document = json.loads(out)
    assert code == 0
    assert document["retrieval"]["ndcg@10"] == 1.0
    assert document["retrieval"]["n"] == 3
    assert document["retrieval"]["span_recall"] == 1.0
    assert document["answers"]["supported_sentences"] in (1.0, None)
    assert document["refusal"]["n"] == 4
    assert set(document["by"]) == {"kind=foreign", "kind=plain"}
    assert document["latency_ms"]["p50"] > 0
    assert "<svg" in report.read_text(encoding="utf-8")
    assert not (tmp_path / "data").exists(), "the user's own data directory is not touched"
    [database] = (tmp_path / "data-eval").rglob(DATABASE_FILE)
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM gaps").fetchone() == (0,)


def test_eval_fails_under_a_limit_with_exit_code_5(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--retrieval", "--data-dir", str(tmp_path / "data"))
    assert run(capsys, str(folder), *where, "--fail-under", "ndcg@10=0.99")[0] == 0
    assert run(capsys, str(folder), *where, "--fail-under", "p95=0.0001")[0] == 5
    assert run(capsys, str(folder), *where, "--fail-under", "nonsense")[0] == 4


def test_eval_compares_two_configurations(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--retrieval", "--json", "--data-dir", str(tmp_path / "data"))
    compared = json.loads(
        run(capsys, str(folder), *where, "--compare", "dense", WHOLE_DOCUMENTS)[1]
    )
    assert compared["compare"]["metrics"]["ndcg@10"]["verdict"] == "equal"
    assert run(capsys, str(folder), *where, "--compare", "dense", "magic")[0] == 4


def test_eval_makes_questions_from_a_books_headings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "book"
    book.mkdir()
    for name, topic in (("one", "Honey bees"), ("two", "Ocean tides")):
        (book / f"{name}.md").write_text(
            f"# {topic} explained\n\n## Summary\n\nThis page is about {topic.lower()}.\n",
            encoding="utf-8",
        )
    code, out = run(
        capsys, str(book), "--from-book", "--json", "--data-dir", str(tmp_path / "data")
    )
    assert code == 0
    assert json.loads(out)["retrieval"] == {
        "ndcg@10": 1.0, "recall@5": 1.0, "hit@5": 1.0, "mrr@10": 1.0, "n": 2
    }  # fmt: skip


async def test_outcomes_are_kept_and_the_index_is_not_built_twice(
    folder: Path, tmp_path: Path
) -> None:
    settings = load_settings(data_dir=tmp_path / "data")
    kept = tmp_path / "kept"
    request = Request(("retrieval",), ("sparse",), outcomes=kept)
    dataset = load_dataset(folder)

    async def events() -> list[object]:
        return [event async for event in evaluate(settings, dataset, request)]

    first = await events()
    assert any(isinstance(event, Indexed) for event in first)
    lines = (kept / "sparse.jsonl").read_text(encoding="utf-8").splitlines()
    (kept / "sparse.jsonl").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    second = await events()
    assert not any(isinstance(event, Indexed) for event in second)
    assert len((kept / "sparse.jsonl").read_text(encoding="utf-8").splitlines()) == len(lines)
    ends = [event for event in (*first, *second) if isinstance(event, Evaluated)]
    assert ends[0].summaries["sparse"]["retrieval"] == ends[1].summaries["sparse"]["retrieval"]
