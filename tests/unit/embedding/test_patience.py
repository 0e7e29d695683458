"""An ingest waits for a busy embedder; a question does not."""

from collections.abc import Sequence

import pytest

from askbook.book import Vector
from askbook.embedding.patience import JOB, PatientEmbedder
from askbook.errors import EmbedderBusy
from doubles import NullEmbedder


class BusyEmbedder(NullEmbedder):
    def __init__(self, refusals: int, retry_after: float | None = None) -> None:
        super().__init__()
        self.refusals = refusals
        self.retry_after = retry_after

    async def embed_query(self, text: str) -> Vector:
        self._refuse()
        return await super().embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self._refuse()
        return await super().embed_passages(texts)

    def _refuse(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise EmbedderBusy("Too many requests.", retry_after=self.retry_after)


class Clock:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_passages_are_tried_again_ever_later() -> None:
    clock, busy = Clock(), BusyEmbedder(refusals=4)
    [vector] = await PatientEmbedder(busy, sleep=clock.sleep).embed_passages(["a text"])
    assert (vector == busy.vector_of("a text")).all()
    assert len(clock.waits) == 4
    for attempt, waited in enumerate(clock.waits):
        assert 2.0**attempt <= waited <= 2.0 ** (attempt + 1)


async def test_the_wait_that_was_asked_for_is_kept() -> None:
    clock = Clock()
    await PatientEmbedder(BusyEmbedder(1, retry_after=45), sleep=clock.sleep).embed_passages(["a"])
    assert clock.waits == [45]


async def test_patience_ends() -> None:
    clock = Clock()
    with pytest.raises(EmbedderBusy):
        await PatientEmbedder(BusyEmbedder(99), sleep=clock.sleep).embed_passages(["a"])
    assert len(clock.waits) == JOB.attempts - 1
    with pytest.raises(EmbedderBusy):
        await PatientEmbedder(BusyEmbedder(1, 3600), sleep=clock.sleep).embed_passages(["a"])


async def test_a_question_is_refused_at_once() -> None:
    clock = Clock()
    with pytest.raises(EmbedderBusy):
        await PatientEmbedder(BusyEmbedder(1), sleep=clock.sleep).embed_query("a")
    assert clock.waits == []
