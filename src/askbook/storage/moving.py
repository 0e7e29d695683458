"""Moves what a data directory's database holds to PostgreSQL, table by table and page by page.

A move leaves its name there until it is complete, so that a second run knows an interrupted first one from
somebody else's books and goes on. The rows of `books` come last: until then no reader sees any of it.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
    tuple_,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from askbook.errors import Conflict, ValidationFailed
from askbook.storage.conversations import storable
from askbook.storage.rows import ChunkRow, slices, upsert, utc
from askbook.storage.tables import (
    api_keys,
    books,
    chunks,
    dirty_points,
    ingestion_jobs,
    metadata,
    unfinished_moves,
)

PAGE = 200
LOCK = 7215532


@dataclass(frozen=True, slots=True)
class Copied:
    """So many more rows of a table are there."""

    table: str
    rows: int


class DatabaseMove:
    """One data directory's database on its way to PostgreSQL; `move_id` names it there.

    `with_notes`: the notes on the index go along, because the index stays what it is.
    """

    def __init__(
        self, source: AsyncEngine, target: AsyncEngine, move_id: str, *, with_notes: bool
    ) -> None:
        self._source = source
        self._target = target
        self._move_id = move_id
        apart = (books, ingestion_jobs, unfinished_moves, *(() if with_notes else (dirty_points,)))
        self._tables = [table for table in metadata.sorted_tables if table not in apart]

    async def counts(self) -> dict[str, int]:
        """How many rows of each table are to be moved."""
        async with self._source.connect() as connection:
            return {
                table.name: await _count(connection, table)
                for table in (*self._tables, ingestion_jobs, books)
            }

    async def book_ids(self) -> list[str]:
        """Every book that a row is about, also of conversations whose book is gone."""
        found: set[str] = set()
        async with self._source.connect() as connection:
            for table in _about_books((*self._tables, ingestion_jobs, books)):
                rows = await connection.execute(select(table.c.book_id).distinct())
                found.update(row.book_id for row in rows)
        return sorted(found)

    async def begun(self) -> frozenset[str] | None:
        """The books that an interrupted run may have brought; None if there was none.

        Raises Conflict if anything of ours is there that did not come from it. Writes nothing.
        """
        async with self._target.connect() as connection:
            return await self._begun(connection)

    async def begin(self) -> frozenset[str] | None:
        """Check once more, and claim the books against every other move."""
        async with self._target.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
            begun = await self._begun(connection)
            claimed = sorted({*(begun or ()), *await self.book_ids()})
            row = {"move_id": self._move_id, "book_ids": claimed}
            await connection.run_sync(upsert, unfinished_moves, [row])
        return begun

    async def copy(self) -> AsyncIterator[Copied]:
        """Everything but the books themselves, each page in a transaction; safe to repeat."""
        for table in self._tables:
            async for page in _pages(self._source, table):
                async with self._target.begin() as connection:
                    await connection.run_sync(upsert, table, page)
                yield Copied(table.name, len(page))
        yield Copied(ingestion_jobs.name, await self._copy_jobs())

    async def drop_surplus(self, begun: Iterable[str]) -> None:
        """Remove what an interrupted run brought and the data directory has no longer."""
        claimed = {*begun, *await self.book_ids()}
        for table in reversed(_about_books(self._tables)):
            async for page in _pages(self._target, table, table.c.book_id.in_(claimed)):
                async with self._source.connect() as connection:
                    known = await _present(connection, table, page)
                surplus = [key for key in _keys(table, page) if key not in known]
                if surplus:
                    async with self._target.begin() as connection:
                        await connection.execute(delete(table).where(_among(table, surplus)))

    async def verify(self) -> None:
        """Every row must be there, and none more of these books; else ValidationFailed."""
        claimed = await self.book_ids()
        for table in (*self._tables, ingestion_jobs):
            here = there = 0
            async for page in _pages(self._source, table):
                async with self._target.connect() as connection:
                    here += len(page)
                    there += len(await _present(connection, table, page))
            if there == here and table in _about_books(self._tables):
                async with self._target.connect() as connection:
                    there = await _count(connection, table, table.c.book_id.in_(claimed))
            if there != here:
                raise _incomplete(f"Of table {table.name} {here} rows are here and {there} there.")

    async def end(self) -> None:
        """Show the books to readers, and forget that there was a move, both at once."""
        async with self._target.begin() as connection:
            async for page in _pages(self._source, books):
                await connection.run_sync(upsert, books, page)
                if len(await _present(connection, books, page)) != len(page):
                    raise _incomplete("Not all books are there.")
            mine = unfinished_moves.c.move_id == self._move_id
            await connection.execute(delete(unfinished_moves).where(mine))

    async def _begun(self, connection: AsyncConnection) -> frozenset[str] | None:
        # The tables may not be there yet, or be those of an older version.
        names = set(await connection.run_sync(lambda c: inspect(c).get_table_names()))
        wanted, begun = await self.book_ids(), None
        if unfinished_moves.name in names:
            for row in await connection.execute(select(unfinished_moves)):
                if row.move_id == self._move_id:
                    begun = frozenset(row.book_ids)
                elif shared := sorted(set(row.book_ids) & set(wanted)):
                    raise _taken(shared, "being moved there from another data directory")
        new = [book_id for book_id in wanted if book_id not in (begun or ())]
        for table in _about_books((books, *self._tables)):
            for part in slices(new) if table.name in names else ():
                query = select(table.c.book_id).where(table.c.book_id.in_(part)).distinct()
                if found := sorted(row.book_id for row in await connection.execute(query)):
                    raise _taken(found, f"there already (table {table.name})")
        if begun is None and api_keys.name in names:
            await self._check_keys(connection)
        return begun

    async def _check_keys(self, connection: AsyncConnection) -> None:
        # One that was revoked there must not be valid again.
        async for page in _pages(self._source, api_keys):
            for (key_id,) in await _present(connection, api_keys, page):
                raise Conflict(
                    f"The key {key_id} of this data directory is in the database already.",
                    "Use an empty database.",
                )

    async def _copy_jobs(self) -> int:
        """Jobs keep their numbers where these are free, and come behind those that are there where not."""
        copied = 0
        async with self._target.begin() as connection:
            # No job may be given a number meanwhile.
            await connection.execute(text("LOCK TABLE ingestion_jobs IN SHARE ROW EXCLUSIVE MODE"))
            last = (await connection.execute(select(func.max(ingestion_jobs.c.job_id)))).scalar()
            last = last or 0
            async for page in _pages(self._source, ingestion_jobs):
                present = await _present(connection, ingestion_jobs, page)
                for key, row in zip(_keys(ingestion_jobs, page), page, strict=True):
                    if key not in present:
                        last = max(last + 1, row["job_id"])
                        await connection.execute(insert(ingestion_jobs), row | {"job_id": last})
                copied += len(page)
            if last:
                sequence = "pg_get_serial_sequence('ingestion_jobs', 'job_id')"
                await connection.execute(text(f"SELECT setval({sequence}, :last)"), {"last": last})
        return copied


async def chunk_pages(engine: AsyncEngine, book_id: str) -> AsyncIterator[dict[str, ChunkRow]]:
    """All chunks of a book by id, a page at a time."""
    async for page in _pages(engine, chunks, chunks.c.book_id == book_id):
        yield {
            row["chunk_id"]: ChunkRow(
                row["source_file"], row["chunk_index"], row["text_hash"], row["payload"]
            )
            for row in page
        }


async def _pages(
    engine: AsyncEngine, table: Table, *conditions: ColumnElement[bool]
) -> AsyncIterator[list[dict[str, Any]]]:
    """The rows of a table in the order of their keys, as PostgreSQL takes them.

    Each page is a statement of its own: no connection is held while another database is written.
    """
    key = tuple(table.primary_key)
    types = [column.type for column in key]
    query = select(table).where(*conditions).order_by(*key).limit(PAGE)
    following = query
    while True:
        async with engine.connect() as connection:
            rows = (await connection.execute(following)).mappings().all()
        if not rows:
            return
        yield [_row(row) for row in rows]
        last = tuple_(*(rows[-1][column.name] for column in key), types=types)
        following = query.where(tuple_(*key) > last)


def _row(row: RowMapping) -> dict[str, Any]:
    return {
        name: utc(value) if isinstance(value, datetime) else storable(value)
        for name, value in row.items()
    }


async def _present(
    connection: AsyncConnection, table: Table, page: Sequence[Mapping[str, Any]]
) -> set[tuple[Any, ...]]:
    """The keys of those rows of a page that a table has."""
    columns = _key_columns(table)
    found = await connection.execute(select(*columns).where(_among(table, _keys(table, page))))
    return {tuple(row) for row in found}


def _among(table: Table, keys: Sequence[tuple[Any, ...]]) -> ColumnElement[bool]:
    columns = _key_columns(table)
    if len(columns) == 1:
        return columns[0].in_([key for (key,) in keys])
    return tuple_(*columns).in_(keys)


def _keys(table: Table, page: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    names = [column.name for column in _key_columns(table)]
    return [tuple(row[name] for name in names) for row in page]


def _key_columns(table: Table) -> tuple[Any, ...]:
    """What a row is known by in both databases; numbers of jobs are each database's own."""
    if table is ingestion_jobs:
        return table.c.book_id, table.c.queued_at
    return tuple(table.primary_key)


def _about_books(tables: Iterable[Table]) -> list[Table]:
    return [table for table in tables if "book_id" in table.c]


async def _count(
    connection: AsyncConnection, table: Table, *conditions: ColumnElement[bool]
) -> int:
    query = select(func.count()).select_from(table).where(*conditions)
    return int((await connection.execute(query)).scalar_one())


def _taken(book_ids: Sequence[str], why: str) -> Conflict:
    named = ", ".join(repr(book_id) for book_id in book_ids)
    return Conflict(
        f"These books are {why}: {named}.",
        "Remove them there, or use an empty database; nothing was written.",
        {"books": list(book_ids)},
    )


def _incomplete(what: str) -> ValidationFailed:
    return ValidationFailed(
        f"{what} The move is not complete, and no book is visible there yet.",
        "Run the same command again: it goes on where it is.",
    )
