"""Makes the index equal to a folder: plan, read, split, embed, switch. Safe to kill at any point."""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from askbook.book import IngestionMode, Vector
from askbook.embedding import Embedder
from askbook.errors import AskbookError, Conflict, EmbedderMismatch, InvalidInput
from askbook.index import ChunkIndex
from askbook.ingestion.counting import WordCounter
from askbook.ingestion.events import (
    ChunksEmbedded,
    ChunksPrepared,
    FileFailed,
    Finished,
    IngestionEvent,
    LessonsSwitched,
    Planned,
    Warned,
)
from askbook.ingestion.memory import give_back
from askbook.ingestion.planning import Plan, make_plan, plan_of_unchanged, survey
from askbook.ingestion.preparing import Batch, prepare
from askbook.ingestion.readers import open_reader
from askbook.ingestion.readers.base import Reader
from askbook.ingestion.splitting import SPLITTER_VERSION
from askbook.ingestion.switching import book_is_gone, put_right, switch
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook
from askbook.storage.steps import to_its_end
from askbook.storage.vectors import VectorCache

IN_FLIGHT = 3
"""Batches being embedded at once, so that no core waits while another batch is read or written."""
TIDY_AFTER = 16
"""Batches until freed memory is given back: what several threads free in turn is scattered otherwise."""


