"""The composition root: the only place where concrete parts meet. `Askbook` is the library's front door."""

import hashlib
import re
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.agent.response import AgentResponse
from askbook.agent.run import Tutor
from askbook.book import (
    Book,
    DocumentChunk,
    HardwareTier,
    IngestionMode,
    ProficiencyLevel,
    TeachingLayer,
)
from askbook.chat import ChatTurns, TurnEvent
from askbook.config import Settings, load_settings
from askbook.embedding import Embedder, Fingerprint
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.embedding.patience import PatientEmbedder
from askbook.errors import (
    AskbookError,
    ConfigurationError,
    EmbedderMismatch,
    InvalidInput,
    NotFound,
    ServiceUnavailable,
)
from askbook.index import ChunkFilter, ChunkIndex
from askbook.index.edge import EdgeIndex
from askbook.ingestion.audit import Audit, Auditor
from askbook.ingestion.job_store import JobStore
from askbook.ingestion.jobs import Progress
from askbook.ingestion.pipeline import Pipeline
from askbook.ingestion.planning import Plan
from askbook.ingestion.presence import Presence
from askbook.ingestion.running import IngestionJobs
from askbook.ingestion.state import IngestionState, load_state
from askbook.ingestion.switching import remove_book
from askbook.ingestion.workflows import DurableJobs
from askbook.models import load_reference
from askbook.retrieval.calibration import choose_calibration
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.expansion import Passage, surroundings
from askbook.retrieval.history import Message
from askbook.retrieval.judging import BuiltinJudge, Judge
from askbook.retrieval.query import SearchMode, SearchQuery, check_question
from askbook.retrieval.search import Searcher, SearchWeights
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import DATABASE_FILE, open_engine
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook, ShelvedLesson
from askbook.storage.vectors import VectorCache

log = structlog.get_logger(__name__)

INDEX_FOLDER = "index"
QUEUE_FILE = "jobs.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What part of which book a question is about; None leaves it to the book and its reader."""

    book_id: str | None = None
    hardware_tier: HardwareTier | None = None
    module: str | None = None
    chapter_min: int | None = None
    chapter_max: int | None = None
    lesson: int | None = None
    proficiency_levels: tuple[ProficiencyLevel, ...] | None = None
    layer: TeachingLayer | None = None
    parent_doc_id: str | None = None
    similarity_threshold: float | None = None


