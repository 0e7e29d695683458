"""`make bench`: how much askbook costs beyond what it cannot avoid. Every figure stands beside its floor in the same run.

Absolute times depend on the machine; ratios travel. `--quick` uses small corpora and ends in two minutes.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from folders import DATA, REPOSITORY, TRAINED
from publishing import markdown_table, publish

SCALE = REPOSITORY.parent / "shared" / "data" / "scale" / "aws_docs.tar.zst"
SCALE_FILES = {"scale-10k": 2_500, "scale-100k": 1_000_000}
"""How many files make about ten thousand chunks; all of them make over a hundred thousand."""
STAGES = Path(__file__).with_name("bench_stages.py")
BUSY = Path(__file__).with_name("search_while_ingesting.py")
PROGRESS = Console(stderr=True)
COLUMNS = ("what", "askbook", "floor", "unit", "ratio", "aim", "the floor is")
INTRODUCTION = """Two cores, no GPU. Times differ from machine to machine and from hour to hour; each stands beside
its floor, what cannot be avoided, measured in the same run, and the ratio is what counts. At scale the passages' vectors
are made up, everything else is real; searches carry a filter."""
REASONS = """## Where an aim is missed

- **Ingest beside the embedder.** The embedder's graph was made half as quick again ([decision 8](decisions/0008-graphs-are-tuned-after-training.md)),
  and the ratio is to what it takes now; the line below it is the same work beside the graph that training left, with which peers are measured. What is left
  is 1.1 to 1.3 ms a chunk: half is reading, splitting and counting, a third the index's own writes (a third of these the way
  of a chunk's fields into the engine), the rest the database and the way between the threads.
- **The slowest searches at 10,000 chunks.** The floor is 8 to 9 ms; a question with a name in it, one in eight here, is also
  looked up letter by letter, in the same index one after the other. What comes on top otherwise is 2 to 3 ms: reading the
  chunks with their vectors from the database 1.2, fusing and rating them 0.4, the rest the way between the threads.
- **Judged searches at once.** One search alone already has both cores read its eight candidates (the line below it says how
  busy they are), so that many at once can gain only the moments in which one waits: the embedding, the index, the database.
  Half as much again would need a third core, or a single search that leaves one idle.
- **Ingest without embedding beyond 10,000 chunks.** There the embedded index is written out in segments, so that its memory
  does not grow with the book ([decision 9](decisions/0009-the-embedded-index-is-written-out-in-segments.md)). That takes 0.25 ms a chunk,
  less than a hundredth of what embedding it takes.
- **A re-ingest of few unchanged files** takes a third of a second, whatever the files: opening the reader, the job and the plan."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing, what it cannot go below, and their ratio."""

    name: str
    ours: float
    floor: float | None
    unit: str
    against: str
    aim: str = ""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.floor if self.floor else None


def main() -> None:
    options = _options()
    work = Path(tempfile.mkdtemp(prefix="askbook-bench-"))
    figures: list[Figure] = []
    notes: list[str] = []
    try:
        small = options.data / ("robotics_docusaurus" if options.quick else "robotics_course")
        if not small.is_dir():
            small = REPOSITORY / "examples" / "physical-ai-book"
        wide = [] if options.quick else _scale_corpora(options.cache, notes)
        if not wide:
            rust = options.data / "rust_book"
            wide = [rust if rust.is_dir() else small]
        figures += _ingest(small, work)
        for folder in wide:
            figures += _at_scale(folder, work / folder.name)
        figures += _startup(work)
        if not options.quick:
            figures += _while_ingesting(small)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    title = f"askbook against its floors ({', '.join(f.name for f in (small, *wide))})"
    _show(figures, title, notes)
    if options.out:
        parts = (markdown_table(COLUMNS, [_cells(f) for f in figures]), *notes, REASONS)
        publish(options.out, "Speed", "bench", INTRODUCTION, parts)


