from collections.abc import Sequence

from askbook.evaluation.remembering import RememberingJudge
from askbook.retrieval.judging import Judgement


class CountingJudge:
    def __init__(self) -> None:
        self.read: list[str] = []

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        self.read.extend(passages)
        return [Judgement(float(len(p)), 0.0, 0, 1, 0.0) for p in passages]

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
