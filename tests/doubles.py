"""Small stand-ins for slow parts, behind the same protocols."""

import asyncio
import hashlib
import re
from collections.abc import Sequence

import numpy as np

from askbook.book import Vector
from askbook.embedding import Fingerprint

DIMENSION = 32
_WORD = re.compile(r"\w+|[^\w\s]")


class NullEmbedder:
    """Unit vectors seeded by the text's hash; remembers every text it was given."""

    def __init__(self, name: str = "null") -> None:
        self._name = name
        self.texts: list[str] = []
        self.calls = 0
        self.fail_after: int | None = None
        self.seconds = 0.0

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(name=self._name, dimension=DIMENSION, revision="1")

    async def embed_query(self, text: str) -> Vector:
        return self.vector_of(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        if self.fail_after is not None and self.calls > self.fail_after:
            raise RuntimeError("the embedder is out of order")
        self.texts.extend(texts)
        await asyncio.sleep(self.seconds)
        return [self.vector_of(text) for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(_WORD.findall(text)) for text in texts]

    async def close(self) -> None:
        pass

    def vector_of(self, text: str) -> Vector:
        """The same text and name always give the same direction."""
        digest = hashlib.sha256(f"{self._name}\n{text}".encode("utf-8", "surrogatepass")).digest()
        seed = int.from_bytes(digest[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)