def _ingest(folder: Path, work: Path) -> list[Figure]:
    alone = _stage("embedder_alone", folder, work / "none")
    ingest = _stage("ingest", folder, work / "small")
    splitting = _stage("splitting", folder, work / "none")
    cpu, wall, memory = ingest["ours"], ingest["wall"], ingest["rss_mb"]
    split, counted = splitting["ours"], splitting["floor"]
    return [
        Figure("ingest, CPU", cpu, ingest["floor"], "s", "inside the embedder", "ratio ≤ 1.03"),
        *_as_trained(folder, work),
        Figure("ingest, wall", wall, cpu, "s", "its own CPU", "ratio ≤ 0.6"),
        Figure("ingest, peak memory", memory, alone["rss_mb"], "MB", "embedding alone"),
        Figure("splitting", split, counted, "ms/chunk", "counting its tokens once"),
    ]


def _as_trained(folder: Path, work: Path) -> list[Figure]:
    """The same beside the embedder that peers are measured with, where it is at hand."""
    if not TRAINED.is_dir():
        return []
    ingest = _stage("ingest_as_trained", folder, work / "trained")
    name, against = "ingest, CPU, graph as trained", "inside that embedder, as peers have it"
    return [Figure(name, ingest["ours"], ingest["floor"], "s", against, "ratio ≤ 1.03")]


def _at_scale(folder: Path, work: Path) -> list[Figure]:
    null = _stage("null_ingest", folder, work / "wide")
    again = _stage("reingest", folder, work / "wide")
    search = _stage("search", folder, work / "wide")
    calibrated = _stage("calibrating", folder, work / "wide")
    size = f"{search['chunks']:,} chunks"
    files = f"re-ingest, {again['files']:,} unchanged files"
    ingest = f"ingest without embedding, {size}"
    bare = "read, count, bare engine write"
    return [
        Figure(f"{ingest}, CPU", null["ours"], null["floor"], "ms/chunk", bare, "≤ 1.2 ms"),
        Figure(f"{ingest}, peak memory", null["peak_mb"], None, "MB", "", "≤ 1,200 MB"),
        Figure(f"{ingest}, without mapped files", null["own_mb"], None, "MB", ""),
        Figure(files, again["ours"], again["floor"], "s", "read + hash", "ratio ≤ 3"),
        *_searches(search, size),
        Figure(
            f"calibrate, {calibrated['lessons']:,} lessons",
            calibrated["ours"],
            None,
            "s",
            "",
            "≤ 600 s",
        ),
        Figure(f"the searches' peak memory, {size}", search["rss_mb"], None, "MB", ""),
    ]


def _searches(search: dict[str, Any], size: str) -> list[Figure]:
    floor, fused, judged, ask = (search[k] for k in ("floor", "unjudged", "judged", "ask"))
    both = {k: floor[k] + search["judging"][k] for k in ("p50", "p95")}
    bare, read = "query embedding + engine query", "the same + judging 8"
    one_by_one = "the same, one by one"
    return [
        Figure(f"search, fused, {size}, p50", fused["p50"], floor["p50"], "ms", bare, "ratio ≤ 2"),
        Figure(
            f"search, fused, {size}, p95", fused["p95"], floor["p95"], "ms", bare, "ratio ≤ 1.5"
        ),
        Figure(f"search, judged, {size}, p50", judged["p50"], both["p50"], "ms", read),
        Figure(f"search, judged, {size}, p95", judged["p95"], both["p95"], "ms", read, "≤ 350 ms"),
        Figure(f"ask, {size}, p50", ask["p50"], both["p50"], "ms", read),
        Figure(f"ask, {size}, p95", ask["p95"], both["p95"], "ms", read),
        Figure(
            f"100 searches at once, {size}",
            search["at_once"],
            search["in_a_row"],
            "ms",
            one_by_one,
            "ratio ≤ 1.11",
        ),
        Figure(
            f"40 judged searches at once, {size}",
            search["judged_at_once"],
            search["judged_in_a_row"],
            "ms",
            one_by_one,
            "ratio ≤ 0.67",
        ),
        Figure(
            f"judged searches one by one, {size}",
            search["judged_cores"],
            os.cpu_count(),
            "cores",
            "all of them: what is idle is what many at once can gain",
        ),
    ]


