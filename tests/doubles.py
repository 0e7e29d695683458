"""Small stand-ins for slow parts, behind the same protocols."""

import asyncio
import hashlib
import re
from collections.abc import Sequence

import numpy as np

from askbook.book import Vector
from askbook.embedding import Fingerprint
from askbook.retrieval.terms import content_terms

DIMENSION = 32
_WORD = re.compile(r"\w+|[^\w\s]")


class NullEmbedder:
    """Unit vectors seeded by the text's hash; remembers every text it was given."""

    def __init__(self, name: str = "null", dimension: int = DIMENSION) -> None:
        self._name = name
        self._dimension = dimension
        self.texts: list[str] = []
        self.calls = 0
        self.fail_after: int | None = None
        self.seconds = 0.0

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(name=self._name, dimension=self._dimension, revision="1")

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
        vector = np.random.default_rng(seed).standard_normal(self._dimension).astype(np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class WordEmbedder(NullEmbedder):
    """Texts that share words point the same way, the more the nearer."""

    def __init__(self, name: str = "words") -> None:
        super().__init__(name, 256)

    def vector_of(self, text: str) -> Vector:
        words = [NullEmbedder.vector_of(self, term) for term in content_terms(text) or [text]]
        total = np.sum(words, axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)
