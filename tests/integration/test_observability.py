"""What a server tells of itself: a line and a count for every request, spans when somebody collects them."""

import json
import re
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from askbook.api.app import create_app
from askbook.bootstrap.tracing import Tracing, make_tracing
from askbook.config import Settings, load_settings
from openai_chat_server import ChatServer, Say

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]
QUESTION = "Which stop categories may an emergency stop have?"
FOREIGN = "What is the capital of Australia?"


@pytest.fixture
async def http(data_dir: Path, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(load_settings(data_dir=data_dir)) as http:
        yield http


async def counted(http: httpx.AsyncClient) -> dict[str, dict[frozenset[Any], float]]:
    """Every sample by its name and labels."""
    text = (await http.get("/metrics")).text
    found: dict[str, dict[frozenset[Any], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def labelled(**labels: str) -> frozenset[Any]:
    return frozenset(labels.items())


async def test_every_request_has_one_line_and_none_says_what_was_asked(
    http: httpx.AsyncClient,
) -> None:
    session = str(uuid.uuid4())
    with capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        for path in ("/chat/run", "/chat/stream"):
            body = {"message": QUESTION, "session_id": session}
            await http.post(path, json=body, headers={"X-Request-ID": "r-7"})
        await http.get(f"/session/{session}/history")
        await http.get("/assets/chat.js")
        await http.get("/nowhere/secret-path")
        await http.get("/chat/run")
    requests = [line for line in lines if line["event"] == "request"]
    assert [(li["method"], li["route"], li["status"]) for li in requests] == [
        ("POST", "/chat/run", 200),
        ("POST", "/chat/stream", 200),
        ("GET", "/session/{session_id}/history", 200),
        ("GET", "/assets", 200),
        ("GET", "unmatched", 404),
        ("GET", "/chat/run", 405),
    ]
    for line in requests[:2]:
        assert (line["request_id"], line["session_id"]) == ("r-7", session)
        assert line["duration_ms"] > 0
    assert "session_id" not in requests[2]
    assert all(line["log_level"] != "debug" for line in lines)
    assert "emergency stop" not in str(lines)
    assert "secret-path" not in str(lines)


async def test_metrics_count_requests_turns_stages_and_sessions(http: httpx.AsyncClient) -> None:
    await http.post("/chat/run", json={"message": QUESTION})
    await http.post("/chat/stream", json={"message": FOREIGN})
    await http.post("/chat/run", json={"message": ""})
    await http.request("BREW", "/coffee/1")
    await http.request("BREW", "/coffee/2")
    found = await counted(http)
    requests = found["askbook_http_requests_total"]
    assert requests[labelled(method="POST", route="/chat/run", status="200")] == 1
    assert requests[labelled(method="POST", route="/chat/run", status="422")] == 1
    assert requests[labelled(method="POST", route="/chat/stream", status="200")] == 1
    assert requests[labelled(method="other", route="unmatched", status="404")] == 2
    turns = found["askbook_turns_total"]
    assert sum(turns.values()) == 2
    assert turns[labelled(state="no_results")] == 1
    assert found["askbook_declines_total"] == {labelled(level="insufficient"): 1}
    assert found["askbook_stage_seconds_count"] == {
        labelled(stage="retrieval"): 2,
        labelled(stage="generation"): 1,
        labelled(stage="total"): 2,
    }
    assert found["askbook_sessions_active"] == {frozenset(): 2}
    assert found["askbook_http_requests_in_progress"] == {frozenset(): 1}
    assert "emergency" not in str(found)


async def test_metrics_count_tokens_failures_and_ingests(
    data_dir: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(Say("An emergency stop may have category 0 or 1 [1].")) as model:
        async with serve(load_settings(data_dir=data_dir, openai_base_url=model.url)) as http:
            askbook: Any = http.askbook  # pyright: ignore[reportAttributeAccessIssue]  # set by `serving`
            await http.post("/chat/run", json={"message": QUESTION})
            job = (await http.post("/ingestion/trigger", json={})).json()
            location = f"/ingestion/status/{job['job_id']}"
            await http.get(location, headers={"Accept": "text/event-stream"})

            async def broken(*_: Any, **__: Any) -> Any:
                raise RuntimeError("out of order")

            monkeypatch.setattr(askbook.index, "search", broken)
            failed = await http.post("/chat/run", json={"message": QUESTION})
            assert failed.status_code == 500
            found = await counted(http)
    assert found["askbook_model_tokens_total"][frozenset()] >= 120
    assert found["askbook_turns_total"][labelled(state="error")] == 1
    requests = found["askbook_http_requests_total"]
    assert requests[labelled(method="POST", route="/chat/run", status="500")] == 1
    assert found["askbook_ingestion_jobs_total"] == {labelled(status="completed"): 1}
    assert found["askbook_ingestion_files_total"][labelled(outcome="skipped")] == 12
    assert found["askbook_ingestion_files_total"][labelled(outcome="failed")] == 0


async def test_metrics_are_for_administrators_and_of_one_application(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    stranger = await http.get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"})
    assert stranger.status_code == 401
    text = await http.get("/metrics")
    assert text.headers["content-type"].startswith("text/plain")
    modern = await http.get("/metrics", headers={"Accept": "application/openmetrics-text"})
    assert modern.headers["content-type"].startswith("application/openmetrics-text")
    other = create_app(load_settings(data_dir=tmp_path / "other"))
    body, _ = other.state.metrics.exposed("", 0)
    assert b"/metrics" not in body


# --- Traces ---


@pytest.fixture
def spans() -> tuple[Tracing, InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider), exporter


async def test_a_request_is_traced_through_retrieval_judge_and_model(
    data_dir: Path, spans: tuple[Tracing, InMemorySpanExporter]
) -> None:
    tracing, exporter = spans
    with ChatServer(Say("An emergency stop may have category 0 or 1 [1].")) as model:
        app = create_app(
            load_settings(data_dir=data_dir, openai_base_url=model.url), tracing=tracing
        )
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http,
        ):
            told = f"00-{'a' * 32}-{'b' * 16}-01"
            with capture_logs([structlog.contextvars.merge_contextvars]) as lines:
                answer = await http.post(
                    "/chat/stream", json={"message": QUESTION}, headers={"traceparent": told}
                )
            assert "event: done" in answer.text
            assert (await http.get("/ready")).json()["status"] == "ready"
            found = {span.name: span for span in reversed(exporter.get_finished_spans())}
    assert {"POST /chat/stream", "retrieval", "judge", "model", "GET /ready"} <= set(found)
    request = found["POST /chat/stream"]
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == "a" * 32
    assert dict(request.attributes or {}) == {
        "http.request.method": "POST",
        "http.route": "/chat/stream",
        "http.response.status_code": 200,
    }
    for name in ("retrieval", "judge", "model"):
        span = found[name]
        assert span.context is not None
        assert span.context.trace_id == request.context.trace_id
    [judged] = [s for s in exporter.get_finished_spans() if s.name == "judge"][:1]
    assert judged.parent is not None
    assert found["retrieval"].context is not None
    assert (found["model"].attributes or {})["gen_ai.usage.total_tokens"] == 120
    everything = str([span.to_json() for span in exporter.get_finished_spans()])
    assert "emergency" not in everything
    [line] = [li for li in lines if li["event"] == "request"]
    assert line["trace_id"] == "a" * 32


def test_without_an_endpoint_nothing_of_it_is_loaded() -> None:
    assert make_tracing(None) is None
    program = (
        "import sys, askbook.bootstrap, askbook.cli.main, askbook.api.app\n"
        "found = [m for m in sys.modules if re.match(r'opentelemetry.(sdk|exporter)|mcp', m)]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import re\n{program}print(found)"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]"


def test_with_an_endpoint_spans_are_sent_to_it() -> None:
    tracing = make_tracing("http://127.0.0.1:9")
    assert tracing is not None
    processors: Any = tracing._provider._active_span_processor._span_processors
    [exporter] = [processor.span_exporter for processor in processors]
    assert exporter._endpoint == "http://127.0.0.1:9/v1/traces"
    tracing.tracer.start_span("request").end()
    started = time.monotonic()
    tracing.close()
    # A collector that is away does not hold up the end of the server.
    assert time.monotonic() - started < 8


# --- Logs of a whole process ---


def test_logs_are_json_for_programs_and_without_secrets() -> None:
    program = """
import logging, structlog
from askbook.bootstrap.logs import configure_logs
configure_logs()
log = structlog.get_logger("x")
log.info("made", api_key="sk-abcdefgh12345678", url="postgres://me:hidden@host/db", n=1)
log.warning("said", header="Bearer abcdefgh12345678")
log.debug("left_out")
logging.getLogger("library").warning("with sk-abcdefgh12345678")
logging.getLogger("library").info("left_out")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == ""
    made, said, library = [json.loads(line) for line in done.stderr.splitlines()]
    assert (made["event"], made["level"], made["n"]) == ("made", "info", 1)
    assert re.match(r"\d{4}-\d\d-\d\dT", made["timestamp"])
    assert (said["level"], library["level"]) == ("warning", "warning")
    for secret in ("abcdefgh", "hidden"):
        assert secret not in done.stderr
