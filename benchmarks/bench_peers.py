"""`make bench-peers`: LangChain, LlamaIndex, Haystack and txtai beside askbook, with the same embedding model.

Each peer gets an environment of its own under the cache, is fed the same folder, and ranks the same pages for the
same questions, the way its own documentation shows hybrid search. Compare ratios within one run only.
"""

import argparse
import asyncio
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from askbook.bootstrap import Askbook, Scope
from askbook.config import load_settings
from askbook.evaluation.datasets import load_dataset
from askbook.evaluation.intervals import mean_interval
from askbook.evaluation.metrics import ndcg
from bench_embedders import MeteredEmbedder, warm_up
from folders import DATA, REPOSITORY
from publishing import markdown_table, publish

PEERS = Path(__file__).with_name("peers")
MODEL = REPOSITORY / "src" / "askbook" / "models" / "embed"
SHARED = ("numpy", "onnxruntime", "tokenizers")
REQUIREMENTS = {
    "langchain": (
        "langchain-core>=1",
        "langchain-classic>=1",
        "langchain-community>=0.4",
        "langchain-text-splitters>=1",
        "rank-bm25",
    ),
    "llamaindex": (
        "llama-index-core>=0.14",
        "llama-index-retrievers-bm25>=0.6",
        "llama-index-readers-file",
    ),
    "haystack": ("haystack-ai>=2.20",),
    "txtai": ("txtai>=9",),
}
BOOK = "peer"
WIDE = Scope(book_id=BOOK, hardware_tier=4)
PROGRESS = Console(stderr=True)
COLUMNS = (
    "",
    "ingest CPU s",
    "in embedder s",
    "ratio",
    "as trained s",
    "texts",
    "query p50 ms",
    "MB",
    "nDCG@10",
    "self-contained",
)
INTRODUCTION = """Every tool reads the same folder, embeds with the same model, aims at chunks of the same size and
ranks pages for the same questions by the hybrid search of its own documentation; forty results a question are asked for.
Brackets are 95 % bootstrap intervals; `self-contained` are the questions that name what they are about. All embed with
the graph that askbook tuned ([decision 8](decisions/0008-graphs-are-tuned-after-training.md)); `as trained` is the
ingest's CPU with the same weights in the graph that training left, which is what a tool has without askbook's work.

Chunks are not equally large: LangChain and LlamaIndex do not join short sections (in `robotics_course` 140 tokens on average
where askbook's have 328), and short texts cost less a token."""


def main() -> None:
    options = _options()
    parts: list[str] = []
    for name in options.folders:
        rows = _compare(name, options)
        parts += [f"## {name}", markdown_table(COLUMNS, rows)]
    if options.out:
        publish(options.out, "Beside other tools", "bench-peers", INTRODUCTION, parts)


def _compare(name: str, options: argparse.Namespace) -> list[tuple[str, ...]]:
    folder, questions = _corpus(name, options)
    results: dict[str, dict[str, Any] | str] = {}
    for peer in options.peers:
        PROGRESS.print(f"{peer}: installing …")
        try:
            python = _environment(peer, options.cache / "venv")
            PROGRESS.print(f"{peer}: running …")
            docs = folder / "docs"
            results[peer] = result = _run_peer(peer, python, docs, questions, MODEL)
            if options.trained:
                nothing = questions.with_name("no-questions.jsonl")
                nothing.touch()
                trained = _run_peer(peer, python, docs, nothing, options.trained)
                result["trained_cpu"] = trained["cpu"]
        except subprocess.CalledProcessError as error:
            reason = (error.stderr or "").strip().splitlines()
            results[peer] = reason[-1] if reason else f"exit code {error.returncode}"
    PROGRESS.print("askbook: running …")
    for judged in (False, True):
        ours = "askbook, judged" if judged else "askbook, fused"
        results[ours] = asyncio.run(_run_askbook(folder, questions, options.cache, judged))
    return _show(results, folder, questions)


def _corpus(name: str, options: argparse.Namespace) -> tuple[Path, Path]:
    """A folder with the chosen files, and the questions whose gold is among them."""
    source = options.data / name
    files = [p for p in sorted((source / "docs").rglob("*")) if p.suffix in (".md", ".mdx")]
    folder = options.cache / f"{name}-{options.limit or 'all'}"
    shutil.rmtree(folder, ignore_errors=True)
    kept: set[str] = set()
    for file in files[: options.limit or None]:
        inner = file.relative_to(source / "docs")
        (folder / "docs" / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / "docs" / inner)
        kept.add(inner.as_posix())
    rows = [
        {
            "qid": q.qid,
            "question": q.text[:1000],
            "gold_docs": list(q.grades),
            "is_complete": "self_contained=false" not in q.groups,
        }
        for q in load_dataset(source).questions
        if q.grades and set(q.grades) <= kept
    ]
    random.Random(1).shuffle(rows)
    questions = folder / "questions.jsonl"
    questions.write_text("\n".join(map(json.dumps, rows[: options.questions])), encoding="utf-8")
    return folder, questions


