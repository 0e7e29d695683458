"""Suggests first questions for a book: its author's, else some made from it that it is sure to answer."""

from datetime import datetime
from typing import TypeAlias

from askbook.book import HardwareTier
from askbook.bootstrap.scope import Scope, query_for
from askbook.chat import ChatTurns
from askbook.config import Settings
from askbook.index import ChunkFilter
from askbook.retrieval.suggestions import suggest
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook

WANTED = 4
TRIED = 12
"""So many questions are put to the book at most; each costs a search."""
READ_LESSONS = 60
READ_CHUNKS = 3
"""Of each of these lessons so many chunks are read: lessons define things where they begin."""


_State: TypeAlias = tuple[str, HardwareTier | None, datetime | None, datetime | None]


class Suggestions:
    """First questions by book, made once for each state of the book."""

    def __init__(self, library: Library, turns: ChatTurns, settings: Settings) -> None:
        self._library = library
        self._turns = turns
        self._settings = settings
        self._made: dict[_State, tuple[str, ...]] = {}

    async def of(self, shelved: ShelvedBook, tier: HardwareTier | None = None) -> tuple[str, ...]:
        """At most four questions, every one answered with high confidence when it was tried, within a tier."""
        if examples := await self.examples(shelved, tier):
            return examples[:WANTED]
        moments = (shelved.last_full_ingest, shelved.last_incremental_update)
        key = (shelved.book.book_id, tier, *moments)
        if key not in self._made:
            stale = [known for known in self._made if known[:2] == key[:2]]
            self._made[key] = await self._answered(shelved, tier)
            for known in stale:
                self._made.pop(known, None)
        return self._made[key]

    async def examples(self, shelved: ShelvedBook, tier: HardwareTier | None) -> tuple[str, ...]:
        """The author's examples; for a reader bound to a tier none where some lessons are above it.

        An example is the author's own text, and may be about any lesson.
        """
        book_id = shelved.book.book_id
        if tier is None or await self._library.totals(book_id) == await self._library.totals(
            book_id, tier
        ):
            return shelved.book.examples
        return ()

    async def _answered(self, shelved: ShelvedBook, tier: HardwareTier | None) -> tuple[str, ...]:
        answered: list[str] = []
        scope = Scope(hardware_tier=tier, readable_tier=tier)
        for question in (await self._candidates(scope.readable(shelved.book)))[:TRIED]:
            query = await query_for(
                question, scope, shelved.book, self._library, self._settings, None
            )
            if (await self._turns.assess(query)).confidence_level == "high":
                answered.append(question)
            if len(answered) == WANTED:
                break
        return tuple(answered)

    async def _candidates(self, where: ChunkFilter) -> tuple[str, ...]:
        lessons = list((await self._library.chunk_ids(where.book_id)).values())
        step = max(1, len(lessons) // READ_LESSONS)
        wanted = [i for lesson in lessons[::step][:READ_LESSONS] for i in lesson[:READ_CHUNKS]]
        found = await self._library.chunks(where.book_id, wanted)
        chunks = [found[i] for i in wanted if i in found]
        return suggest([chunk for chunk in chunks if where.admits(chunk.metadata)])