def _startup(work: Path) -> list[Figure]:
    askbook = [sys.executable, "-m", "askbook"]
    if not (REPOSITORY / "src" / "askbook" / "__main__.py").exists():
        askbook = [str(Path(sys.executable).with_name("askbook"))]
    place = ["--data-dir", str(work / "start")]
    book = REPOSITORY / "examples" / "physical-ai-book"
    _wall([*askbook, "ingest", str(book), *place])
    ask = [*askbook, "ask", "What is a ROS 2 node?", "--json", *place]
    loading = "import asyncio; from askbook.embedding.builtin import BuiltinEmbedder as B; asyncio.run(B().embed_query('x'))"
    return [
        Figure(
            "askbook --help",
            _best([*askbook, "--help"]),
            _best([sys.executable, "-c", "pass"]),
            "s",
            "python -c pass",
        ),
        Figure(
            "askbook ask, cold",
            _best(ask),
            _best([sys.executable, "-c", loading]),
            "s",
            "load the embedder, embed the question",
        ),
    ]


def _while_ingesting(folder: Path) -> list[Figure]:
    """Searches over HTTP while another book is ingested in the same server, against the same when idle."""
    PROGRESS.print(f"searching while {folder.name} is ingested …")
    done = subprocess.run(
        [sys.executable, str(BUSY), str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{BUSY.name} failed:\n{done.stderr[-2000:]}")
    p95 = json.loads(done.stdout.splitlines()[-1])
    return [
        Figure(
            "search, judged, while ingesting, p95",
            p95["ingesting_p95_ms"],
            p95["idle_p95_ms"],
            "ms",
            "the same, idle",
            "ratio ≤ 2",
        )
    ]


def _stage(name: str, folder: Path, data_dir: Path) -> dict[str, Any]:
    """One stage in a process of its own, so that memory and caches are its own too."""
    PROGRESS.print(f"{name} on {folder.name} …")
    command = [sys.executable, str(STAGES), name, str(folder), str(data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Stage {name} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _scale_corpora(cache: Path, notes: list[str]) -> list[Path]:
    """A part of the big corpus and all of it, unpacked once."""
    if not SCALE.is_file() or shutil.which("zstd") is None:
        notes.append(
            "The scale corpus or the program zstd is missing: a small corpus was used instead."
        )
        return []
    return [_unpacked(cache / name, files) for name, files in SCALE_FILES.items()]


def _unpacked(folder: Path, files: int) -> Path:
    """The first files of the big corpus."""
    if (folder / "docs").is_dir():
        return folder
    PROGRESS.print(f"unpacking {SCALE.name} into {folder.name} …")
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    unpacker = subprocess.Popen(["zstd", "-dc", str(SCALE)], stdout=subprocess.PIPE)
    with tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive:
        taken = 0
        for member in archive:
            if member.isfile() and "/docs/" in member.name and taken < files:
                inner = member.name.split("/docs/", 1)[1]
                target = partial / "docs" / inner
                target.parent.mkdir(parents=True, exist_ok=True)
                source = archive.extractfile(member)
                target.write_bytes(source.read() if source else b"")
                taken += 1
            if taken >= files:
                break
    unpacker.kill()
    unpacker.wait()
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)
    return folder


def _best(command: list[str], times: int = 5) -> float:
    return min(_wall(command) for _ in range(times))


def _wall(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - started


def _show(figures: list[Figure], title: str, notes: list[str]) -> None:
    table = Table(title=title)
    for column in COLUMNS:
        table.add_column(
            column, justify="right" if column in ("askbook", "floor", "ratio") else "left"
        )
    for figure in figures:
        table.add_row(*_cells(figure))
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    for note in notes:
        console.print(note)


def _cells(figure: Figure) -> tuple[str, ...]:
    floor = "–" if figure.floor is None else f"{figure.floor:.4g}"
    ratio = "–" if figure.ratio is None else f"{figure.ratio:.2f}"
    ours = f"{figure.ours:.4g}"
    return figure.name, ours, floor, figure.unit, ratio, figure.aim, figure.against


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small corpora, under two minutes")
    parser.add_argument("--data", type=Path, default=DATA, help="where the dataset folders are")
    parser.add_argument("--cache", type=Path, default=REPOSITORY / ".askbook-eval" / "bench")
    parser.add_argument("--out", type=Path, help="also write a page of the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
