"""What was measured on a book for the embedder that indexed it; another embedder never sees it."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.storage.rows import upsert, utc
from askbook.storage.tables import books, calibrations, lessons


@dataclass(frozen=True, slots=True, kw_only=True)
class BookCalibration:
    """The usual best cosine of foreign questions and of the book's own, and how far they scatter.

    `auroc` and `ece` are of the questions made from the book: they say whether calibrating worked,
    not how well readers' questions are judged.
    """

    book_id: str
    fingerprint: str
    foreign_cosine: float
    own_cosine: float
    spread: float
    samples: int
    auroc: float
    ece: float
    made_at: datetime


class CalibrationStore:
    """Keeps the newest calibration of every book and embedder."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def save(self, calibration: BookCalibration) -> None:
        """Keep it in the place of an earlier one; a book that is gone has none."""
        book_id = calibration.book_id
        async with self._engine.begin() as connection:
            known = await connection.execute(
                select(books.c.book_id).where(books.c.book_id == book_id)
            )
            if known.first() is not None:
                await connection.run_sync(upsert, calibrations, [asdict(calibration)])

    async def find(self, book_id: str, fingerprint: str) -> BookCalibration | None:
        query = select(calibrations).where(
            calibrations.c.book_id == book_id, calibrations.c.fingerprint == fingerprint
        )
        async with self._engine.connect() as connection:
            row = (await connection.execute(query)).first()
        if row is None:
            return None
        values = {name: getattr(row, name) for name in BookCalibration.__slots__}
        return BookCalibration(**values | {"made_at": utc(row.made_at)})

    async def changed_since(self, book_id: str, moment: datetime) -> bool:
        """Whether a lesson of the book was read anew after this moment."""
        query = select(lessons.c.source_file).where(
            lessons.c.book_id == book_id, lessons.c.ingested_at > moment
        )
        async with self._engine.connect() as connection:
            return (await connection.execute(query.limit(1))).first() is not None

    async def forget(self, book_id: str, fingerprint: str) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(
                delete(calibrations).where(
                    calibrations.c.book_id == book_id, calibrations.c.fingerprint == fingerprint
                )
            )
