"""`make eval` on a small folder, in a process of its own: it writes its page, and goes on where it was stopped."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "eval_all.py"
ANIMALS = {
    "Bees": "lives in a hive and makes honey from the nectar of flowers",
    "Otters": "sleeps on its back in the sea and holds on to kelp",
    "Owls": "hunts mice at night and turns its head nearly all the way round",
}


def test_the_page_is_written_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data" / "animals"
    data.mkdir(parents=True)
    passages = [
        {"doc_id": name, "title": name, "text": f"Each of the {name.lower()} {fact}."}
        for name, fact in ANIMALS.items()
    ]
    questions = [
        {"qid": name, "question": f"Which animal {fact}?", "answerable": True,
         "answers": [name], "gold_docs": [name]}
        for name, fact in ANIMALS.items()
    ]  # fmt: skip
    questions.append({"qid": "none", "question": "Who wrote Faust?", "answerable": False})
    for name, rows in (("corpus", passages), ("questions", questions)):
        (data / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    page = evaluated(tmp_path)
    assert "| animals | 3 | **1.000** [1.000, 1.000] |" in page
    assert "## Time of one search, judged (ms)" in page
    [kept] = (tmp_path / "askbook-eval" / "outcomes").rglob("hybrid.jsonl")
    whole = kept.read_text(encoding="utf-8").splitlines()
    assert len(whole) == len(questions)
    kept.write_text("\n".join(whole[:3]) + "\n", encoding="utf-8")
    assert untimed(evaluated(tmp_path)) == untimed(page)
    again = kept.read_text(encoding="utf-8").splitlines()
    assert again[:3] == whole[:3], "what was kept is not asked again"
    assert len(again) == len(whole)


def evaluated(folder: Path) -> str:
    out = folder / "page.md"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--data", str(folder / "data"), "--only", "animals",
         "--data-dir", str(folder / "askbook"), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out.read_text(encoding="utf-8")


def untimed(page: str) -> str:
    return page.split("## Time of one search")[0]
