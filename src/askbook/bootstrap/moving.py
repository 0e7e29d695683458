"""Moves a data directory to the servers: its database to PostgreSQL, its index to Qdrant.

The data directory is held and only read. Everything is checked before the first write, can be interrupted
and run again at any moment, and is compared at the end; only then are the books visible there.
"""

import shlex
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.bootstrap.parts import (
    INDEX_FOLDER,
    make_embedder,
    make_index,
    make_server_index,
)
from askbook.config import Settings, masked_address
from askbook.embedding import Fingerprint
from askbook.errors import (
    ConfigurationError,
    Conflict,
    EmbedderMismatch,
    InvalidInput,
    NotFound,
    ServiceUnavailable,
    ValidationFailed,
)
from askbook.index import ChunkIndex
from askbook.ingestion.copying import PointCopy
from askbook.ingestion.job_store import JobStore
from askbook.storage.directory import DataDirectory
from askbook.storage.engine import DATABASE_FILE, bring_up_to_date, engine_on, open_engine
from askbook.storage.library import Library
from askbook.storage.moving import DatabaseMove

if TYPE_CHECKING:
    from askbook.index.server import ServerIndex

MOVE_FILE = "migration"
POINTS = "points"
"""The name of the index's part in what is counted, beside those of the tables."""

IndexPlace: TypeAlias = Literal["moves", "embedded", "server"]
"""Whether the index moves, stays in the data directory, or is on the server that QDRANT_URL names already."""


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What is to be moved: rows by table, and points; `resumed` if an interrupted run is continued."""

    books: tuple[str, ...]
    counts: dict[str, int]
    index: IndexPlace
    resumed: bool


@dataclass(frozen=True, slots=True)
class MoveStep:
    """So many more of a table's rows, or of the points, are there."""

    part: str
    done: int


@asynccontextmanager
async def open_move(settings: Settings) -> AsyncGenerator["Move"]:
    """A move from the data directory to the database and the index that the settings name."""
    folder = settings.storage.data_dir
    url = _database_url(settings)
    if not (folder / DATABASE_FILE).exists():
        raise NotFound(
            f"There is nothing to move in {folder}.",
            "Name the data directory with --data-dir or ASKBOOK_DATA_DIR.",
        )
    async with AsyncExitStack() as stack:
        directory = DataDirectory(folder)
        stack.callback(directory.close)
        source = await open_engine(folder)
        stack.push_async_callback(source.dispose)
        target = _target(url)
        stack.push_async_callback(target.dispose)
        index = None
        if settings.index.qdrant_url is not None:
            embedder = make_embedder(settings)
            stack.push_async_callback(embedder.close)
            index = _Indexes.of(settings, embedder.fingerprint)
            stack.push_async_callback(index.close)
        yield Move(settings, source, target, index)


@dataclass(frozen=True, slots=True)
class _Indexes:
    """The index on the server, and the embedded one if the data directory has any."""

    new: "ServerIndex"
    former: ChunkIndex | None
    fingerprint: str

    @classmethod
    def of(cls, settings: Settings, fingerprint: Fingerprint) -> "_Indexes":
        former = None
        if (settings.storage.data_dir / INDEX_FOLDER).exists():
            here = replace(settings, index=settings.index.model_copy(update={"qdrant_url": None}))
            former = make_index(here, fingerprint)
        return cls(make_server_index(settings, fingerprint), former, str(fingerprint))

    async def close(self) -> None:
        await self.new.close()
        if self.former is not None:
            await self.former.close()


