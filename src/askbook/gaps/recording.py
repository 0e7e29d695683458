"""Keeps a declined question after its turn: the reader does not wait for it and never sees it fail."""

import asyncio
from datetime import UTC, datetime

import structlog

from askbook.gaps.cleaning import cleaned
from askbook.retrieval.query import SearchResult
from askbook.storage.gaps import Gap, GapStore

AT_ONCE = 100
"""Questions on their way to the store; beyond, somebody floods the book, and no more are taken."""

log = structlog.get_logger(__name__)


class GapRecorder:
    """Writes gaps in the background."""

    def __init__(self, store: GapStore) -> None:
        self._store = store
        self._under_way: set[asyncio.Task[None]] = set()

    def keep(
        self, book_id: str, question: str, confidence: float, nearest: SearchResult | None
    ) -> None:
        """Begin to keep a declined question, with the lesson that came nearest."""
        if len(self._under_way) >= AT_ONCE:
            return
        task = asyncio.create_task(self._keep(book_id, question, confidence, nearest))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def settle(self) -> None:
        """Wait until all that was begun is kept."""
        await asyncio.gather(*self._under_way)

    async def _keep(
        self, book_id: str, question: str, confidence: float, nearest: SearchResult | None
    ) -> None:
        try:
            text = cleaned(question)
            if not text:
                return
            gap = Gap(
                question=text,
                last_asked=datetime.now(UTC).date(),
                confidence=confidence,
                source_file=nearest.chunk.metadata.source_file if nearest else None,
                page_title=nearest.page_title if nearest else None,
            )
            await self._store.record(book_id, gap)
        except Exception as error:
            # Only its kind: a database error quotes the statement, and with it the question.
            log.warning("gap_not_kept", book_id=book_id, reason=type(error).__name__)