class Askbook:
    """A running askbook on one data directory: `async with Askbook(settings) as book`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        model: Callable[[], Any] | None = None,
    ) -> None:
        self.settings = settings or load_settings()
        self._given_embedder = embedder
        self._given_judge = judge
        self._given_model = model
        self._directory: DataDirectory | None = None
        self._engine: AsyncEngine | None = None

    async def __aenter__(self) -> Self:
        storage = self.settings.storage
        self.embedder: Embedder = self._given_embedder or _embedder(self.settings)
        fingerprint = self.embedder.fingerprint
        self.index: ChunkIndex = _index(self.settings, fingerprint)
        self._directory = DataDirectory(storage.data_dir)
        try:
            url = storage.database_url.get_secret_value() if storage.database_url else None
            self._engine = await open_engine(storage.data_dir, url)
        except BaseException:
            self._directory.close()
            raise
        self.judge = self._judge()
        self.library = Library(self._engine)
        self.cache = VectorCache(self._engine)
        patient = PatientEmbedder(self.embedder)
        self.pipeline = Pipeline(self.library, self.cache, self.index, patient)
        self.auditor = Auditor(self.library, self.cache, self.index, patient, self.pipeline)
        presence = Presence(self._engine, _worker_id(self.settings))
        self.jobs = IngestionJobs(JobStore(self._engine), presence, self.pipeline)
        self.durable_jobs = DurableJobs(self.jobs, _queue_url(self.settings))
        retrieval = self.settings.retrieval
        self.searcher = Searcher(
            self.library,
            self.index,
            self.embedder,
            self.judge,
            SearchWeights(retrieval.dense_weight, retrieval.sparse_weight),
        )
        calibration = choose_calibration(str(fingerprint), judged=self.judge is not None)
        self.tutor = self._tutor()
        self.turns = ChatTurns(
            self.searcher, self.judge, self.settings.confidence, calibration, self.tutor
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.durable_jobs.stop()
        await self.jobs.presence.withdraw()
        if self.tutor is not None:
            await self.tutor.close()
        await self.index.close()
        await self.embedder.close()
        if self.judge is not None:
            await self.judge.close()
        if self._engine is not None:
            await self._engine.dispose()
        if self._directory is not None:
            self._directory.close()

    async def ingest(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> AsyncIterator[Progress]:
        """Make the index equal to a folder, telling the progress as it goes."""
        async for progress in self.jobs.run(folder, book_id, mode):
            yield progress

    async def plan(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> Plan:
        """What an ingest would do."""
        return await self.pipeline.plan(folder, book_id, mode)

    async def audit(self, book_id: str | None = None, *, repair: bool = False) -> list[Audit]:
        """Whether files, database and index agree, of one book or of all; with `repair`, make them."""
        known = await self.library.books()
        wanted = known if book_id is None else [await self.book(book_id)]
        return [await self.auditor.audit(shelved, repair=repair) for shelved in wanted]

    async def delete_book(self, book_id: str) -> int:
        """Remove a book for good; its folder stays. Returns how many chunks it had."""
        return await remove_book(self.library, self.cache, self.index, await self.book(book_id))

    async def search(
        self,
        text: str,
        scope: Scope | None = None,
        *,
        top_k: int | None = None,
        mode: SearchMode = "hybrid",
    ) -> tuple[SearchQuery, RetrievalContext]:
        """The best chunks for a question."""
        check_question(text)
        scope = scope or Scope()
        book = await self._searchable(scope.book_id)
        query = await self._query(text, scope, book, top_k, mode)
        return query, await self.searcher.search(query)

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
        query, book = await self._question(text, scope or Scope(), top_k)
        return await self.turns.answer(query, book, history=history, selected_text=selected_text)

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
        query, book = await self._question(text, scope or Scope(), top_k)
        turn = self.turns.stream(query, book, history=history, selected_text=selected_text)
        async with aclosing(turn) as events:
            async for event in events:
                yield event

    async def _question(
        self, text: str, scope: Scope, top_k: int | None
    ) -> tuple[SearchQuery, Book]:
        check_question(text)
        book = await self._searchable(scope.book_id)
        return await self._query(text, scope, book, top_k, "hybrid"), book

    async def surroundings(self, chunk_id: str, scope: Scope, reach: int = 1) -> Passage:
        """A chunk with its neighbours, within the reader's book and tier."""
        book = (await self.book(scope.book_id)).book
        passage = await surroundings(self.library, _readable(book, scope), chunk_id, reach)
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
        book = (await self.book(scope.book_id)).book
        found = await self.library.lesson(book.book_id, parent_doc_id=parent_doc_id)
        where = _readable(book, scope)
        if found is None or not all(where.admits(chunk.metadata) for chunk in found[1]):
            raise NotFound(
                f"Book {book.book_id!r} has no lesson {parent_doc_id!r} for this reader.",
                "Search again; the lesson may have changed.",
            )
        return found

    async def checks(self) -> "list[Check]":
        """Whether each part answers."""
        return [
            await _check("database", self._database_finding()),
            await _check("index", self._index_finding()),
            await _check("embedder", _embedder_finding(self.embedder)),
            await _check("judge", _judge_finding(self.judge)),
        ]

    async def _database_finding(self) -> str:
        return f"{len(await self.library.books())} book(s)"

    async def _index_finding(self) -> str:
        return f"{await self.index.count()} chunks"

    async def book(self, book_id: str | None) -> ShelvedBook:
        """The named book, or the only one."""
        shelved = await self.library.books()
        known = ", ".join(s.book.book_id for s in shelved)
        if not shelved:
            raise NotFound("There is no book here yet.", "Ingest one with `askbook ingest PATH`.")
        if book_id is None and len(shelved) > 1:
            raise InvalidInput(f"There are several books: {known}.", "Name one with --book.")
        for candidate in shelved:
            if book_id in (None, candidate.book.book_id):
                return candidate
        raise NotFound(f"There is no book {book_id!r}.", f"Known books: {known}.")

    async def _searchable(self, book_id: str | None) -> Book:
        """A book whose vectors the current embedder made."""
        shelved = await self.book(book_id)
        if shelved.fingerprint != str(self.embedder.fingerprint):
            raise EmbedderMismatch(
                f"Book {shelved.book.book_id!r} was indexed with the embedder "
                f"{shelved.fingerprint}, but {self.embedder.fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index it again with "
                "`askbook ingest PATH --mode recreate`.",
            )
        return shelved.book

    async def _query(
        self, text: str, scope: Scope, book: Book, top_k: int | None, mode: SearchMode
    ) -> SearchQuery:
        least = scope.similarity_threshold
        least = self.settings.retrieval.score_threshold if least is None else least
        calibrated = self.settings.confidence.policy == "calibrated"
        return SearchQuery(
            text=text,
            book_id=book.book_id,
            hardware_tier_filter=scope.hardware_tier or book.reader_tier or 1,
            module_filter=await self._module(book, scope.module),
            chapter_min=scope.chapter_min,
            chapter_max=scope.chapter_max,
            lesson_filter=scope.lesson,
            proficiency_levels=scope.proficiency_levels,
            layer_filter=scope.layer,
            parent_doc_id=scope.parent_doc_id,
            limit=top_k if top_k is not None else self.settings.retrieval.top_k,
            mode=mode,
            # A cosine means something else for every embedder; a probability does not.
            min_relevance=least if calibrated else 0.0,
            min_score=0.0 if calibrated else least,
        )

    async def _module(self, book: Book, name: str | None) -> str | None:
        if name is None:
            return None
        listed = book.module_named(name)
        if listed is not None:
            return listed.name
        known = [m.name for m in book.modules] or await self.library.modules(book.book_id)
        if name in known:
            return name
        raise InvalidInput(
            f"Book {book.book_id!r} has no module {name!r}.", f"Its modules: {', '.join(known)}."
        )

    def _tutor(self) -> Tutor | None:
        """The language model that writes answers; without a key and a base URL there is none."""
        openai, key = self.settings.openai, self.settings.openai.openai_api_key
        if self._given_model is None and key is None and openai.openai_base_url is None:
            return None
        if key is not None and openai.openai_base_url is None:
            secret = key.get_secret_value()
            if not secret.startswith("sk-") or len(secret) < 40:
                log.warning(
                    "openai_api_key_looks_wrong", expected="sk-… with 40 characters or more"
                )
        return Tutor(
            self.settings.model, openai, self.searcher, self.judge, connect=self._given_model
        )

    def _judge(self) -> Judge | None:
        if not self.settings.retrieval.judge:
            return None
        return self._given_judge or BuiltinJudge()


