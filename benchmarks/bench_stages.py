"""What `make bench` measures, one stage per process: each prints one JSON line with ours and its floor."""

import asyncio
import hashlib
import json
import re
import resource
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as engine

from askbook.bootstrap import Askbook, Scope
from askbook.config import load_settings
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.evaluation.calibrating import calibrate
from askbook.index import ChunkFilter
from askbook.ingestion.readers import open_reader
from askbook.ingestion.splitting import split_lesson
from bench_embedders import MeteredEmbedder, NullEmbedder, TrainedRuntime, null_vector, warm_up
from folders import TRAINED

BOOK = "bench"
TIER = 4
WIDE = Scope(book_id=BOOK, hardware_tier=TIER)
FILTER = ChunkFilter(BOOK, hardware_tier=TIER)
ROUNDS = 3
"""Times a quick search is measured with every question: the slowest five of a hundred are a matter of luck."""
AT_ONCE = 100
JUDGED_AT_ONCE = 40


async def ingest(folder: Path, data_dir: Path) -> dict[str, Any]:
    """Total CPU of an ingest, and the CPU inside the embedder."""
    return await _ingest(folder, data_dir, MeteredEmbedder())


async def ingest_as_trained(folder: Path, data_dir: Path) -> dict[str, Any]:
    """The same with the embedder's graph as training left it."""
    return await _ingest(folder, data_dir, MeteredEmbedder(TrainedRuntime(TRAINED)))


async def _ingest(folder: Path, data_dir: Path, embedder: MeteredEmbedder) -> dict[str, Any]:
    shutil.rmtree(data_dir, ignore_errors=True)
    async with Askbook(load_settings(data_dir=data_dir), embedder=embedder) as askbook:
        await warm_up(askbook)
        embedder.cpu, embedder.texts = 0.0, 0
        cpu, wall = time.process_time(), time.perf_counter()
        async for _ in askbook.ingest(folder, BOOK):
            pass
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"ours": cpu, "floor": embedder.cpu, "texts": embedder.texts, "wall": wall}


async def splitting(folder: Path, _data_dir: Path) -> dict[str, Any]:
    """CPU per chunk of splitting, against counting the tokens of its chunks once."""
    embedder = BuiltinEmbedder()
    reader = open_reader(folder, BOOK)
    declared = [
        (reader.declare(file, data), data)
        for file in reader.discover().files
        if (data := (reader.docs_root / file).read_bytes())
    ]
    places = reader.places([each for each, _ in declared])
    lessons = [reader.read(each, places[each.source_file], data) for each, data in declared]
    embedder.count_tokens(["warm up"])
    now = datetime.now(UTC)
    started = time.process_time()
    chunks = [
        chunk
        for lesson in lessons
        for chunk in split_lesson(
            lesson,
            book=reader.book,
            count_tokens=embedder.count_tokens,
            created_at=now,
            updated_at=now,
        )
    ]
    split = time.process_time() - started
    started = time.process_time()
    embedder.count_tokens([chunk.embedded_text for chunk in chunks])
    counted = time.process_time() - started
    await embedder.close()
    per_chunk = 1000 / max(1, len(chunks))
    return {"ours": split * per_chunk, "floor": counted * per_chunk, "chunks": len(chunks)}


async def null_ingest(folder: Path, data_dir: Path) -> dict[str, Any]:
    """CPU per chunk of all but embedding, against reading, counting and a bare engine write."""
    shutil.rmtree(data_dir, ignore_errors=True)
    async with Askbook(load_settings(data_dir=data_dir), embedder=NullEmbedder()) as askbook:
        await warm_up(askbook)
        cpu = time.process_time()
        async for _ in askbook.ingest(folder, BOOK):
            pass
        cpu = time.process_time() - cpu
        peak, own = _peak_mb(), _own_mb()
        texts = [chunk.embedded_text async for chunk in askbook.library.export(BOOK)]
        floor = time.process_time()
        _read_and_hash(folder)
        askbook.embedder.count_tokens(texts)
        _bare_write(data_dir.with_name("bare"), texts)
        floor = time.process_time() - floor
    per_chunk = 1000 / max(1, len(texts))
    return {
        "ours": cpu * per_chunk,
        "floor": floor * per_chunk,
        "chunks": len(texts),
        "peak_mb": peak,
        "own_mb": own,
    }


async def reingest(folder: Path, data_dir: Path) -> dict[str, Any]:
    """A re-ingest of an unchanged folder, against reading and hashing its files."""
    async with Askbook(load_settings(data_dir=data_dir), embedder=NullEmbedder()) as askbook:
        wall = time.perf_counter()
        async for _ in askbook.ingest(folder, BOOK):
            pass
        wall = time.perf_counter() - wall
    floor = time.perf_counter()
    files = _read_and_hash(folder)
    return {"ours": wall, "floor": time.perf_counter() - floor, "files": files}


