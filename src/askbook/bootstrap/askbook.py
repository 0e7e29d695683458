"""A running askbook: what the front ends and programs can ask of it."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askbook.agent.response import AgentResponse, linked
from askbook.book import Book, DocumentChunk, IngestionMode
from askbook.bootstrap.assembly import Assembly
from askbook.bootstrap.feedback import FeedbackList, list_votes, rate_answer
from askbook.bootstrap.scope import Scope, choose_book, query_for
from askbook.chat import TurnEnded, TurnEvent, response_of, unasked
from askbook.conversations import LOCAL, Retrieval
from askbook.errors import EmbedderMismatch, NotFound
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.expansion import Passage, surroundings
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchMode, SearchQuery, check_question
from askbook.retrieval.terms import content_terms
from askbook.storage.feedback import Rating
from askbook.storage.rows import ShelvedBook, ShelvedLesson

if TYPE_CHECKING:
    from askbook.gaps.listing import GapList
    from askbook.ingestion.audit import Audit
    from askbook.ingestion.jobs import Progress
    from askbook.ingestion.planning import Plan


class Askbook(Assembly):
    """A running askbook on one data directory: `async with Askbook(settings) as book`."""

    async def ingest(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> "AsyncIterator[Progress]":
        """Make the index equal to a folder, telling the progress as it goes."""
        async for progress in self.jobs.run(folder, book_id, mode):
            yield progress

    async def plan(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> "Plan":
        """What an ingest would do."""
        return await self.pipeline.plan(folder, book_id, mode)

    async def audit(self, book_id: str | None = None, *, repair: bool = False) -> "list[Audit]":
        """Whether files, database and index agree, of one book or of all; with `repair`, make them."""
        known = await self.library.books()
        wanted = known if book_id is None else [await self.book(book_id)]
        return [await self.auditor.audit(shelved, repair=repair) for shelved in wanted]

    async def delete_book(self, book_id: str) -> int:
        """Remove a book for good, ending its ingest; its folder stays. Returns how many chunks it had."""
        from askbook.ingestion.switching import remove_book

        await self._recorder.settle()
        await self.book(book_id)
        await self.jobs.end_of_book(book_id)
        return await remove_book(self.library, self.cache, self.index, await self.book(book_id))

    async def search(
        self,
        text: str,
        scope: Scope | None = None,
        *,
        top_k: int | None = None,
        mode: SearchMode = "hybrid",
        history: Sequence[Message] = (),
    ) -> tuple[SearchQuery, RetrievalContext]:
        """The best chunks for a question; with a history, for what it means after what was said."""
        check_question(text)
        scope = scope or Scope()
        book = await self.searchable(scope.book_id, scope.books)
        query = await query_for(text, scope, book, self.library, self.settings, top_k, mode)
        found = await self.searcher.search(query, history)
        return query, replace(found, results=linked(book, found.results))

    async def ask(
        self,
        text: str,
        scope: Scope | None = None,
        *,
        top_k: int | None = None,
        history: Sequence[Message] = (),
        selected_text: str | None = None,
    ) -> AgentResponse:
        """An answer with citations, or an honest refusal."""
        return await response_of(
            self.stream(text, scope, top_k=top_k, history=history, selected_text=selected_text)
        )

    async def stream(
        self,
        text: str,
        scope: Scope | None = None,
        *,
        top_k: int | None = None,
        history: Sequence[Message] = (),
        selected_text: str | None = None,
    ) -> AsyncGenerator[TurnEvent]:
        """The same as it happens: states, sources, each sentence once it is checked, the whole."""
        scope = scope or Scope()
        # Only a question that says by itself what is asked of the whole book can tell what the book lacks.
        follows = bool(history) and len(content_terms(text)) < 2
        is_whole = selected_text is None and not follows and unasked(text, history) is None
        complete = scope.is_whole_book and is_whole
        query, book = await self._question(text, scope, top_k)
        turn = self.turns.stream(query, book, history=history, selected_text=selected_text)
        try:
            async with aclosing(turn) as events:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        self._observer.turn_ended(event.response)
                        if complete:
                            self._note_gap(event, text)
                    yield event
        except Exception:
            self._observer.turn_failed()
            raise

    async def converse(
        self,
        text: str,
        session_id: str,
        scope: Scope | None = None,
        *,
        owner: str = LOCAL,
        top_k: int | None = None,
        selected_text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        is_new: bool = False,
    ) -> AsyncGenerator[TurnEvent]:
        """A turn of a session: it knows what was said, and is kept before its end is told.

        The turns of one session follow each other; one that is broken off leaves nothing. `is_new` says
        that the session begins with it.
        """
        asked = Message(role="user", content=text)
        turn = self.conversations.turn(session_id, owner, metadata, is_new=is_new)
        async with turn as dialogue:
            scope = scope or Scope()
            scope = replace(scope, book_id=dialogue.book(scope.book_id))
            told = self.stream(
                text, scope, top_k=top_k, history=dialogue.history, selected_text=selected_text
            )
            async with aclosing(told) as events:
                async for event in events:
                    if isinstance(event, TurnEnded):
                        response = event.response
                        retrieval = Retrieval(
                            query=text,
                            results_count=response.retrieval_count,
                            avg_similarity=response.metrics.average_similarity,
                            timestamp=asked.timestamp,
                            filter_applied=event.filter_applied,
                        )
                        await dialogue.append(
                            asked,
                            response.answer,
                            book_id=response.book_id,
                            confidence=response.confidence,
                            retrievals=(retrieval, *map(_further, event.searches)),
                            evidence=response.evidence,
                        )
                    yield event

    async def check_turn(
        self,
        session_id: str | None,
        scope: Scope,
        *,
        owner: str = LOCAL,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Refuse a session or a book that a turn could not have, before it begins."""
        book_id = scope.book_id
        if session_id is not None:
            dialogue = await self.conversations.dialogue(session_id, owner, metadata)
            book_id = dialogue.book(book_id)
        await self.book(book_id, scope.books)

    def announce(self, address: str) -> None:
        """Tell other processes on this data directory where this one answers."""
        if self._directory is not None:
            self._directory.announce(address)

    async def check_question(self, text: str, scope: Scope) -> None:
        """Refuse a question that could not be put, before its answer begins."""
        await self._question(text, scope, None)

    async def list_gaps(
        self,
        book_id: str | None = None,
        *,
        books: frozenset[str] | None = None,
        days: int | None = None,
        limit: int | None = None,
    ) -> "GapList":
        """What readers asked of a book and it does not answer, for its author."""
        from askbook.gaps.listing import list_gaps

        await self._recorder.settle()
        name = (await self.book(book_id, books)).book.book_id
        return await list_gaps(self.gaps, self.embedder, name, days=days, limit=limit)

    async def rate(
        self,
        session_id: str,
        rating: Rating,
        comment: str | None = None,
        turn: int | None = None,
        *,
        owner: str = LOCAL,
    ) -> None:
        """Keep a reader's vote on an exchange of a session; a second one replaces the first."""
        await rate_answer(
            self.conversations, self.feedback, owner, session_id, rating, comment, turn
        )

    async def list_feedback(
        self,
        book_id: str | None = None,
        rating: Rating = "down",
        limit: int = 50,
        *,
        books: frozenset[str] | None = None,
    ) -> FeedbackList:
        """What readers think of a book's answers, for its author."""
        name = (await self.book(book_id, books)).book.book_id
        return await list_votes(self.feedback, name, rating, limit)

    def _note_gap(self, ended: TurnEnded, text: str) -> None:
        """Keep a declined question that the whole book does not answer."""
        response = ended.response
        if response.should_answer or ended.is_covered_elsewhere:
            return
        if self.settings.storage.keep_gaps:
            self._recorder.keep(response.book_id, text, response.confidence, ended.nearest)

    async def _question(
        self, text: str, scope: Scope, top_k: int | None
    ) -> tuple[SearchQuery, Book]:
        check_question(text)
        book = await self.searchable(scope.book_id, scope.books)
        return await query_for(text, scope, book, self.library, self.settings, top_k), book

    async def surroundings(self, chunk_id: str, scope: Scope, reach: int = 1) -> Passage:
        """A chunk with its neighbours, within the reader's book and tier."""
        book = (await self.book(scope.book_id, scope.books)).book
        passage = await surroundings(self.library, scope.readable(book), chunk_id, reach)
        if passage is None:
            raise NotFound(
                f"Book {book.book_id!r} has no chunk {chunk_id!r} for this reader.",
                "Search again; the lesson may have changed.",
            )
        return passage

    async def lesson(
        self, parent_doc_id: str, scope: Scope
    ) -> tuple[ShelvedLesson, list[DocumentChunk]]:
        """A whole lesson, within the reader's book and tier."""
        book = (await self.book(scope.book_id, scope.books)).book
        found = await self.library.lesson(book.book_id, parent_doc_id=parent_doc_id)
        where = scope.readable(book)
        if found is None or not all(where.admits(chunk.metadata) for chunk in found[1]):
            raise NotFound(
                f"Book {book.book_id!r} has no lesson {parent_doc_id!r} for this reader.",
                "Search again; the lesson may have changed.",
            )
        return found

    async def book(self, book_id: str | None, books: frozenset[str] | None = None) -> ShelvedBook:
        """The named book, or the only one; of `books`, when only those exist for the reader."""
        return choose_book(await self.library.shelf(), book_id, books)

    async def searchable(self, book_id: str | None, books: frozenset[str] | None = None) -> Book:
        """A book whose vectors the current embedder made."""
        shelved = await self.book(book_id, books)
        if shelved.fingerprint != str(self.embedder.fingerprint):
            raise EmbedderMismatch(
                f"Book {shelved.book.book_id!r} was indexed with the embedder "
                f"{shelved.fingerprint}, but {self.embedder.fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index it again with "
                "`askbook ingest PATH --mode recreate`.",
            )
        return shelved.book


def _further(context: RetrievalContext) -> Retrieval:
    """A search that the model added to the first one."""
    return Retrieval(
        query=context.query,
        results_count=context.total_found,
        avg_similarity=context.average_score,
        timestamp=context.retrieved_at,
        filter_applied=context.filter_applied,
    )