def _readable(book: Book, scope: Scope) -> ChunkFilter:
    """What a reader may open: the book, up to the reader's tier."""
    return ChunkFilter(book.book_id, hardware_tier=scope.hardware_tier or book.reader_tier or 1)


def _worker_id(settings: Settings) -> str:
    """Stable over restarts, and different for every process that shares a database."""
    if settings.storage.database_url is None:
        return "embedded"
    place = hashlib.sha256(str(settings.storage.data_dir.resolve()).encode()).hexdigest()[:8]
    return settings.ingestion.worker_id or f"{socket.gethostname()}-{place}"


def _queue_url(settings: Settings) -> str:
    """Where queued jobs are kept: with the books on PostgreSQL, or in a file of their own."""
    url = settings.storage.database_url
    if url is None:
        return f"sqlite:///{settings.storage.data_dir / QUEUE_FILE}"
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url.get_secret_value())


@dataclass(frozen=True, slots=True)
class Check:
    """One part, whether it is sound, and what to do when it is not."""

    part: str
    ok: bool
    finding: str
    fix: str | None = None


async def diagnose(settings: Settings) -> list[Check]:
    """Check every part of an installation without changing anything."""
    if not settings.storage.data_dir.exists():
        place = Check("data directory", True, f"{settings.storage.data_dir} is not there yet")
        return [
            place,
            await _check("embedder", _embedder_of(settings)),
            await _check("judge", _judge_finding(BuiltinJudge())),
        ]
    try:
        async with Askbook(settings) as askbook:
            held = Check("data directory", True, str(settings.storage.data_dir))
            return [held, *await askbook.checks()]
    except AskbookError as error:
        return [Check("data directory", False, error.message, error.suggestion)]


