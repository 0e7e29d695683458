"""Builds the HTTP application around one running `Askbook`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from askbook import __version__
from askbook.api import errors
from askbook.api.cross_origin import CrossOrigin
from askbook.api.deadline import Deadline
from askbook.api.gate import Gate
from askbook.api.middleware import Envelope
from askbook.api.routes import chat, gaps, health, ingestion, page, read, search, sessions
from askbook.bootstrap import Askbook
from askbook.bootstrap.logs import configure_logs
from askbook.config import Settings, listed, load_settings

SMALL = 1000
"""Bytes below which compressing is not worth it."""


def app_from_environment() -> FastAPI:
    """The application as the environment sets it up, for a server that is told its name."""
    settings = load_settings()
    configure_logs(settings.server.log_level)
    return create_app(settings)


def create_app(settings: Settings) -> FastAPI:
    """The application; books are opened when it starts and closed when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with Askbook(settings) as askbook:
            app.state.askbook = askbook
            # Made now: a store for limits that cannot be used stops the start, not the first request.
            app.state.limiter = askbook.limiter
            # In the background: what a former process left unfinished must not delay the first answer.
            resuming = asyncio.create_task(askbook.durable_jobs.start_if_needed())
            try:
                yield
            finally:
                await resuming

    app = FastAPI(
        title="askbook",
        version=__version__,
        summary="Answers from a book, with the exact place, or says that it is not in the book.",
        lifespan=lifespan,
    )
    errors.install(app)
    for routes in (chat, sessions, search, read, ingestion, gaps, health, page):
        app.include_router(routes.router)
    app.mount("/assets", page.assets(), name="assets")
    _surround(app, settings)
    return app


def _surround(app: FastAPI, settings: Settings) -> None:
    """What stands around every route; the last added is the outermost."""
    access = settings.access
    app.add_middleware(Gate, address_rate=access.address_rate)
    app.add_middleware(CrossOrigin, origins=listed(access.cors_origins))
    app.add_middleware(Deadline, seconds=settings.server.request_timeout)
    # Streams are left alone: an event is sent when it happens, not when a block is full.
    app.add_middleware(GZipMiddleware, minimum_size=SMALL, compresslevel=5)
    app.add_middleware(Envelope)
    if proxies := listed(access.trusted_proxies):
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)
