"""Reads the library, and keeps the keys, beside a running server: only the database is opened, nothing is locked."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.access import Keys
from askbook.bootstrap.feedback import FeedbackList, list_votes
from askbook.bootstrap.parts import make_embedder
from askbook.bootstrap.scope import choose_book
from askbook.config import Settings
from askbook.errors import NotFound
from askbook.gaps.listing import GapList, list_gaps
from askbook.ingestion.state import IngestionState, load_state
from askbook.retrieval.book_calibrations import BookCalibrations
from askbook.storage.calibrations import CalibrationStore
from askbook.storage.engine import DATABASE_FILE, open_engine
from askbook.storage.feedback import FeedbackStore, Rating
from askbook.storage.gaps import GapStore
from askbook.storage.keys import KeyStore
from askbook.storage.library import Library


@asynccontextmanager
async def open_library(settings: Settings) -> AsyncGenerator[Library]:
    """The library alone, to read from; works beside a running server."""
    async with _open_database(settings) as engine:
        yield Library(engine)


async def read_gaps(
    settings: Settings,
    book_id: str | None = None,
    *,
    days: int | None = None,
    limit: int | None = None,
) -> GapList:
    """What readers asked of a book and it does not answer; works beside a running server."""
    async with _open_database(settings) as engine:
        name = choose_book(await Library(engine).books(), book_id).book.book_id
        embedder = make_embedder(settings)
        try:
            return await list_gaps(GapStore(engine), embedder, name, days=days, limit=limit)
        finally:
            await embedder.close()


async def read_feedback(
    settings: Settings, book_id: str | None, rating: Rating, limit: int
) -> FeedbackList:
    """What readers think of a book's answers; works beside a running server."""
    async with _open_database(settings) as engine:
        name = choose_book(await Library(engine).books(), book_id).book.book_id
        return await list_votes(FeedbackStore(engine), name, rating, limit)


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


async def read_calibrations(settings: Settings) -> dict[str, str]:
    """Which calibration judges each book when its own embedder is set; works beside a running server."""
    async with _open_database(settings) as engine:
        store = CalibrationStore(engine)
        judged, found = settings.retrieval.judge, dict[str, str]()
        for shelved in await Library(engine).books():
            calibrations = BookCalibrations(store, shelved.fingerprint, judged=judged)
            found[shelved.book.book_id] = await calibrations.describe(shelved.book.book_id)
        return found


@asynccontextmanager
async def open_keys(settings: Settings) -> AsyncGenerator[tuple[Keys, Library]]:
    """The keys, and the library they are for; works beside a running server, and before any book is there."""
    async with _open_database(settings, create=True) as engine:
        yield Keys(KeyStore(engine)), Library(engine)


@asynccontextmanager
async def _open_database(
    settings: Settings, *, create: bool = False
) -> AsyncGenerator[AsyncEngine]:
    storage = settings.storage
    missing = storage.database_url is None and not (storage.data_dir / DATABASE_FILE).exists()
    if missing and not create:
        raise NotFound("There is no book here yet.", "Ingest one with `askbook ingest PATH`.")
    url = storage.database_url.get_secret_value() if storage.database_url else None
    engine = await open_engine(storage.data_dir, url)
    try:
        yield engine
    finally:
        await engine.dispose()
