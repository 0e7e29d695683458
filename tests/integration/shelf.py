"""An ingestion core on a temporary directory: real SQLite, real embedded index, null embedder."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import IngestionMode
from askbook.index.edge import EdgeIndex
from askbook.ingestion.audit import Audit, Auditor
from askbook.ingestion.differences import HISTORY
from askbook.ingestion.events import ChunksEmbedded, FileFailed, IngestionEvent, Planned, Warned
from askbook.ingestion.pipeline import Pipeline
from askbook.storage.engine import open_engine
from askbook.storage.library import Library
from askbook.storage.vectors import VectorCache
from doubles import NullEmbedder

BOOK = "book"


@dataclass(frozen=True, slots=True)
class Ran:
    """What an ingest told of itself."""

    events: list[IngestionEvent]

    @property
    def plan(self) -> Planned:
        return next(e for e in self.events if isinstance(e, Planned))

    @property
    def embedded(self) -> int:
        return sum(e.texts for e in self.events if isinstance(e, ChunksEmbedded))

    @property
    def failures(self) -> dict[str, str]:
        return {e.source_file: e.reason for e in self.events if isinstance(e, FileFailed)}

    @property
    def warnings(self) -> list[str]:
        return [e.message for e in self.events if isinstance(e, Warned)]


@dataclass(frozen=True, slots=True)
class Contents:
    """A book as stored: payloads without their history, and vectors, by chunk id."""

    payloads: dict[str, dict[str, Any]]
    indexed: dict[str, dict[str, Any]]
    vectors: dict[str, tuple[float, ...]]


@dataclass(slots=True)
class Shelf:
    engine: AsyncEngine
    library: Library
    cache: VectorCache
    index: EdgeIndex
    embedder: NullEmbedder
    pipeline: Pipeline
    auditor: Auditor

    async def ingest(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> Ran:
        return Ran([event async for event in self.pipeline.run(folder, book_id, mode)])

    async def audit(self, book_id: str = BOOK, *, repair: bool = False) -> Audit:
        shelved = await self.library.book(book_id)
        assert shelved is not None
        return await self.auditor.audit(shelved, repair=repair)

    async def contents(self, book_id: str = BOOK) -> Contents:
        payloads = {c.id: timeless(c.to_payload()) async for c in self.library.export(book_id)}
        indexed: dict[str, dict[str, Any]] = {}
        vectors: dict[str, tuple[float, ...]] = {}
        async for point in self.index.scroll(book_id, vectors=True):
            assert point.vector is not None
            indexed[point.chunk_id] = timeless(point.payload)
            vectors[point.chunk_id] = tuple(np.round(point.vector, 4).tolist())
        return Contents(payloads, indexed, vectors)


def timeless(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in HISTORY}


@asynccontextmanager
async def open_shelf(
    data_dir: Path, embedder: NullEmbedder | None = None, database_url: str | None = None
) -> AsyncGenerator[Shelf]:
    embedder = embedder or NullEmbedder()
    engine = await open_engine(data_dir, database_url)
    fingerprint = embedder.fingerprint
    index = EdgeIndex(data_dir / "index", str(fingerprint), fingerprint.dimension)
    library, cache = Library(engine), VectorCache(engine)
    pipeline = Pipeline(library, cache, index, embedder)
    auditor = Auditor(library, cache, index, embedder, pipeline)
    try:
        yield Shelf(engine, library, cache, index, embedder, pipeline, auditor)
    finally:
        await index.close()
        await engine.dispose()


async def clean_build(folder: Path, data_dir: Path, book_id: str = BOOK) -> Contents:
    """What ingesting the folder into an empty library gives."""
    async with open_shelf(data_dir) as shelf:
        await shelf.ingest(folder, book_id)
        return await shelf.contents(book_id)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a folder, making what is missing above them."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def lesson(title: str, *sections: str, words: int = 120) -> str:
    """A lesson with one section per name, each long enough for a chunk of its own."""
    parts = [f"# {title}\n"]
    for section in sections:
        sentence = f"This part of {title} tells about {section}. "
        parts.append(f"## {section}\n\n{sentence * (words // 4)}\n")
    return "\n".join(parts)
