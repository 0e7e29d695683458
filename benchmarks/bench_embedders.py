"""Embedders for measuring: one that counts its own CPU time, one that costs nothing."""

import hashlib
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askbook.book import Vector
from askbook.bootstrap import Askbook
from askbook.embedding import Fingerprint
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.models.runtime import ModelRuntime


class TrainedRuntime(ModelRuntime):
    """The built-in embedder's runtime with the graph as training left it, which peers are measured with."""

    def __init__(self, folder: Path) -> None:
        super().__init__("embed")
        self._weights = (folder / "model_int8.onnx").read_bytes()


class MeteredEmbedder(BuiltinEmbedder):
    """The built-in embedder, with the CPU its threads spend on embedding."""

    def __init__(self, runtime: ModelRuntime | None = None) -> None:
        super().__init__(runtime)
        self.cpu = 0.0
        self.texts = 0
        self._meter = threading.Lock()

    def _embed(self, text: str) -> Vector:
        started = time.thread_time()
        vector = super()._embed(text)
        spent = time.thread_time() - started
        with self._meter:
            self.cpu += spent
            self.texts += 1
        return vector


async def warm_up(askbook: Askbook) -> None:
    """Ingest one page: what is imported and loaded at first use is not part of a measured ingest."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.md").write_text("# Warm up\n\nOne page.\n", encoding="utf-8")
        async for _ in askbook.ingest(Path(folder), "warm-up"):
            pass
    await askbook.delete_book("warm-up")


class NullEmbedder(BuiltinEmbedder):
    """Passages get vectors seeded by their hash; counting tokens and embedding questions stay real."""

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("null", 384, "1")

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self._runtime.map(self._embed, [text])
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [null_vector(text) for text in texts]


def null_vector(text: str) -> Vector:
    """A vector for a text at next to no cost: one of many that were drawn before, by the text's hash."""
    return _DRAWN[int.from_bytes(hashlib.md5(text.encode()).digest()[:4], "big") % len(_DRAWN)]


def _drawn(count: int) -> NDArray[np.float32]:
    drawn = np.random.default_rng(7).normal(size=(count, 384)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


_DRAWN = _drawn(2048)
