"""An embedder and a judge that remember: one question is searched several times, but paid for once."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Generic, TypeVar

from askbook.book import Vector
from askbook.embedding import Embedder, Fingerprint
from askbook.retrieval.judging import Judge, Judgement

K = TypeVar("K")
V = TypeVar("V")
KEPT = 20_000


class RememberingEmbedder:
    """An `Embedder` that keeps the vectors of recent questions."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._known = _Recent[str, Vector]()

    @property
    def fingerprint(self) -> Fingerprint:
        return self._inner.fingerprint

    async def embed_query(self, text: str) -> Vector:
        vector = self._known.get(text)
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
    """A `Judge` that keeps recent judgements."""

    def __init__(self, inner: Judge) -> None:
        self._inner = inner
        self._known = _Recent[tuple[str, str], Judgement]()

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        fresh = [p for p in dict.fromkeys(passages) if self._known.get((question, p)) is None]
        judged = await self._inner.judge(question, fresh)
        answers = dict(zip(fresh, judged, strict=True))
        for passage, judgement in answers.items():
            self._known.put((question, passage), judgement)
        return [answers.get(p) or self._recalled(question, p) for p in passages]

    async def close(self) -> None:
        await self._inner.close()

    def _recalled(self, question: str, passage: str) -> Judgement:
        judgement = self._known.get((question, passage))
        if judgement is None:
            raise LookupError("More passages were judged at once than are kept.")
        return judgement


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
