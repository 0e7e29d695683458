"""Builds the HTTP application around one running `Askbook`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from askbook import __version__
from askbook.api import errors, mcp
from askbook.api.cross_origin import CrossOrigin
from askbook.api.deadline import Deadline
from askbook.api.gate import Gate
from askbook.api.metrics import Metrics
from askbook.api.middleware import Envelope
from askbook.api.observing import Observed
from askbook.api.routes import (
    chat,
    feedback,
    gaps,
    health,
    ingestion,
    openai,
    page,
    read,
    search,
    sessions,
    webhooks,
)
from askbook.api.routes import metrics as counters
from askbook.bootstrap import Askbook
from askbook.bootstrap.logs import configure_logs
from askbook.bootstrap.tracing import Tracing, make_tracing
from askbook.config import Settings, load_settings

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

SMALL = 1000
"""Bytes below which compressing is not worth it."""


def app_from_environment() -> FastAPI:
    """The application as the environment sets it up, for a server that is told its name."""
    settings = load_settings()
    configure_logs(settings.server.log_level)
    return create_app(
        settings,
        tracing=make_tracing(settings.server.otlp_endpoint),
        address=settings.server.address,
    )


def create_app(
    settings: Settings, *, tracing: Tracing | None = None, address: str | None = None
) -> FastAPI:
    """The application; books are opened when it starts and closed when it stops.

    Its `address`, if it is known, is told to commands that find the data directory taken.
    """
    metrics = Metrics()
    tracer = None if tracing is None else tracing.tracer

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with Askbook(settings, observer=metrics, tracer=tracer) as askbook:
            app.state.askbook = askbook
            # Made now: a store for limits that cannot be used stops the start, not the first request.
            app.state.limiter = askbook.limiter
            if address is not None:
                askbook.announce(address)
            app.state.pushes = webhooks.Pushes()
            app.state.mcp = mcp.McpDoor(settings.server)
            # In the background: what a former process left unfinished must not delay the first answer.
            resuming = asyncio.create_task(askbook.durable_jobs.start_if_needed())
            try:
                yield
            finally:
                await app.state.pushes.close()
                await app.state.mcp.close()
                await resuming
                if tracing is not None:
                    await asyncio.to_thread(tracing.close)

    app = FastAPI(
        title="askbook",
        version=__version__,
        summary="Answers from a book, with the exact place, or says that it is not in the book.",
        lifespan=lifespan,
    )
    app.state.metrics = metrics
    errors.install(app)
    for routes in (
        chat,
        sessions,
        search,
        read,
        ingestion,
        webhooks,
        gaps,
        feedback,
        openai,
        mcp,
        health,
        counters,
        page,
    ):
        app.include_router(routes.router)
    app.mount("/assets", page.assets(), name="assets")
    _surround(app, settings, tracer)
    return app


def _surround(app: FastAPI, settings: Settings, tracer: "Tracer | None") -> None:
    """What stands around every route; the last added is the outermost."""
    access = settings.access
    app.add_middleware(Gate, address_rate=access.address_rate)
    app.add_middleware(CrossOrigin, origins=access.cors_origins)
    app.add_middleware(Deadline, seconds=settings.server.request_timeout)
    # Streams are left alone: an event is sent when it happens, not when a block is full.
    app.add_middleware(GZipMiddleware, minimum_size=SMALL, compresslevel=5)
    app.add_middleware(Observed, metrics=app.state.metrics, tracer=tracer)
    app.add_middleware(Envelope)
    if access.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(access.trusted_proxies))
