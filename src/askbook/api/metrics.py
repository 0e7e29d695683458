"""What a server counts, in Prometheus' terms. Every label has few values: no book, no path, no reader is one."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

from askbook.agent.response import AgentResponse
from askbook.ingestion.jobs import IngestionJob

METHODS = frozenset({"GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"})
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of one application, in a registry of their own; an `Observer` of its turns and jobs."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "askbook_http_requests",
            "Answered requests.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._durations = Histogram(
            "askbook_http_request_seconds",
            "How long requests took, streams to their end.",
            ["route"],
            buckets=SECONDS,
            registry=registry,
        )
        self._under_way = Gauge(
            "askbook_http_requests_in_progress", "Requests under way.", registry=registry
        )
        self._turns = Counter(
            "askbook_turns", "Questions by how their turn ended.", ["state"], registry=registry
        )
        self._declines = Counter(
            "askbook_declines", "Declined questions by confidence.", ["level"], registry=registry
        )
        self._stages = Histogram(
            "askbook_stage_seconds",
            "How long the stages of a turn took.",
            ["stage"],
            buckets=SECONDS,
            registry=registry,
        )
        self._tokens = Counter(
            "askbook_model_tokens", "Tokens of the language model.", registry=registry
        )
        self._jobs = Counter(
            "askbook_ingestion_jobs", "Ended ingestion jobs.", ["status"], registry=registry
        )
        self._files = Counter(
            "askbook_ingestion_files", "Files of ended jobs.", ["outcome"], registry=registry
        )
        self._chunks = Counter(
            "askbook_ingestion_chunks", "Chunks of ended jobs.", ["outcome"], registry=registry
        )
        self._sessions = Gauge(
            "askbook_sessions_active", "Conversations used within the hour.", registry=registry
        )

    def request_began(self) -> None:
        self._under_way.inc()

    def request_ended(self, method: str, route: str, status: int, seconds: float) -> None:
        self._under_way.dec()
        self._requests.labels(method if method in METHODS else "other", route, str(status)).inc()
        self._durations.labels(route).observe(seconds)

    def turn_ended(self, response: AgentResponse) -> None:
        self._turns.labels(response.state).inc()
        if not response.should_answer:
            self._declines.labels(response.confidence_level).inc()
        self._stages.labels("retrieval").observe(response.retrieval_time_ms / 1000)
        if response.generation_time_ms:
            self._stages.labels("generation").observe(response.generation_time_ms / 1000)
        self._stages.labels("total").observe(response.total_time_ms / 1000)
        self._tokens.inc(response.tokens_used)

    def turn_failed(self) -> None:
        self._turns.labels("error").inc()

    def job_ended(self, job: IngestionJob) -> None:
        self._jobs.labels(job.status).inc()
        for outcome in ("processed", "skipped", "failed", "deleted"):
            self._files.labels(outcome).inc(getattr(job.counts, f"files_{outcome}"))
        for outcome in ("created", "deleted"):
            self._chunks.labels(outcome).inc(getattr(job.counts, f"chunks_{outcome}"))
        self._chunks.labels("embedded").inc(job.counts.embedded_chunks)

    def exposed(self, accept: str, sessions: int) -> tuple[bytes, str]:
        """All of it as the scraper wants it, with its content type."""
        self._sessions.set(sessions)
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type