class Move:
    """One data directory on its way to the servers."""

    def __init__(
        self,
        settings: Settings,
        source: AsyncEngine,
        target: AsyncEngine,
        index: _Indexes | None,
    ) -> None:
        self._settings = settings
        self._source = source
        self._target = target
        self._index = index
        self._place: IndexPlace = "embedded"
        if index is not None:
            self._place = "server" if index.former is None else "moves"
        self._file = settings.storage.data_dir / MOVE_FILE
        self._move_id = _move_id(self._file)
        self._rows = DatabaseMove(source, target, self._move_id, with_notes=self._place != "moves")

    async def plan(self) -> MovePlan:
        """What would be moved; refuses what cannot be. Writes nothing."""
        await self._check_jobs()
        shelved = await Library(self._source).books()
        books = tuple(each.book.book_id for each in shelved)
        counts = await self._rows.counts()
        begun = await self._begun()
        if self._index is not None:
            self._check_embedder(self._index, {b.book.book_id: b.fingerprint for b in shelved})
            await self._check_points(self._index, set(books), begun or frozenset())
        if self._place == "moves":
            counts[POINTS] = counts["chunks"]
        return MovePlan(books, counts, self._place, resumed=begun is not None)

    async def run(self, plan: MovePlan) -> AsyncIterator[MoveStep]:
        """Move everything of a plan, telling how far it is."""
        await bring_up_to_date(self._target)
        self._file.write_text(self._move_id, encoding="utf-8")
        begun = await self._rows.begin()
        async for copied in self._rows.copy():
            yield MoveStep(copied.table, copied.rows)
        points = self._points()
        if begun is not None:
            await self._drop_surplus(points, begun, plan.books)
        await self._rows.verify()
        if points is not None:
            for book_id in plan.books:
                async for done in points.copy(book_id, resumed=begun is not None):
                    yield MoveStep(POINTS, done)
                await points.verify(book_id)
        await self._rows.end()
        self._file.unlink()
        yield MoveStep("books", len(plan.books))

    async def _drop_surplus(
        self, points: PointCopy | None, begun: frozenset[str], books: tuple[str, ...]
    ) -> None:
        """Remove what an interrupted run brought and is here no longer; points first, by their rows."""
        if points is not None:
            for gone in sorted(begun.difference(books)):
                await points.remove(gone)
        await self._rows.drop_surplus(begun)

    def _points(self) -> PointCopy | None:
        index = self._index
        if index is None or index.former is None:
            return None
        return PointCopy(self._target, index.fingerprint, index.former, index.new)

    async def _begun(self) -> frozenset[str] | None:
        try:
            return await self._rows.begun()
        except ServiceUnavailable as error:
            address = masked_address(_database_url(self._settings))
            raise ServiceUnavailable(
                f"{address}: {error.message}", "Correct the address, or start the server there."
            ) from error

    async def _check_jobs(self) -> None:
        for job, _ in await JobStore(self._source).unfinished():
            raise Conflict(
                f"Book {job.book_id!r} has an ingestion job that is not finished "
                f"(job {job.job_id}, {job.status}).",
                f"Finish it with `askbook ingest {shlex.quote(job.folder)} --book {job.book_id} --mode "
                f"{job.mode}`, or cancel it (POST /ingestion/cancel/{job.job_id}); then migrate again.",
                {"job_id": job.job_id},
            )

    def _check_embedder(self, index: _Indexes, fingerprints: dict[str, str]) -> None:
        for book_id, found in fingerprints.items():
            if found != index.fingerprint:
                raise EmbedderMismatch(
                    f"Book {book_id!r} was indexed with the embedder {found}, but "
                    f"{index.fingerprint} is set.",
                    "Set ASKBOOK_EMBEDDER back, or index it again with "
                    "`askbook ingest PATH --mode recreate`, before it is moved.",
                )

    async def _check_points(self, index: _Indexes, books: set[str], begun: frozenset[str]) -> None:
        """An index that moves must find no points of its books; one that stays must have them all."""
        there = await index.new.is_there()
        library, name = Library(self._source), self._settings.index.qdrant_collection_name
        for book_id in sorted(books):
            points = await index.new.count(book_id) if there else 0
            _, chunks = await library.totals(book_id)
            if index.former is None and points != chunks:
                raise ValidationFailed(
                    f"Book {book_id!r} has {chunks} chunks, but the collection {name!r} has "
                    f"{points} points of it, and the data directory has no index of its own.",
                    "Check QDRANT_URL and QDRANT_COLLECTION_NAME, or mend it with "
                    "`askbook audit --repair`, then migrate again.",
                )
            if index.former is not None and points and book_id not in begun:
                raise Conflict(
                    f"The collection {name!r} has {points} points of a book {book_id!r} already.",
                    "Set QDRANT_COLLECTION_NAME to another name, or remove that book there; "
                    "nothing was written.",
                    {"books": [book_id]},
                )


def _database_url(settings: Settings) -> str:
    url = settings.storage.database_url
    if url is None:
        raise InvalidInput(
            "It is not said where to move to.",
            "Give --to postgresql://user:password@host:5432/name, or set ASKBOOK_DATABASE_URL.",
        )
    return url.get_secret_value()


def _target(url: str) -> AsyncEngine:
    try:
        return engine_on(url)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"PostgreSQL is to be used, but the package {error.name} is not installed.",
            "Install it with `pip install 'askbook[server]'`.",
        ) from error


def _move_id(file: Path) -> str:
    """The name of an interrupted move of this data directory, or a new one."""
    try:
        return str(uuid.UUID(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return str(uuid.uuid4())
