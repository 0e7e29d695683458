"""An embedder and a judge that remember: one question is searched many times in a run, but paid for once."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from askbook.book import Vector
from askbook.embedding import Embedder, Fingerprint
from askbook.retrieval.judging import Judge, Judgement

K = TypeVar("K")
V = TypeVar("V")
KEPT = 100_000
"""More than a run over all development folders embeds and judges; some 40 MB of judgements."""


class Remembered:
    """What one embedder and one judge made of questions so far; whoever asks them again may share it."""

    def __init__(self) -> None:
        self.vectors = _Recent[str, Vector]()
        self.judgements = _Recent[tuple[str, bytes], Judgement]()


class RememberingEmbedder:
    """An `Embedder` that keeps the vectors of questions. One that works afresh recalls none, for those who take
    its time."""

    def __init__(
        self, inner: Embedder, remembered: Remembered | None = None, *, afresh: bool = False
    ) -> None:
        self._inner = inner
        self._known = (remembered or Remembered()).vectors
        self._afresh = afresh

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    async def embed_query(self, text: str) -> Vector:
        vector = None if self._afresh else self._known.get(text)
        if vector is None:
            vector = await self._inner.embed_query(text)
            self._known.put(text, vector)
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return await self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    async def close(self) -> None:
        await self._inner.close()


class RememberingJudge:
    """A `Judge` that keeps its judgements. One that works afresh recalls none, for those who take its time."""

    def __init__(
        self, inner: Judge, remembered: Remembered | None = None, *, afresh: bool = False
    ) -> None:
        self._inner = inner
        self._known = (remembered or Remembered()).judgements
        self._afresh = afresh

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        # Passages are long and many: their digests are kept in their place.
        keys = {p: (question, hashlib.sha256(p.encode()).digest()) for p in passages}
        judged = {} if self._afresh else self._recalled(keys)
        fresh = [p for p in keys if p not in judged]
        for passage, judgement in zip(fresh, await self._inner.judge(question, fresh), strict=True):
            judged[passage] = judgement
            self._known.put(keys[passage], judgement)
        return [judged[p] for p in passages]

    async def close(self) -> None:
        await self._inner.close()

    def _recalled(self, keys: dict[str, tuple[str, bytes]]) -> dict[str, Judgement]:
        known = {passage: self._known.get(key) for passage, key in keys.items()}
        return {passage: each for passage, each in known.items() if each is not None}


class _Recent(Generic[K, V]):
    """The last `KEPT` values, by key."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        self._values[key] = value
        if len(self._values) > KEPT:
            self._values.popitem(last=False)