class Pipeline:
    """Runs ingests of books into one library and index."""

    def __init__(
        self, library: Library, cache: VectorCache, index: ChunkIndex, embedder: Embedder
    ) -> None:
        self._library = library
        self._cache = cache
        self._index = index
        self._embedder = embedder
        self._renewing = asyncio.Lock()

    async def plan(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> Plan:
        """What an ingest would do, without doing it."""
        reader = await asyncio.to_thread(open_reader, folder, book_id)
        return await self._plan(reader, folder, mode, await self._shelved(reader, mode))

    async def run(
        self, folder: Path, book_id: str | None = None, mode: IngestionMode = "incremental"
    ) -> AsyncIterator[IngestionEvent]:
        """Ingest a folder or a file; the events tell what happened, in order."""
        reader = await asyncio.to_thread(open_reader, folder, book_id)
        book_id = reader.book.book_id
        shelved = await self._shelved(reader, mode)
        plan = await self._plan(reader, folder, mode, shelved)
        if mode == "recreate":
            await self._renew(book_id)
        elif shelved is not None:
            await self._put_right(book_id)
        yield Planned(
            discovered=len(plan.discovered),
            new=tuple(plan.new),
            modified=tuple(plan.modified),
            moved=tuple(plan.moved),
            deleted=tuple(plan.deleted),
            unchanged=len(plan.unchanged),
        )
        for warning in plan.warnings:
            yield Warned(warning)
        for source_file, reason in plan.failed.items():
            yield FileFailed(source_file, reason)
        await self._library.distrust(book_id, plan.doubtful)
        await self._library.touch(book_id, plan.reordered)
        opened = _opened(reader, folder, shelved, self._fingerprint, mode)
        if shelved is None:
            await self._library.save_book(opened)
        else:
            await self._update(opened)
        failed = dict(plan.failed)
        async for event in self._execute(reader, plan, rewrite=mode != "incremental"):
            if isinstance(event, FileFailed):
                failed[event.source_file] = event.reason
            yield event
        if mode == "recreate":
            await self._put_right(book_id)
        lessons, chunks = await self._library.totals(book_id)
        if shelved is None and lessons == 0 and failed:
            await self._library.delete_book(book_id)
            raise _nothing_read(failed)
        await self._update(self._closed(reader, folder, shelved, mode))
        yield Finished(chunks)

    @property
    def _fingerprint(self) -> str:
        return str(self._embedder.fingerprint)

    async def _shelved(self, reader: Reader, mode: IngestionMode) -> ShelvedBook | None:
        shelved = await self._library.book(reader.book.book_id)
        if shelved is not None and shelved.fingerprint != self._fingerprint and mode != "recreate":
            raise EmbedderMismatch(
                f"Book {reader.book.book_id!r} was indexed with the embedder "
                f"{shelved.fingerprint}, but {self._fingerprint} is set.",
                "Set ASKBOOK_EMBEDDER back, or index it again with "
                "`askbook ingest PATH --mode recreate`.",
            )
        return shelved

    async def _update(self, shelved: ShelvedBook) -> None:
        if not await self._library.update_book(shelved):
            raise book_is_gone(shelved.book.book_id)

    async def _renew(self, book_id: str) -> None:
        """Make a recreate embed afresh, in a new index if another embedder made the old one or it is damaged."""
        await self._cache.forget(self._fingerprint, book_id)
        # Who makes the index new a second time loses what the first has put in since.
        async with self._renewing:
            try:
                await self._index.count()
            except AskbookError as error:
                if error.code not in ("embedder_mismatch", "data_directory_corrupt"):
                    raise
                await self._renew_index(book_id)

    async def _renew_index(self, book_id: str) -> None:
        books = await self._library.books()
        for shelved in books:
            ids = await self._library.chunk_ids(shelved.book.book_id)
            everything = [chunk_id for part in ids.values() for chunk_id in part]
            await self._library.dirty.mark(shelved.book.book_id, everything)
        await self._index.recreate()
        for shelved in books:
            if shelved.fingerprint == self._fingerprint and shelved.book.book_id != book_id:
                await self._put_right(shelved.book.book_id)

    async def _put_right(self, book_id: str) -> None:
        await put_right(self._library, self._cache, self._index, self._embedder, book_id)

    async def _plan(
        self, reader: Reader, folder: Path, mode: IngestionMode, shelved: ShelvedBook | None
    ) -> Plan:
        found = await asyncio.to_thread(survey, reader)
        same = shelved is not None and shelved.settings_hash == _settings_hash(reader)
        if same and mode == "incremental":
            marks = await self._library.marks(reader.book.book_id)
            unchanged = plan_of_unchanged(reader, found, marks)
            if unchanged is not None:
                return unchanged
        lessons = await self._library.lessons(reader.book.book_id) if shelved else {}
        plan = await asyncio.to_thread(
            make_plan, reader, lessons, mode=mode, same_settings=same, found=found
        )
        if not plan.discovered:
            raise InvalidInput(
                f"No lesson was found in {reader.docs_root}.",
                "Point askbook at a folder with .md, .mdx, .html, .epub or .pdf files; nothing was changed.",
            )
        if shelved is not None and lessons and mode != "recreate":
            _refuse_foreign_folder(folder, shelved, plan)
        return plan

    async def _execute(
        self, reader: Reader, plan: Plan, *, rewrite: bool
    ) -> AsyncIterator[IngestionEvent]:
        """Read ahead and embed several batches at once; switch them in order."""
        now = datetime.now(UTC)
        count_tokens = WordCounter(self._embedder.count_tokens)
        batches = prepare(reader, plan.units, count_tokens, now, plan.failed)
        vectors = _RunningVectors(self._cache, self._embedder)
        waiting: deque[tuple[Batch, asyncio.Task[_Vectors]]] = deque()
        done = 0
        try:
            more = True
            while more or waiting:
                while more and len(waiting) < IN_FLIGHT:
                    batch = await asyncio.to_thread(next, batches, None)
                    if batch is None:
                        more = False
                        break
                    for source_file, reason in batch.failed.items():
                        yield FileFailed(source_file, reason)
                    for warning in batch.warnings:
                        yield Warned(warning)
                    yield ChunksPrepared(len(batch.lessons), len(batch.text_hashes))
                    waiting.append((batch, asyncio.create_task(vectors.of(batch))))
                if not waiting:
                    break
                batch, task = waiting.popleft()
                found = await task
                yield ChunksEmbedded(found.computed)
                # Half a switch leaves lessons that no search finds until the next ingest.
                switching = switch(
                    self._library,
                    self._index,
                    reader.book.book_id,
                    batch,
                    found.by_hash,
                    now=now,
                    rewrite=rewrite,
                )
                switched = await to_its_end(asyncio.create_task(switching))
                yield LessonsSwitched(
                    source_files=tuple(p.lesson.source_file for p in batch.lessons),
                    removed_files=tuple(batch.removed),
                    chunks_created=switched.chunks_created,
                    chunks_deleted=switched.chunks_deleted,
                )
                done += 1
                if done % TIDY_AFTER == 0:
                    await asyncio.to_thread(give_back)
        finally:
            for _, task in waiting:
                task.cancel()
            await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)

    def _closed(
        self, reader: Reader, folder: Path, shelved: ShelvedBook | None, mode: IngestionMode
    ) -> ShelvedBook:
        """The book once all its lessons are in: its settings now count as applied."""
        now = datetime.now(UTC)
        last_full = shelved.last_full_ingest if shelved else None
        full = last_full is None or mode != "incremental"
        return ShelvedBook(
            book=reader.book,
            folder=str(folder.resolve()),
            fingerprint=self._fingerprint,
            settings_hash=_settings_hash(reader),
            last_full_ingest=now if full else last_full,
            last_incremental_update=(
                (shelved.last_incremental_update if shelved else None) if full else now
            ),
        )


