"""Keys on SQLite and on PostgreSQL keep one contract."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

import askbook.storage.engine as engine_module
from askbook.access import Keys
from askbook.storage.engine import open_engine
from askbook.storage.keys import KeyStore
from askbook.storage.tables import metadata

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    kind: str = request.param
    url = request.getfixturevalue("database_url") if kind == "postgresql" else None
    engine = await open_engine(tmp_path, url)
    yield engine
    await engine.dispose()


@pytest.fixture
def keys(engine: AsyncEngine) -> Keys:
    return Keys(KeyStore(engine), Clock())


async def test_a_key_comes_back_as_it_was_made(keys: Keys) -> None:
    assert not await keys.any()
    wide, first = await keys.create("Größe")
    bound, second = await keys.create(
        "widget",
        public=True,
        origins=["https://a.example", "http://localhost:3000"],
        books=["b", "a", "b"],
        tier=2,
        rate=7,
    )
    assert await keys.any()
    assert await keys.authenticate(first) == wide
    assert await keys.authenticate(second) == bound
    assert (wide.books, wide.tier, wide.rate, wide.public) == (None, None, 100, False)
    assert (bound.books, bound.tier, bound.rate, bound.public) == (("b", "a"), 2, 7, True)
    assert bound.created_at.utcoffset() == timedelta(0)
    assert await keys.list() == [wide, bound]
    assert await keys.holding(wide.key_id) == wide
    assert await keys.holding("absent") is None


async def test_a_revoked_key_ends_at_once_and_stays_on_record(keys: Keys) -> None:
    key, secret = await keys.create("app")
    _, other = await keys.create("other")
    ended = await keys.revoke(key.key_id)
    assert ended.revoked_at is not None
    assert await keys.authenticate(secret) is None
    assert await keys.holding(key.key_id) is None
    assert await keys.authenticate(other) is not None
    assert (await keys.list())[0] == ended
    assert await keys.any()


async def test_origins_are_those_of_publishable_keys_that_hold(keys: Keys) -> None:
    await keys.create("secret")
    gone, _ = await keys.create("old", public=True, origins=["https://old.example"])
    await keys.create("new", public=True, origins=["https://a.example", "https://b.example"])
    await keys.revoke(gone.key_id)
    assert await keys.origins() == {"https://a.example", "https://b.example"}


async def test_an_id_is_taken_once(keys: Keys, engine: AsyncEngine) -> None:
    key, _ = await keys.create("app")
    with pytest.raises(IntegrityError):
        await KeyStore(engine).add(key)


@pytest.mark.parametrize("version", ["0001", "0002", "0003", "0004"])
async def test_the_table_comes_and_goes_with_its_revision(
    engine: AsyncEngine, version: str
) -> None:
    def migrations(connection: Connection) -> Config:
        config = Config()
        folder = Path(engine_module.__file__).parent / "migrations"
        config.set_main_option("script_location", str(folder))
        config.attributes["connection"] = connection
        return config

    def travel(connection: Connection) -> tuple[bool, list[Any]]:
        command.downgrade(migrations(connection), version)
        without = inspect(connection).has_table("api_keys")
        command.downgrade(migrations(connection), "base")
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}
        # As an installation of that age left it, and brought up to date.
        command.upgrade(migrations(connection), version)
        command.upgrade(migrations(connection), "head")
        found = compare_metadata(MigrationContext.configure(connection), metadata)
        return without, list(found)

    async with engine.begin() as connection:
        without, differences = await connection.run_sync(travel)
    assert not without
    assert differences == []
