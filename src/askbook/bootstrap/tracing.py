"""OpenTelemetry traces of a server: a span for every request, retrieval, judgement and model call.

Only when OTEL_EXPORTER_OTLP_ENDPOINT is set; nothing of OpenTelemetry is imported otherwise. No span holds a question.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from askbook.agent.events import AnswerEnded, AnswerEvent
from askbook.agent.prompting import Asked
from askbook.agent.rewriting import Rewriting
from askbook.errors import ConfigurationError
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judge, Judgement
from askbook.retrieval.query import SearchQuery
from askbook.retrieval.search import Searcher

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

    from askbook.agent.run import Tutor

SERVICE = "askbook"
PATIENCE = 3.0
"""Seconds for sending spans: a collector that is away must not hold up the end of the server."""


class Tracing:
    """Makes the spans of one server, and sends off what is left at its end."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self.tracer: Tracer = provider.get_tracer(SERVICE)

    def close(self) -> None:
        self._provider.shutdown()


def make_tracing(endpoint: str | None) -> Tracing | None:
    """Traces for the collector at `endpoint`; without one there are none."""
    if endpoint is None:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but the package {error.name} is not installed.",
            "Install it with `pip install 'askbook[otel]'`, or unset the variable.",
        ) from error
    # What OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say wins.
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)


class TracedSearcher(Searcher):
    """A searcher with a span around every search."""

    def __init__(self, tracer: "Tracer", *parts: Any) -> None:
        super().__init__(*parts)
        self._tracer = tracer

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        with self._tracer.start_as_current_span("retrieval") as span:
            span.set_attributes({"askbook.book_id": query.book_id, "askbook.mode": query.mode})
            context = await super().search(query, history, reading)
            span.set_attribute("askbook.results", context.total_found)
            return context


class TracedJudge:
    """A judge with a span around every judgement."""

    def __init__(self, tracer: "Tracer", judge: Judge) -> None:
        self._tracer = tracer
        self._judge = judge

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        with self._tracer.start_as_current_span("judge") as span:
            span.set_attribute("askbook.passages", len(passages))
            return await self._judge.judge(question, passages)

    async def close(self) -> None:
        await self._judge.close()


class TracedTutor:
    """A tutor with a span around every answer it has a model write."""

    def __init__(self, tracer: "Tracer", tutor: "Tutor") -> None:
        self._tracer = tracer
        self._tutor = tutor

    @property
    def model_name(self) -> str:
        return self._tutor.model_name

    async def complete(self, question: str, history: Sequence[Message]) -> Rewriting:
        with self._tracer.start_as_current_span("rewriting") as span:
            made = await self._tutor.complete(question, history)
            span.set_attribute("gen_ai.usage.total_tokens", made.tokens_used)
            return made

    async def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]:
        # Not the current span: who takes the next event may be another task, with a context of its own.
        span = self._tracer.start_span("model")
        span.set_attribute("gen_ai.request.model", self.model_name)
        events = self._tutor.answer(asked)
        try:
            async for event in events:
                if isinstance(event, AnswerEnded):
                    span.set_attribute("gen_ai.usage.total_tokens", event.tokens_used)
                    span.set_attribute("askbook.failed", event.failed is not None)
                yield event
        finally:
            await events.aclose()
            span.end()

    async def close(self) -> None:
        await self._tutor.close()