def _environment(name: str, venvs: Path) -> Path:
    """The peer's own environment, made once."""
    python = venvs / name / "bin" / "python"
    done = venvs / name / ".installed"
    wanted = "\n".join((*SHARED, *REQUIREMENTS[name]))
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        # Copies, not hard links into uv's cache: NLTK refuses to read a file that has two names.
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        for command in (
            [uv, "venv", "-q", "--clear", "--python", sys.executable, str(venvs / name)],
            [
                uv,
                "pip",
                "install",
                "-q",
                "--link-mode=copy",
                "--python",
                str(python),
                *SHARED,
                *REQUIREMENTS[name],
            ],
        ):
            subprocess.run(command, check=True, capture_output=True, text=True)
        done.write_text(wanted, encoding="utf-8")
    return python


def _run_peer(name: str, python: Path, docs: Path, questions: Path, model: Path) -> dict[str, Any]:
    command = [str(python), str(PEERS / f"{name}_peer.py"), str(docs), str(questions), str(model)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(each for each in done.stdout.splitlines() if each.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


async def _run_askbook(folder: Path, questions: Path, cache: Path, judged: bool) -> dict[str, Any]:
    data_dir = cache / "askbook"
    shutil.rmtree(data_dir, ignore_errors=True)
    embedder = MeteredEmbedder()
    settings = load_settings(data_dir=data_dir, judge=judged)
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    result: dict[str, Any] = {"rankings": {}}
    async with Askbook(settings, embedder=embedder) as askbook:
        await warm_up(askbook)
        embedder.cpu, embedder.texts = 0.0, 0
        cpu, wall = time.process_time(), time.perf_counter()
        async for _ in askbook.ingest(folder, BOOK):
            pass
        result |= {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        result |= {"embed_cpu": embedder.cpu, "chunks": embedder.texts}
        times: list[float] = []
        for row in rows:
            started = time.perf_counter()
            _, context = await askbook.search(row["question"], WIDE, top_k=40)
            times.append((time.perf_counter() - started) * 1000)
            pages = [found.chunk.metadata.source_file for found in context.results]
            result["rankings"][row["qid"]] = list(dict.fromkeys(pages))[:10]
    result["query_ms"] = sorted(times)[len(times) // 2]
    result["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return result


def _show(
    results: dict[str, dict[str, Any] | str], folder: Path, questions: Path
) -> list[tuple[str, ...]]:
    """Print the table of a folder, and give its rows."""
    asked = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    complete = [row for row in asked if row["is_complete"]]
    table = Table(
        title=f"{folder.name}: {len(asked)} questions, {len(complete)} of them self-contained"
    )
    for column in COLUMNS:
        table.add_column(column, justify="left" if not column else "right")
    rows = [_row(name, result, asked, complete) for name, result in results.items()]
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    return rows


def _row(
    name: str,
    result: dict[str, Any] | str,
    asked: list[dict[str, Any]],
    complete: list[dict[str, Any]],
) -> tuple[str, ...]:
    if isinstance(result, str):
        return name, f"failed: {result[:60]}", *("–" for _ in COLUMNS[2:])
    return (
        name,
        f"{result['cpu']:.1f}",
        f"{result['embed_cpu']:.1f}",
        f"{result['cpu'] / result['embed_cpu']:.3f}",
        f"{result['trained_cpu']:.1f}" if "trained_cpu" in result else "–",
        str(result["chunks"]),
        f"{result['query_ms']:.0f}",
        f"{result['rss_mb']:.0f}",
        _gain(result["rankings"], asked),
        _gain(result["rankings"], complete),
    )


def _gain(rankings: dict[str, list[str]], rows: list[dict[str, Any]]) -> str:
    """The mean nDCG@10 of these questions, with its interval."""
    gains = [ndcg(rankings[r["qid"]], dict.fromkeys(r["gold_docs"], 1), 10) for r in rows]
    if not gains:
        return "–"
    interval = mean_interval(gains)
    bounds = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
    return f"{sum(gains) / len(gains):.3f}{bounds}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peers", nargs="*", default=list(REQUIREMENTS), choices=list(REQUIREMENTS)
    )
    parser.add_argument(
        "--folders",
        nargs="+",
        default=["rust_book", "robotics_course"],
        help="dataset folders with docs/",
    )
    parser.add_argument("--limit", type=int, default=0, help="only the first files")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument(
        "--trained",
        type=Path,
        help="the folder of the embedder as training left it: peers ingest with that graph, too",
    )
    parser.add_argument("--cache", type=Path, default=REPOSITORY / ".askbook-eval" / "peers")
    parser.add_argument("--out", type=Path, help="also write a page of the results here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
