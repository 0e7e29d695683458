"""Builds the concrete parts that the settings name."""

import hashlib
import re
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from askbook.config import Settings
from askbook.embedding import Embedder, Fingerprint
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import ConfigurationError
from askbook.index import ChunkIndex
from askbook.index.edge import EdgeIndex
from askbook.retrieval.judging import BuiltinJudge, Judge
from askbook.retrieval.search import Searcher

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from askbook.access.limits import Limiter
    from askbook.agent.likeness import Likeness
    from askbook.agent.run import Tutor
    from askbook.chat.turn import Answerer
    from askbook.index.server import ServerIndex

INDEX_FOLDER = "index"
QUEUE_FILE = "jobs.db"


def make_embedder(settings: Settings) -> Embedder:
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


def make_index(settings: Settings, fingerprint: Fingerprint) -> ChunkIndex:
    """The Qdrant server that QDRANT_URL names, or the index in the data directory."""
    if settings.index.qdrant_url is None:
        folder = settings.storage.data_dir / INDEX_FOLDER
        return EdgeIndex(folder, str(fingerprint), fingerprint.dimension)
    return make_server_index(settings, fingerprint)


def make_server_index(settings: Settings, fingerprint: Fingerprint) -> "ServerIndex":
    """The Qdrant server that QDRANT_URL names; its client is imported when it is used."""
    try:
        from askbook.index.server import ServerIndex
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"QDRANT_URL is set, but the package {error.name} is not installed.",
            "Install it with `pip install 'askbook[server]'`, or unset QDRANT_URL "
            "to use the embedded index.",
        ) from error
    return ServerIndex(settings.index, str(fingerprint), fingerprint.dimension)


def make_judge(settings: Settings, given: Judge | None = None) -> Judge | None:
    """The judge, unless ASKBOOK_JUDGE turns it off."""
    return (given or BuiltinJudge()) if settings.retrieval.judge else None


def make_likeness(embedder: Embedder) -> BuiltinEmbedder:
    """What tells how alike two sentences are: always the built-in model, whose measures are known."""
    return embedder if isinstance(embedder, BuiltinEmbedder) else BuiltinEmbedder()


def make_tutor(
    settings: Settings,
    searcher: Searcher,
    judge: Judge | None,
    likeness: "Likeness",
    connect: Callable[[], Any] | None,
) -> "Tutor | None":
    """The language model that writes answers; without a key and a base URL there is none."""
    openai, key = settings.openai, settings.openai.openai_api_key
    if connect is None and key is None and openai.openai_base_url is None:
        return None
    import structlog

    from askbook.agent.run import Tutor

    if key is not None and openai.openai_base_url is None:
        secret = key.get_secret_value()
        if not secret.startswith("sk-") or len(secret) < 40:
            structlog.get_logger(__name__).warning(
                "openai_api_key_looks_wrong", expected="sk-… with 40 characters or more"
            )
    return Tutor(settings.model, openai, searcher, judge, likeness=likeness, connect=connect)


def make_limiter(settings: Settings) -> "Limiter":
    """Counts requests on the Valkey or Redis that ASKBOOK_REDIS_URL names, or in this process."""
    from limits.errors import ConfigurationError as Unavailable

    from askbook.access.limits import Limiter, SharedWindow

    url = settings.access.redis_url
    if url is None:
        return Limiter()
    try:
        return Limiter(SharedWindow(url.get_secret_value()))
    except Unavailable as error:
        raise ConfigurationError(
            "ASKBOOK_REDIS_URL is set, but the package redis is not installed.",
            "Install it with `pip install 'askbook[server]'`, or unset ASKBOOK_REDIS_URL "
            "to count in this process.",
        ) from error


def make_searcher(tracer: "Tracer | None", *parts: Any) -> Searcher:
    """The searcher of these parts, traced where somebody traces."""
    if tracer is None:
        return Searcher(*parts)
    from askbook.bootstrap.tracing import TracedSearcher

    return TracedSearcher(tracer, *parts)


def traced_judge(tracer: "Tracer | None", judge: Judge | None) -> Judge | None:
    if tracer is None or judge is None:
        return judge
    from askbook.bootstrap.tracing import TracedJudge

    return TracedJudge(tracer, judge)


def traced_tutor(tracer: "Tracer | None", tutor: "Tutor | None") -> "Answerer | None":
    if tracer is None or tutor is None:
        return tutor
    from askbook.bootstrap.tracing import TracedTutor

    return TracedTutor(tracer, tutor)


def worker_id(settings: Settings) -> str:
    """Stable over restarts, and different for every process that shares a database."""
    if settings.storage.database_url is None:
        return "embedded"
    place = hashlib.sha256(str(settings.storage.data_dir.resolve()).encode()).hexdigest()[:8]
    return settings.ingestion.worker_id or f"{socket.gethostname()}-{place}"


def queue_url(settings: Settings) -> str:
    """Where queued jobs are kept: with the books on PostgreSQL, or in a file of their own."""
    url = settings.storage.database_url
    if url is None:
        return f"sqlite:///{settings.storage.data_dir / QUEUE_FILE}"
    return re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url.get_secret_value())
