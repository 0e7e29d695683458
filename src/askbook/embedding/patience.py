"""An embedder for work that can wait: when a limit is met, it waits and tries again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from askbook.book import Vector
from askbook.embedding.base import Embedder, Fingerprint
from askbook.errors import EmbedderBusy
from askbook.remote import Backoff

JOB = Backoff(attempts=6, base=2.0, cap=60.0)
"""For a whole ingest: longer than an adapter's own retries, since a limit may count by the minute."""
LONGEST_ASKED = 300.0

log = structlog.get_logger(__name__)


class PatientEmbedder:
    """Another embedder whose passages are tried again, ever later, until patience ends.

    Questions are not: somebody waits for their answer.
    """

    def __init__(
        self,
        embedder: Embedder,
        backoff: Backoff = JOB,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._embedder = embedder
        self._backoff = backoff
        self._sleep = sleep

    @property
    def fingerprint(self) -> Fingerprint:
        return self._embedder.fingerprint

    async def embed_query(self, text: str) -> Vector:
        return await self._embedder.embed_query(text)

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        attempt = 0
        while True:
            attempt += 1
            try:
                return await self._embedder.embed_passages(texts)
            except EmbedderBusy as error:
                asked = error.retry_after or 0.0
                if attempt >= self._backoff.attempts or asked > LONGEST_ASKED:
                    raise
                seconds = max(self._backoff.wait(attempt), asked)
                log.warning("embedder_busy", attempt=attempt, seconds=round(seconds, 1))
            await self._sleep(seconds)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)

    async def close(self) -> None:
        await self._embedder.close()