@asynccontextmanager
async def open_library(settings: Settings) -> AsyncGenerator[Library]:
    """The library alone, to read from; works beside a running server."""
    storage = settings.storage
    if storage.database_url is None and not (storage.data_dir / DATABASE_FILE).exists():
        raise NotFound("There is no book here yet.", "Ingest one with `askbook ingest PATH`.")
    url = storage.database_url.get_secret_value() if storage.database_url else None
    engine = await open_engine(storage.data_dir, url)
    try:
        yield Library(engine)
    finally:
        await engine.dispose()


async def read_states(settings: Settings, book_id: str | None = None) -> list[IngestionState]:
    """What is indexed, of one book or of all; works beside a running server."""
    storage = settings.storage
    if storage.database_url is None and not (storage.data_dir / DATABASE_FILE).exists():
        known: list[str] = []
        states: list[IngestionState | None] = []
    else:
        url = storage.database_url.get_secret_value() if storage.database_url else None
        engine = await open_engine(storage.data_dir, url)
        try:
            library = Library(engine)
            known = [shelved.book.book_id for shelved in await library.books()]
            wanted = known if book_id is None else [book_id]
            states = [
                await load_state(library, i, settings.index.qdrant_collection_name) for i in wanted
            ]
        finally:
            await engine.dispose()
    if book_id is not None and book_id not in known:
        raise NotFound(
            f"There is no book {book_id!r}.",
            f"Known books: {', '.join(known)}."
            if known
            else "Ingest one with `askbook ingest PATH`.",
        )
    return [state for state in states if state is not None]


async def _check(part: str, finding: Awaitable[str]) -> Check:
    try:
        return Check(part, True, await finding)
    except AskbookError as error:
        return Check(part, False, error.message, error.suggestion)


def _embedder(settings: Settings) -> Embedder:
    """The embedder that ASKBOOK_EMBEDDER names; vendors' code is imported when it is used."""
    match settings.embedder.embedder:
        case "builtin":
            return BuiltinEmbedder()
        case "openai":
            from askbook.embedding.openai import OpenAIEmbedder

            return OpenAIEmbedder(settings.embedder, settings.openai)
        case "cohere":
            from askbook.embedding.cohere import CohereEmbedder

            return CohereEmbedder(settings.embedder, settings.cohere)


def _index(settings: Settings, fingerprint: Fingerprint) -> ChunkIndex:
    """The Qdrant server that QDRANT_URL names, or the index in the data directory."""
    if settings.index.qdrant_url is None:
        folder = settings.storage.data_dir / INDEX_FOLDER
        return EdgeIndex(folder, str(fingerprint), fingerprint.dimension)
    try:
        from askbook.index.server import ServerIndex
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"QDRANT_URL is set, but the package {error.name} is not installed.",
            "Install it with `pip install 'askbook[server]'`, or unset QDRANT_URL "
            "to use the embedded index.",
        ) from error
    return ServerIndex(settings.index, str(fingerprint), fingerprint.dimension)


async def _embedder_of(settings: Settings) -> str:
    return await _embedder_finding(_embedder(settings))


async def _embedder_finding(embedder: Embedder) -> str:
    """The built-in embedder must give the vectors its card promises."""
    if isinstance(embedder, BuiltinEmbedder):
        for entry in load_reference("embed"):
            [vector] = await embedder.embed_passages([entry["text"]])
            expected = np.asarray(entry["embedding"], dtype=np.float32)
            if float(vector @ expected) < 0.999:
                raise ServiceUnavailable(
                    f"{embedder.fingerprint} gives other vectors than its reference.",
                    "Install askbook and onnxruntime again.",
                )
    return str(embedder.fingerprint)


async def _judge_finding(judge: Judge | None) -> str:
    if judge is None:
        return "off (ASKBOOK_JUDGE)"
    if isinstance(judge, BuiltinJudge):
        for entry in load_reference("judge"):
            [found] = await judge.judge(entry["question"], [entry["passage"]])
            if abs(found.relevance - entry["relevance"]) > 0.05:
                raise ServiceUnavailable(
                    "The built-in judge gives other scores than its reference.",
                    "Install askbook and onnxruntime again.",
                )
    return "ready"