async def search(folder: Path, data_dir: Path) -> dict[str, Any]:
    """One search, without and with the judge, and one answer, against query embedding + engine query."""
    questions = _questions(folder)
    found: dict[str, Any] = {}
    plain = load_settings(data_dir=data_dir, judge=False)
    async with Askbook(plain, embedder=NullEmbedder()) as askbook:
        found["chunks"] = await askbook.index.count(BOOK)

        async def bare(question: str) -> None:
            vector = await askbook.embedder.embed_query(question)
            await askbook.index.search(FILTER, vector=vector, text=question, limit=50)

        async def unjudged(question: str) -> None:
            await askbook.search(question, WIDE)

        works = {"floor": bare, "unjudged": unjudged}
        found |= await _side_by_side(works, questions * ROUNDS)
        many = _repeated(questions, AT_ONCE)
        found["in_a_row"] = await _one_by_one(unjudged, many)
        found["at_once"] = await _together(unjudged, many)
    async with Askbook(load_settings(data_dir=data_dir), embedder=NullEmbedder()) as askbook:
        judge = askbook.judge
        _, context = await askbook.search(questions[0], WIDE, top_k=8)
        passages = [result.chunk.embedded_text for result in context.results]

        async def judged(question: str) -> None:
            await askbook.search(question, WIDE)

        async def judging(question: str) -> None:
            if judge is not None:
                await judge.judge(question, passages)

        async def answer(question: str) -> None:
            await askbook.ask(question, WIDE)

        works = {"judging": judging, "judged": judged, "ask": answer}
        found |= await _side_by_side(works, questions[:25])
        many = _repeated(questions, JUDGED_AT_ONCE)
        cpu = time.process_time()
        found["judged_in_a_row"] = await _one_by_one(judged, many)
        found["judged_cores"] = (time.process_time() - cpu) * 1000 / found["judged_in_a_row"]
        found["judged_at_once"] = await _together(judged, many)
    return found


async def calibrating(_folder: Path, data_dir: Path) -> dict[str, Any]:
    """`askbook calibrate` on what was ingested."""
    async with Askbook(load_settings(data_dir=data_dir), embedder=NullEmbedder()) as askbook:
        wall = time.perf_counter()
        done = await calibrate(askbook, BOOK)
        wall = time.perf_counter() - wall
        lessons, _ = await askbook.library.totals(BOOK)
    return {"ours": wall, "lessons": lessons, "samples": done.samples}


async def embedder_alone(_folder: Path, _data_dir: Path) -> dict[str, Any]:
    """The memory of a process that has only embedded one text."""
    embedder = BuiltinEmbedder()
    await embedder.embed_passages(["one text " * 200, "another " * 200])
    await embedder.close()
    return {}


def _bare_write(folder: Path, texts: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = engine.EdgeConfig(
        vectors={"dense": engine.EdgeVectorParams(size=384, distance=engine.Distance.Cosine)},
        sparse_vectors={"bm25": engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
    )
    shard, bm25 = engine.EdgeShard.create(str(folder), config), engine.Bm25()
    for start in range(0, len(texts), 64):
        points = [
            engine.Point(
                start + i,
                {"dense": null_vector(text).tolist(), "bm25": bm25.embed_document(text)},
                {"text": text},
            )
            for i, text in enumerate(texts[start : start + 64])
        ]
        shard.update(engine.UpdateOperation.upsert_points(points))
    shard.flush()
    shard.close()


def _read_and_hash(folder: Path) -> int:
    """How many files a book has, each read and hashed once."""
    paths = [path for path in _docs(folder).rglob("*.md*") if path.is_file()]
    for path in paths:
        hashlib.sha256(path.read_bytes()).hexdigest()
    return len(paths)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _own_mb() -> float:
    """The memory of this process without the files it has mapped, as Linux tells it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"^RssAnon:\s*(\d+) kB", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")


def _docs(folder: Path) -> Path:
    return open_reader(folder, BOOK).docs_root


def _questions(folder: Path) -> list[str]:
    """Headings of the corpus as questions: real words, any folder, without the markup in them."""
    found = [
        re.sub(r"<[^>]*>|\{#.*\}", "", line.lstrip("# ")).strip()
        for path in sorted(_docs(folder).rglob("*.md*"))[:400]
        for line in path.read_text("utf-8", "replace").splitlines()
        if line.startswith("## ") and 8 < len(line) < 200
    ]
    return [f"How does {title} work?" for title in list(dict.fromkeys(found))[:100]]


async def _side_by_side(
    works: Mapping[str, Callable[[str], Awaitable[None]]], questions: list[str]
) -> dict[str, dict[str, float]]:
    """Milliseconds of each work, in turn for every question: what else the machine does slows all alike."""
    for work in works.values():
        for question in questions[:3]:
            await work(question)
    times: dict[str, list[float]] = {name: [] for name in works}
    for question in questions:
        for name, work in works.items():
            started = time.perf_counter()
            await work(question)
            times[name].append((time.perf_counter() - started) * 1000)
    return {
        name: {f"p{share}": float(np.percentile(taken, share)) for share in (50, 95)}
        for name, taken in times.items()
    }


def _repeated(questions: list[str], count: int) -> list[str]:
    return (questions * (count // len(questions) + 1))[:count]


async def _one_by_one(work: Callable[[str], Awaitable[None]], questions: list[str]) -> float:
    """Milliseconds for all of them, each after the other."""
    started = time.perf_counter()
    for question in questions:
        await work(question)
    return (time.perf_counter() - started) * 1000


async def _together(work: Callable[[str], Awaitable[None]], questions: list[str]) -> float:
    """Milliseconds for all of them at once."""
    started = time.perf_counter()
    await asyncio.gather(*(work(question) for question in questions))
    return (time.perf_counter() - started) * 1000


def main() -> None:
    name, folder, data_dir = sys.argv[1:4]
    stage = {
        stage.__name__: stage
        for stage in (
            ingest,
            ingest_as_trained,
            splitting,
            null_ingest,
            reingest,
            search,
            calibrating,
            embedder_alone,
        )
    }[name]
    result = asyncio.run(stage(Path(folder), Path(data_dir)))
    result["rss_mb"] = _peak_mb()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
