from collections.abc import Sequence

import numpy as np

from askbook.book import Vector
from askbook.embedding import Fingerprint
from askbook.evaluation.remembering import Remembered, RememberingEmbedder, RememberingJudge
from askbook.retrieval.judging import Judgement


class CountingJudge:
    def __init__(self) -> None:
        self.read: list[str] = []

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        self.read.extend(passages)
        return [Judgement(float(len(p)), 0.0, 0, 1, 0.0) for p in passages]

    async def close(self) -> None:
        self.read.clear()


class CountingEmbedder:
    def __init__(self) -> None:
        self.read: list[str] = []

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint("counting", 1, "1")

    async def embed_query(self, text: str) -> Vector:
        self.read.append(text)
        return np.asarray([len(text)], np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        return [await self.embed_query(text) for text in texts]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    async def close(self) -> None:
        self.read.clear()


async def test_a_passage_is_judged_once_per_question() -> None:
    inner = CountingJudge()
    judge = RememberingJudge(inner)
    first = await judge.judge("Why?", ["a", "bb", "a"])
    again = await judge.judge("Why?", ["bb", "ccc"])
    await judge.judge("How?", ["a"])
    assert [j.relevance for j in (*first, *again)] == [1.0, 2.0, 1.0, 2.0, 3.0]
    assert inner.read == ["a", "bb", "ccc", "a"]


async def test_what_is_remembered_is_shared() -> None:
    inner, embedder, remembered = CountingJudge(), CountingEmbedder(), Remembered()
    for _ in range(2):
        await RememberingJudge(inner, remembered).judge("Why?", ["a", "bb"])
        await RememberingEmbedder(embedder, remembered).embed_query("Why?")
    assert inner.read == ["a", "bb"]
    assert embedder.read == ["Why?"]


async def test_working_afresh_recalls_nothing_but_is_remembered() -> None:
    inner, embedder, remembered = CountingJudge(), CountingEmbedder(), Remembered()
    for afresh in (True, True, False):
        await RememberingJudge(inner, remembered, afresh=afresh).judge("Why?", ["a"])
        await RememberingEmbedder(embedder, remembered, afresh=afresh).embed_query("Why?")
    assert inner.read == ["a", "a"]
    assert embedder.read == ["Why?", "Why?"]
