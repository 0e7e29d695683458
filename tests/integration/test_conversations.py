"""Conversations in memory, on SQLite and on PostgreSQL keep one contract; the database adds its own rules."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.conversations import ConversationStore
from askbook.conversations.memory import MemoryConversations
from askbook.storage.conversations import ConversationThread, DatabaseConversations
from askbook.storage.engine import open_engine
from askbook.storage.tables import metadata
from contracts.conversation_store import NOW, ConversationStoreContract, new_id


class TestInMemory(ConversationStoreContract):
    @pytest.fixture
    def store(self) -> ConversationStore:
        return MemoryConversations()


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    kind: str = request.param
    url = request.getfixturevalue("database_url") if kind == "postgresql" else None
    engine = await open_engine(tmp_path, url)
    yield engine
    await engine.dispose()


class TestInTheDatabase(ConversationStoreContract):
    @pytest.fixture
    def store(self, engine: AsyncEngine) -> ConversationStore:
        return DatabaseConversations(engine)


@pytest.mark.spec("D41", "D63", "D64", "D65")
async def test_the_table_is_the_documented_one(engine: AsyncEngine) -> None:
    def look(connection: Any) -> tuple[dict[str, Any], dict[str, Any], Any]:
        seen = inspect(connection)
        columns = {c["name"]: c for c in seen.get_columns("conversation_threads")}
        indexes = {i["name"]: i for i in seen.get_indexes("conversation_threads")}
        return columns, indexes, seen.get_pk_constraint("conversation_threads")

    async with engine.connect() as connection:
        columns, indexes, key = await connection.run_sync(look)
        differences = await connection.run_sync(
            lambda sync: compare_metadata(MigrationContext.configure(sync), metadata)
        )
    assert differences == []
    assert key["constrained_columns"] == ["thread_id"]
    assert not columns["messages"]["nullable"]
    for name in ("created_at", "updated_at"):
        assert not columns[name]["nullable"]
        assert columns[name]["default"] in ("CURRENT_TIMESTAMP", "now()")
    assert "{}" in columns["metadata"]["default"]
    assert columns["topic_summary"]["nullable"]
    assert {"idx_threads_updated", "idx_threads_created"} <= set(indexes)
    if engine.dialect.name == "postgresql":
        types = {name: str(column["type"]) for name, column in columns.items()}
        assert types["thread_id"] == "UUID"
        assert types["messages"] == types["metadata"] == "JSONB"
        assert columns["created_at"]["type"].timezone
        assert indexes["idx_threads_updated"]["column_sorting"] == {"updated_at": ("desc",)}
        assert indexes["idx_threads_created"]["column_sorting"] == {"created_at": ("desc",)}


@pytest.mark.spec("D31")
async def test_the_database_refuses_a_long_topic(engine: AsyncEngine) -> None:
    thread = ConversationThread(
        thread_id=new_id(),
        owner="mine",
        book_id="robots",
        created_at=NOW,
        updated_at=NOW,
        topic_summary="x" * 201,
        version=1,
    )
    with pytest.raises(IntegrityError):
        await DatabaseConversations(engine).write(thread)
    async with engine.connect() as connection:
        count = await connection.execute(text("SELECT count(*) FROM conversation_threads"))
        assert count.scalar() == 0
