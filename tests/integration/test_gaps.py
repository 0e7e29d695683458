"""Declined questions on a real database: counted, bounded, and never in a turn's way."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from shelf import lesson, write
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.testing import capture_logs

from askbook.book import Book
from askbook.bootstrap import Askbook, Scope
from askbook.chat import TurnEnded
from askbook.config import Settings, load_settings
from askbook.errors import ServiceUnavailable
from askbook.gaps.listing import list_gaps
from askbook.retrieval.history import Message
from askbook.storage.engine import open_engine
from askbook.storage.gaps import Gap, GapStore
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook
from doubles import NullEmbedder

Serve = Callable[[Settings], AbstractAsyncContextManager[httpx.AsyncClient]]

DAY = date(2026, 1, 2)
OFF_TOPIC = "What is the capital of Australia?"


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """A database with two empty books."""
    kind: str = request.param
    url = request.getfixturevalue("database_url") if kind == "postgresql" else None
    engine = await open_engine(tmp_path, url)
    for book_id in ("robots", "gears"):
        await Library(engine).save_book(
            ShelvedBook(book=Book(book_id, book_id), folder="/", fingerprint="f", settings_hash="s")
        )
    yield engine
    await engine.dispose()


def gap(question: str, **given: Any) -> Gap:
    values: dict[str, Any] = {"question": question, "last_asked": DAY, "confidence": 0.25} | given
    return Gap(**values)


# --- The store ---


async def test_the_same_question_is_counted(engine: AsyncEngine) -> None:
    store = GapStore(engine)
    await store.record("robots", gap("How do I weld?", source_file="a.md", page_title="A"))
    later = DAY + timedelta(days=3)
    await store.record("robots", gap("how do I  weld", last_asked=later, confidence=0.5))
    await store.record("robots", gap("How do I solder?"))
    await store.record("gears", gap("How do I weld?"))
    assert await store.gaps("robots") == [
        gap("How do I weld?", last_asked=later, confidence=0.5, count=2),
        gap("How do I solder?"),
    ]
    assert [g.question for g in await store.gaps("robots", since=later)] == ["How do I weld?"]


async def test_the_oldest_go_first(engine: AsyncEngine) -> None:
    store = GapStore(engine, kept=3)
    for n in range(6):
        await store.record("robots", gap(f"Question {n}?", last_asked=DAY + timedelta(days=n)))
    await store.record("gears", gap("Question 0?"))
    assert {g.question[-2] for g in await store.gaps("robots")} == {"3", "4", "5"}
    assert len(await store.gaps("gears")) == 1


async def test_a_deleted_book_has_no_gaps(engine: AsyncEngine) -> None:
    store = GapStore(engine)
    await store.record("robots", gap("How do I weld?"))
    await store.record("gears", gap("How do I weld?"))
    await Library(engine).delete_book("robots")
    await store.record("robots", gap("How do I solder?"))
    assert await store.gaps("robots") == []
    assert len(await store.gaps("gears")) == 1


async def test_a_question_is_embedded_once_for_each_embedder(engine: AsyncEngine) -> None:
    store = GapStore(engine)
    for question in ("How do I weld?", "How do I solder?"):
        await store.record("robots", gap(question))
    first, other = NullEmbedder("first"), NullEmbedder("other")
    found = await list_gaps(store, first, "robots")
    assert await list_gaps(store, first, "robots") == found
    assert first.texts.count("How do I weld?") == 1
    assert (found.total_count, found.total_clusters) == (2, 2)
    await list_gaps(store, other, "robots")
    assert "How do I weld?" in other.texts


async def test_only_the_last_days_and_the_first_lines(engine: AsyncEngine) -> None:
    store, today = GapStore(engine), datetime.now(UTC).date()
    for n in range(5):
        await store.record("robots", gap(f"Question {n}?", last_asked=today - timedelta(days=n)))
    found = await list_gaps(store, NullEmbedder(), "robots", days=3, limit=2)
    assert (found.total_count, found.total_clusters, len(found.clusters)) == (3, 3, 2)
    assert (await list_gaps(store, NullEmbedder(), "gears")).to_json()["clusters"] == []


async def test_a_gap_has_no_more_than_it_needs(engine: AsyncEngine) -> None:
    """A new column is a decision about readers, not a detail."""
    async with engine.connect() as connection:
        columns = (await connection.execute(text("SELECT * FROM gaps"))).keys()
    assert set(columns) == {
        *("book_id", "question_hash", "question", "last_asked", "count", "confidence"),
        *("source_file", "page_title", "fingerprint", "vector"),
    }


# --- Recording ---


async def asked(askbook: Askbook) -> dict[str, int]:
    found = await askbook.list_gaps()
    return {g.question: g.count for cluster in found.clusters for g in cluster.gaps}


async def test_declined_questions_are_kept_and_answered_ones_are_not(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir)) as askbook:
        assert (await askbook.ask("What are the stop categories?")).should_answer
        response = await askbook.ask(OFF_TOPIC)
        assert not response.should_answer
        async for event in askbook.stream(OFF_TOPIC):
            if isinstance(event, TurnEnded):
                # As a client that leaves as soon as it has its answer.
                break
        assert await asked(askbook) == {OFF_TOPIC: 2}
        [cluster] = (await askbook.list_gaps()).clusters
        assert cluster.nearest.confidence == pytest.approx(response.confidence)
        assert f"“{cluster.nearest.page_title}" in response.metrics.reason
        lessons = await askbook.library.lessons(response.book_id)
        assert cluster.nearest.source_file in lessons


async def test_a_part_of_the_book_or_a_marked_passage_tells_no_gap(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir, judge=False)) as askbook:
        for scope in (Scope(lesson=1), Scope(similarity_threshold=0.99), Scope(layer="L4")):
            assert not (await askbook.ask(OFF_TOPIC, scope)).should_answer
        assert not (await askbook.ask(OFF_TOPIC, selected_text="Not in here.")).should_answer
        assert await asked(askbook) == {}
        assert not (await askbook.ask(OFF_TOPIC, Scope(hardware_tier=2))).should_answer
        assert await asked(askbook) == {OFF_TOPIC: 1}


async def test_what_only_the_readers_tier_hides_is_no_gap(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir)) as askbook:
        response = await askbook.ask("Can I run Isaac Sim on an A100?", Scope(hardware_tier=1))
        assert not response.should_answer
        assert any("your tier is 1" in info for info in response.info)
        assert await asked(askbook) == {}


async def test_a_question_that_lives_on_others_is_no_gap(data_dir: Path) -> None:
    before = [Message(role="user", content="Who won the football World Cup in 2018?")]
    async with Askbook(load_settings(data_dir=data_dir, judge=False)) as askbook:
        assert not (await askbook.ask("And in 2014?", history=before)).should_answer
        assert not (await askbook.ask(OFF_TOPIC, history=before)).should_answer
        assert await asked(askbook) == {OFF_TOPIC: 1}


async def test_nothing_is_kept_when_switched_off(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir, judge=False, keep_gaps=False)) as askbook:
        assert not (await askbook.ask(OFF_TOPIC)).should_answer
        assert await asked(askbook) == {}


async def test_a_turn_ends_well_when_its_gap_cannot_be_kept(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise ServiceUnavailable(f"INSERT {OFF_TOPIC}")

    monkeypatch.setattr(GapStore, "record", fails)
    with capture_logs() as logs:
        async with Askbook(load_settings(data_dir=data_dir, judge=False)) as askbook:
            assert not (await askbook.ask(OFF_TOPIC)).should_answer
    [entry] = [entry for entry in logs if entry["event"] == "gap_not_kept"]
    assert (entry["log_level"], entry["reason"]) == ("warning", "ServiceUnavailable")
    assert "Australia" not in str(logs)


async def test_gaps_over_http_are_for_the_administrator(serve: Serve, tmp_path: Path) -> None:
    folder = write(tmp_path / "small", {"a.md": lesson("Gears", "one")})
    settings = load_settings(data_dir=tmp_path / "data", judge=False)
    async with Askbook(settings) as askbook:
        async for _ in askbook.ingest(folder):
            pass
    async with serve(settings) as http:
        reply = await http.post("/chat/run", json={"message": OFF_TOPIC})
        assert reply.json()["should_answer"] is False
        listed = await http.get("/gaps", params={"book_id": "small"})
        assert listed.status_code == 200
        [cluster] = listed.json()["clusters"]
        assert (cluster["question"], cluster["count"]) == (OFF_TOPIC, 1)
        assert cluster["nearest_lesson"]["source_file"] == "a.md"
        assert (await http.get("/gaps", params={"days": 0})).status_code == 422
        assert (await http.get("/gaps", params={"book_id": "none"})).status_code == 404
        through_a_proxy = await http.get("/gaps", headers={"X-Forwarded-For": "203.0.113.9"})
        assert through_a_proxy.status_code == 401
