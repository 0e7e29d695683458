"""The parts of a running askbook: how they are opened, put together, and closed."""

from collections.abc import Callable
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.access import Keys
from askbook.bootstrap.observing import Observer, Unobserved
from askbook.bootstrap.parts import (
    make_embedder,
    make_index,
    make_judge,
    make_likeness,
    make_limiter,
    make_searcher,
    make_tutor,
    queue_url,
    traced_judge,
    traced_tutor,
    worker_id,
)
from askbook.bootstrap.suggesting import Suggestions
from askbook.chat import ChatTurns
from askbook.config import Settings, load_settings
from askbook.conversations import Conversations
from askbook.embedding import Embedder
from askbook.gaps.recording import GapRecorder
from askbook.index import ChunkIndex
from askbook.retrieval.book_calibrations import BookCalibrations
from askbook.retrieval.calibration import calibration_for
from askbook.retrieval.judging import Judge
from askbook.retrieval.search import SearchWeights
from askbook.storage.calibrations import CalibrationStore
from askbook.storage.conversations import DatabaseConversations
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import open_engine
from askbook.storage.feedback import FeedbackStore
from askbook.storage.gaps import GapStore
from askbook.storage.keys import KeyStore
from askbook.storage.library import Library
from askbook.storage.vectors import VectorCache

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from askbook.access.limits import Limiter
    from askbook.ingestion.audit import Auditor
    from askbook.ingestion.pipeline import Pipeline
    from askbook.ingestion.running import IngestionJobs
    from askbook.ingestion.workflows import DurableJobs


class Assembly:
    """Everything on one data directory that answering and ingesting need, open while it is entered."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        model: Callable[[], Any] | None = None,
        observer: Observer | None = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        self.settings = settings or load_settings()
        self._observer: Observer = observer or Unobserved()
        self._tracer = tracer
        self._given_embedder = embedder
        self._given_judge = judge
        self._given_model = model
        self._directory: DataDirectory | None = None
        self._engine: AsyncEngine | None = None

    async def __aenter__(self) -> Self:
        storage = self.settings.storage
        self.embedder: Embedder = self._given_embedder or make_embedder(self.settings)
        fingerprint = self.embedder.fingerprint
        self.index: ChunkIndex = make_index(self.settings, fingerprint)
        self._directory = DataDirectory(storage.data_dir)
        try:
            url = storage.database_url.get_secret_value() if storage.database_url else None
            self._engine = await open_engine(storage.data_dir, url)
        except BaseException:
            self._directory.close()
            raise
        self.judge = make_judge(self.settings, self._given_judge)
        self.likeness = make_likeness(self.embedder)
        self.library = Library(self._engine)
        self.cache = VectorCache(self._engine)
        retrieval = self.settings.retrieval
        self.calibrations = BookCalibrations(
            CalibrationStore(self._engine), str(fingerprint), judged=self.judge is not None
        )
        judge = traced_judge(self._tracer, self.judge)
        self.searcher = make_searcher(
            self._tracer,
            self.library,
            self.index,
            self.embedder,
            judge,
            SearchWeights(retrieval.dense_weight, retrieval.sparse_weight),
            self.settings.confidence.min_relevance_score,
            self.calibrations,
        )
        self.gaps = GapStore(self._engine)
        self._recorder = GapRecorder(self.gaps)
        self.feedback = FeedbackStore(self._engine)
        self.conversations = Conversations(DatabaseConversations(self._engine))
        self.keys = Keys(KeyStore(self._engine))
        self.tutor = traced_tutor(
            self._tracer,
            make_tutor(self.settings, self.searcher, judge, self.likeness, self._given_model),
        )
        self.turns = ChatTurns(
            self.searcher,
            judge,
            self.settings.confidence,
            partial(calibration_for, fingerprint=str(fingerprint)),
            self.tutor,
        )
        self.suggestions = Suggestions(self.library, self.turns, self.settings)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._recorder.settle()
        if "durable_jobs" in self.__dict__:
            await self.durable_jobs.stop()
        if "jobs" in self.__dict__:
            await self.jobs.presence.withdraw()
        if "limiter" in self.__dict__:
            await self.limiter.close()
        if self.tutor is not None:
            await self.tutor.close()
        await self.index.close()
        await self.embedder.close()
        await self.likeness.close()
        if self.judge is not None:
            await self.judge.close()
        if self._engine is not None:
            await self._engine.dispose()
        if self._directory is not None:
            self._directory.close()

    # Who only asks needs no ingestion: its parts are imported and made at first use.

    @cached_property
    def pipeline(self) -> "Pipeline":
        from askbook.embedding.patience import PatientEmbedder
        from askbook.ingestion.pipeline import Pipeline

        return Pipeline(self.library, self.cache, self.index, PatientEmbedder(self.embedder))

    @cached_property
    def auditor(self) -> "Auditor":
        from askbook.embedding.patience import PatientEmbedder
        from askbook.ingestion.audit import Auditor

        patient = PatientEmbedder(self.embedder)
        return Auditor(self.library, self.cache, self.index, patient, self.pipeline)

    @cached_property
    def jobs(self) -> "IngestionJobs":
        from askbook.ingestion.job_store import JobStore
        from askbook.ingestion.presence import Presence
        from askbook.ingestion.running import IngestionJobs

        presence = Presence(self.engine, worker_id(self.settings))
        ended = self._observer.job_ended
        return IngestionJobs(JobStore(self.engine), presence, self.pipeline, ended)

    @cached_property
    def durable_jobs(self) -> "DurableJobs":
        from askbook.ingestion.workflows import DurableJobs

        return DurableJobs(self.jobs, queue_url(self.settings))

    @cached_property
    def limiter(self) -> "Limiter":
        """Counts what callers ask over HTTP."""
        return make_limiter(self.settings)

    @property
    def engine(self) -> AsyncEngine:
        """The open database."""
        if self._engine is None:
            raise RuntimeError("Open askbook first: `async with Askbook() as book`.")
        return self._engine
