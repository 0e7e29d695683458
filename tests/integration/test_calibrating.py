"""`askbook calibrate` through a real index and database: measured, kept, used, and given up where it must be."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from shelf import lesson, write
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.book import Book
from askbook.bootstrap import Askbook
from askbook.config import load_settings
from askbook.embedding import Fingerprint
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.evaluation.calibrating import FEWEST_QUESTIONS, calibrate, measure
from askbook.storage.calibrations import BookCalibration, CalibrationStore
from askbook.storage.engine import open_engine
from askbook.storage.library import Library
from askbook.storage.rows import ShelvedBook
from doubles import NullEmbedder, WordEmbedder

SAMPLE = Path(__file__).parents[2] / "examples" / "physical-ai-book"
MADE = BookCalibration(
    book_id="robots",
    fingerprint="f",
    foreign_cosine=0.2,
    own_cosine=0.4,
    spread=0.05,
    samples=200,
    auroc=0.9,
    ece=0.1,
    made_at=datetime(2026, 1, 2, tzinfo=UTC),
)


@pytest_asyncio.fixture(params=["sqlite", "postgresql"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    """A database with one empty book."""
    kind: str = request.param
    url = request.getfixturevalue("database_url") if kind == "postgresql" else None
    engine = await open_engine(tmp_path, url)
    book = Book("robots", "Robots")
    await Library(engine).save_book(
        ShelvedBook(book=book, folder="/", fingerprint="f", settings_hash="s")
    )
    yield engine
    await engine.dispose()


async def test_a_calibration_is_kept_for_one_embedder(engine: AsyncEngine) -> None:
    store = CalibrationStore(engine)
    await store.save(replace(MADE, samples=1))
    await store.save(MADE)
    assert await store.find("robots", "f") == MADE
    assert await store.find("robots", "another") is None
    await store.forget("robots", "f")
    assert await store.find("robots", "f") is None


async def test_a_calibration_goes_with_its_book(engine: AsyncEngine) -> None:
    store = CalibrationStore(engine)
    await store.save(MADE)
    await Library(engine).delete_book("robots")
    await store.save(MADE)
    assert await store.find("robots", "f") is None


async def test_a_calibration_is_old_once_a_lesson_changed(place: Path) -> None:
    write(place / "small", {"a.md": lesson("Nodes", "Graph"), "b.md": lesson("Topics", "Names")})
    settings = load_settings(data_dir=place / "data", judge=False)

    async def ingest(book: Askbook) -> None:
        async for _ in book.ingest(place / "small", "small"):
            pass

    async with Askbook(settings, embedder=WordEmbedder()) as book:
        await ingest(book)
        fingerprint = str(book.embedder.fingerprint)
        now = datetime.now(UTC)
        await book.calibrations.keep(
            replace(MADE, book_id="small", fingerprint=fingerprint, made_at=now)
        )
        await ingest(book)
        assert "changed since" not in await book.calibrations.describe("small")
        write(place / "small", {"b.md": lesson("Topics", "Other names")})
        await ingest(book)
        assert "changed since" in await book.calibrations.describe("small")


class Renamed(BuiltinEmbedder):
    """As good as the built-in one, but nobody has heard of it."""

    @property
    def fingerprint(self) -> Fingerprint:
        return replace(super().fingerprint, name="unheard-of")


async def test_a_calibrated_book_is_judged_by_its_anchors_and_only_for_its_embedder(
    place: Path,
) -> None:
    settings = load_settings(data_dir=place, judge=False)
    async with Askbook(settings, embedder=Renamed()) as book:
        async for _ in book.ingest(SAMPLE):
            pass
        _, before = await book.search("What is a node?")
        assert before.anchors is None
        done = await calibrate(book)
        assert done.shortfall is None
        made = done.calibration
        assert made is not None
        assert made.own_cosine > made.foreign_cosine
        assert made.auroc > 0.9
        assert made.samples == done.samples > 100
        assert done.in_use.startswith("calibrated for this book on ")
        _, after = await book.search("What is a node?")
        assert after.anchors is not None
        assert after.anchors.own == pytest.approx(made.own_cosine)
        again = (await measure(book, done.book_id)).anchors
        assert again.foreign == pytest.approx(made.foreign_cosine)
    async with Askbook(settings, embedder=WordEmbedder()) as book:
        async for _ in book.ingest(SAMPLE, mode="recreate"):
            pass
        _, found = await book.search("What is a node?")
        assert found.anchors is None


async def test_a_book_too_small_falls_back_and_says_so(place: Path) -> None:
    write(place / "small", {"a.md": lesson("Nodes", "Graph"), "b.md": lesson("Topics", "Names")})
    async with Askbook(
        load_settings(data_dir=place / "data", judge=False), embedder=WordEmbedder()
    ) as book:
        async for _ in book.ingest(place / "small"):
            pass
        done = await calibrate(book)
        assert done.calibration is None
        assert done.shortfall is not None
        assert "too small" in done.shortfall
        assert str(FEWEST_QUESTIONS) in done.shortfall
        assert done.in_use.startswith("shipped for any embedder")
        assert done.to_json()["calibrated"] is False


async def test_an_embedder_without_any_sense_is_told(place: Path) -> None:
    async with Askbook(load_settings(data_dir=place, judge=False), embedder=NullEmbedder()) as book:
        async for _ in book.ingest(SAMPLE):
            pass
        done = await calibrate(book)
        assert done.calibration is None
        assert "too badly" in str(done.shortfall)
