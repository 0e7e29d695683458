"""`askbook eval` on a small folder, through the real embedder, judge, index and database."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

import pytest

import ebooks
from askbook.cli import evaluate as command
from askbook.cli.main import app, main
from askbook.config import Settings, load_settings
from askbook.evaluation.configurations import WHOLE_DOCUMENTS
from askbook.evaluation.datasets import Dataset, load_dataset
from askbook.evaluation.remembering import Remembered
from askbook.evaluation.request import Request
from askbook.evaluation.run import Asked, Evaluated, Indexed, evaluate
from askbook.retrieval.judging import BuiltinJudge, Judge, Judgement
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


def test_pages_of_a_pdf_are_scored_with_the_pages_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "handbooks"
    (made / "docs").mkdir(parents=True)
    filler = [ebooks.lines(f"Page {word} tells nothing of use.") for word in ("a", "b", "c")]
    bees, bread = (ebooks.lines(PASSAGES[name][1]) for name in ("bees#1", "bread#1"))
    (made / "docs" / "all.pdf").write_bytes(ebooks.pdf([bees, *filler, bread]))
    rows = [
        {**QUESTIONS[number], "gold_docs": ["all.pdf"], "gold_pages": [{"doc_id": "all.pdf", "page": page}]}
        for number, page in ((0, 2), (1, 40))
    ]  # fmt: skip
    (made / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    code, out = run(
        capsys, str(made), "--retrieval", "--json", "--data-dir", str(tmp_path / "data")
    )
    assert code == 0
    assert json.loads(out)["retrieval"]["page_hit@5"] == 0.5


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


async def test_several_at_once_find_what_each_finds_alone(folder: Path, tmp_path: Path) -> None:
    settings, dataset = load_settings(data_dir=tmp_path / "data"), load_dataset(folder)
    ways = ("hybrid", "sparse")
    alone = await ended(settings, dataset, Request(configurations=ways))
    together = await ended(settings, dataset, Request(configurations=ways, timed=1))
    for way in ways:
        times = [outcome.latency_ms is not None for outcome in alone.outcomes[way]]
        assert times == [True] * len(QUESTIONS)
        for one, other in zip(alone.outcomes[way], together.outcomes[way], strict=True):
            assert replace(one, latency_ms=None) == replace(other, latency_ms=None)
    timed = {way: [o for o in together.outcomes[way] if o.latency_ms is not None] for way in ways}
    assert [len(each) for each in timed.values()] == [1, 0], "one is timed, as a reader searches"
    assert together.summaries["hybrid"]["latency_ms"]["p50"] > 0


async def test_sets_that_share_questions_share_what_was_judged(
    folder: Path, tmp_path: Path
) -> None:
    class CountingJudge(BuiltinJudge):
        read = 0

        async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
            CountingJudge.read += len(passages)
            return await super().judge(question, passages)

    settings, dataset = load_settings(data_dir=tmp_path / "data"), load_dataset(folder)
    remembered, untimed = Remembered(), Request(timed=0)
    first = await ended(settings, dataset, untimed, CountingJudge(), remembered)
    read = CountingJudge.read
    assert read > 0
    again = await ended(settings, dataset, untimed, CountingJudge(), remembered)
    assert read == CountingJudge.read
    assert again.outcomes == first.outcomes
    await ended(settings, dataset, Request(("retrieval",), timed=1), CountingJudge(), remembered)
    assert CountingJudge.read > read, "what is timed is searched as if for the first time"


async def test_an_interrupted_run_goes_on_without_asking_anything_twice(
    folder: Path, tmp_path: Path
) -> None:
    settings, dataset = load_settings(data_dir=tmp_path / "data"), load_dataset(folder)
    request = Request(("retrieval",), ("sparse", "dense"), outcomes=tmp_path / "kept", timed=1)
    async with aclosing(evaluate(settings, dataset, request)) as events:
        async for event in events:
            if isinstance(event, Asked) and event.done == 3:
                break
    assert 3 <= sum(map(len, kept_by(tmp_path / "kept").values())) < 2 * len(QUESTIONS)
    end = await ended(settings, dataset, request)
    asked = {way: [outcome.qid for outcome in found] for way, found in end.outcomes.items()}
    assert asked == {way: ["1", "2", "3", "4"] for way in ("sparse", "dense")}
    assert {way: sorted(qids) for way, qids in kept_by(tmp_path / "kept").items()} == asked


async def ended(
    settings: Settings,
    dataset: Dataset,
    request: Request,
    judge: Judge | None = None,
    remembered: Remembered | None = None,
) -> Evaluated:
    events = evaluate(settings, dataset, request, judge=judge, remembered=remembered)
    *_, end = [event async for event in events]
    assert isinstance(end, Evaluated)
    return end


def kept_by(folder: Path) -> dict[str, list[str]]:
    """The ids of the questions that each configuration's file holds."""
    return {
        file.stem: [json.loads(line)["qid"] for line in file.read_text("utf-8").splitlines()]
        for file in folder.glob("*.jsonl")
    }