class _Vectors:
    def __init__(self, by_hash: dict[str, Vector], computed: int) -> None:
        self.by_hash = by_hash
        self.computed = computed


class _RunningVectors:
    """Vectors of one run: from the cache, from a batch still being embedded, or computed and cached."""

    def __init__(self, cache: VectorCache, embedder: Embedder) -> None:
        self._cache = cache
        self._embedder = embedder
        self._fingerprint = str(embedder.fingerprint)
        self._underway: dict[str, asyncio.Future[dict[str, Vector]]] = {}

    async def of(self, batch: Batch) -> _Vectors:
        texts = {batch.text_hashes[c.id]: c.embedded_text for c in batch.chunks}
        others = {h: self._underway[h] for h in texts if h in self._underway}
        mine: asyncio.Future[dict[str, Vector]] = asyncio.get_running_loop().create_future()
        for text_hash in texts:
            self._underway.setdefault(text_hash, mine)
        try:
            wanted = [text_hash for text_hash in texts if text_hash not in others]
            vectors = await self._cache.find(self._fingerprint, wanted)
            missing = [text_hash for text_hash in wanted if text_hash not in vectors]
            computed = await self._compute({h: texts[h] for h in missing})
            vectors.update(computed)
            mine.set_result(vectors)
        except BaseException as error:
            mine.set_exception(error if isinstance(error, Exception) else AskbookError("cancelled"))
            mine.exception()
            raise
        finally:
            for text_hash in texts:
                if self._underway.get(text_hash) is mine:
                    del self._underway[text_hash]
        for text_hash, other in others.items():
            vectors[text_hash] = (await other)[text_hash]
        return _Vectors(vectors, len(missing))

    async def _compute(self, texts: Mapping[str, str]) -> dict[str, Vector]:
        if not texts:
            return {}
        computed = await self._embedder.embed_passages(list(texts.values()))
        by_hash = dict(zip(texts, computed, strict=True))
        await self._cache.save(self._fingerprint, by_hash)
        return by_hash


def _nothing_read(failed: Mapping[str, str]) -> InvalidInput:
    """A new book of which no file could be read is not put on the shelf."""
    source_file, reason = next(iter(failed.items()))
    return InvalidInput(
        f"None of the {len(failed)} files could be read; {source_file}: {reason}",
        "Mend them and ingest again; no book was added.",
    )


def _settings_hash(reader: Reader) -> str:
    return hashlib.sha256(f"{reader.settings_hash()}:{SPLITTER_VERSION}".encode()).hexdigest()


def _opened(
    reader: Reader,
    folder: Path,
    shelved: ShelvedBook | None,
    fingerprint: str,
    mode: IngestionMode,
) -> ShelvedBook:
    """The book while it is being ingested: until the end, settings count only if all lessons share them."""
    settings_hash = _settings_hash(reader)
    same = shelved is not None and shelved.settings_hash == settings_hash
    return ShelvedBook(
        book=reader.book,
        folder=str(folder.resolve()),
        fingerprint=fingerprint,
        settings_hash=settings_hash if same and mode == "incremental" else "",
        last_full_ingest=shelved.last_full_ingest if shelved else None,
        last_incremental_update=shelved.last_incremental_update if shelved else None,
    )


def _refuse_foreign_folder(folder: Path, shelved: ShelvedBook, plan: Plan) -> None:
    """Two folders with one name must not overwrite each other's book."""
    before = Path(shelved.folder)
    if before == folder.resolve() or plan.familiar:
        return
    if before.is_file() or (before.is_dir() and any(before.iterdir())):
        raise Conflict(
            f"The id {shelved.book.book_id!r} already belongs to the book in {before}, "
            f"which shares no lesson with {folder}.",
            "Pass --book ID to give this folder an id of its own, "
            "or --mode recreate to replace that book.",
        )
