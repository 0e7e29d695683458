"""What every peer's runner shares: the same embedder, the same clock, the same result. Runs in the peer's environment.

A runner defines a `Peer` with `ingest(files)` and `search(question, k)`; `run(Peer)` does the rest and prints
one JSON line: CPU of the ingest, CPU inside the embedder, chunks, and the ranked pages of every question.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false
# It runs in the peer's environment, whose packages are not installed in ours.

import json
import os
import resource
import sys
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

import numpy as np  # noqa: E402  # thread counts are read at import
import onnxruntime  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

BATCH = 16
TARGET = 1400
"""Characters a chunk: about 400 tokens, what askbook aims at."""


class Embedder:
    """askbook's own embedding model, batched as frameworks do; counts the CPU it uses."""

    def __init__(self, model: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(model / "model_int8.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        self.tokenizer.enable_truncation(int(config["max_tokens"]))
        self.dimension = int(config["dim"])
        self.query_prefix, self.passage_prefix = config["query_prefix"], config["passage_prefix"]
        self.cpu = 0.0
        self.texts = 0

    def passages(self, texts: list[str]) -> list[list[float]]:
        return self._embed([self.passage_prefix + text for text in texts])

    def query(self, text: str) -> list[float]:
        return self._embed([self.query_prefix + text])[0]

    def _embed(self, texts: list[str]) -> list[list[float]]:
        started = time.thread_time()
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors: list[list[float]] = [[] for _ in ids]
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            width = max(len(ids[i]) for i in part)
            tokens = np.zeros((len(part), width), np.int64)
            mask = np.zeros_like(tokens)
            for row, i in enumerate(part):
                tokens[row, : len(ids[i])] = ids[i]
                mask[row, : len(ids[i])] = 1
            found = np.asarray(
                self.session.run(None, {"input_ids": tokens, "attention_mask": mask})[0]
            )
            for row, i in enumerate(part):
                vectors[i] = (found[row] / np.linalg.norm(found[row])).tolist()
        self.cpu += time.thread_time() - started
        self.texts += len(texts)
        return vectors


def run(peer_class: type) -> None:
    """Ingest the files and rank pages for every question, as the arguments say."""
    docs, questions, model = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    embedder = Embedder(model)
    embedder.query("warm up")
    embedder.cpu, embedder.texts = 0.0, 0
    peer = peer_class(embedder, docs)
    files = [path for path in sorted(docs.rglob("*")) if path.suffix in (".md", ".mdx")]
    cpu, wall = _cpu(), time.perf_counter()
    peer.ingest(files)
    cpu, wall = _cpu() - cpu, time.perf_counter() - wall
    result = {"cpu": cpu, "embed_cpu": embedder.cpu, "chunks": embedder.texts, "wall": wall}
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    times = []
    result["rankings"] = {}
    for row in rows:
        started = time.perf_counter()
        pages = peer.search(row["question"], 40)
        times.append((time.perf_counter() - started) * 1000)
        result["rankings"][row["qid"]] = list(dict.fromkeys(pages))[:10]
    result["query_ms"] = sorted(times)[len(times) // 2] if times else 0.0
    result["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("RESULT " + json.dumps(result), flush=True)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
