"""Opens the database: SQLite in the data directory, or PostgreSQL, brought up to date by migrations."""

import json
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json
from sqlalchemy import (
    Connection,
    Dialect,
    Engine,
    ExceptionContext,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from askbook.errors import (
    AskbookError,
    DataDirectoryCorrupt,
    ServiceUnavailable,
    StorageFull,
)

DATABASE_FILE = "askbook.db"
HEAD = "0008"
QUEUE_CONNECTIONS = 5

_DDL = ("CREATE", "ALTER", "DROP")


async def open_engine(data_dir: Path, database_url: str | None = None) -> AsyncEngine:
    """An engine on a migrated database."""
    if database_url is None:
        data_dir.mkdir(parents=True, exist_ok=True)
        engine = create_async_engine(
            f"sqlite+aiosqlite:///{data_dir.absolute() / DATABASE_FILE}",
            json_serializer=_json,
            json_deserializer=_from_json,
        )
        event.listen(engine.sync_engine, "connect", _configure_sqlite)
        event.listen(engine.sync_engine, "handle_error", _translate_failure)
    else:
        engine = engine_on(database_url)
    try:
        await bring_up_to_date(engine)
    except BaseException:
        await engine.dispose()
        raise
    return engine


def engine_on(database_url: str) -> AsyncEngine:
    """An engine on PostgreSQL, as it is: nothing is asked of it yet."""
    engine = create_async_engine(
        _async_url(database_url),
        pool_pre_ping=True,
        json_serializer=_json,
        json_deserializer=_from_json,
    )
    event.listen(engine.sync_engine, "do_connect", _connect)
    event.listen(engine.sync_engine, "handle_error", _translate_failure)
    return engine


async def bring_up_to_date(engine: AsyncEngine) -> None:
    """Give the database the tables of this askbook."""
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_migrate)
    except (DatabaseError, OSError) as error:
        raise translate(error) from error


def make_twin(engine: AsyncEngine) -> Engine:
    """A synchronous engine on the same SQLite file."""
    twin = create_engine(
        engine.url.set(drivername="sqlite"), json_serializer=_json, json_deserializer=_from_json
    )
    event.listen(twin, "connect", _configure_sqlite)
    event.listen(twin, "handle_error", _translate_failure)
    return twin


def open_queue(url: str) -> Engine:
    """An engine for a queue in SQLite whose tables come all at once or not at all."""
    engine = create_engine(url, pool_size=QUEUE_CONNECTIONS)
    event.listen(engine, "connect", _configure_queue)
    event.listen(engine, "before_cursor_execute", _begin_before_ddl)
    return engine


def _configure_queue(connection: Any, _record: Any) -> None:
    connection.isolation_level = "IMMEDIATE"
    connection.execute("PRAGMA busy_timeout=30000")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_before_ddl(
    connection: Connection, cursor: Any, statement: str, *_: Any, **__: Any
) -> None:
    """The driver begins no transaction for DDL: after a kill in the middle, half of the tables would be there."""
    driver: Any = connection.connection.driver_connection
    if statement.lstrip().upper().startswith(_DDL) and not driver.in_transaction:
        cursor.execute("BEGIN IMMEDIATE")


async def revision_of(engine: AsyncEngine) -> str:
    """The migration the database is at."""
    async with engine.connect() as connection:
        found = await connection.execute(text("SELECT version_num FROM alembic_version"))
        return str(found.scalar())


def translate(error: Exception) -> AskbookError:
    """A database error in the user's terms."""
    reason = str(getattr(error, "orig", None) or error)
    if "disk is full" in reason or "No space left" in reason:
        return StorageFull(
            f"No space is left for the database: {reason}.",
            "Free some space and run the same command again; nothing already stored is lost.",
        )
    if "not a database" in reason or "malformed" in reason:
        return DataDirectoryCorrupt(
            f"The database in the data directory is damaged: {reason}.",
            "Restore it from a backup, or move the directory away and ingest your books again.",
        )
    return ServiceUnavailable(
        f"The database does not answer: {reason}.",
        "Check ASKBOOK_DATABASE_URL and the data directory with `askbook doctor`.",
    )


def _translate_failure(context: ExceptionContext) -> AskbookError | None:
    """A database that fails, not one that refuses a statement, speaks in the user's terms everywhere."""
    if context.is_pre_ping:
        # A connection that died in the pool is replaced, and nobody is told.
        return None
    error = context.sqlalchemy_exception
    gone = context.is_disconnect
    failed = isinstance(error, OperationalError) or type(error) is DatabaseError or gone
    return translate(error) if failed and error is not None else None


def _connect(dialect: Dialect, _record: Any, arguments: Any, named: Any) -> Any:
    """A connection; a server that is away or starting refuses in the driver's own words, which differ."""
    try:
        return dialect.connect(*arguments, **named)
    except Exception as error:
        raise translate(error) from error


def _json(value: Any) -> str:
    """As JSON, several times as fast as the standard library, which takes what is no valid Unicode."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value)


def _from_json(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def _async_url(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if separator and scheme in ("postgres", "postgresql"):
        return f"postgresql+asyncpg://{rest}"
    return url


def _configure_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "busy_timeout=10000",
        "foreign_keys=ON",
        "cache_size=-16000",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _migrate(connection: Connection) -> None:
    if _is_current(connection):
        return
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7215530)"))
    else:
        # As for `open_queue`: the driver begins none for DDL.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    if _is_current(connection):
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _is_current(connection: Connection) -> bool:
    """Whether the database has the tables of this askbook; one of a newer askbook is refused."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version is not None and version > HEAD:
        raise ServiceUnavailable(
            f"The database is at version {version}, newer than this askbook ({HEAD}).",
            "Install the newer askbook again, or use another data directory.",
        )
    return version == HEAD
