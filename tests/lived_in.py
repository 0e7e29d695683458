"""A data directory that readers have used: two books, conversations, a key, a gap, a vote, a calibration."""

import uuid
from contextlib import aclosing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from askbook.bootstrap import Askbook, Scope
from askbook.config import load_settings
from askbook.conversations import LOCAL, Message
from askbook.storage.calibrations import BookCalibration, CalibrationStore
from askbook.storage.gaps import Gap
from askbook.storage.rows import utc
from askbook.storage.tables import metadata
from two_books import QUESTIONS

FOREIGN = "Who won the chess championship of 1972?"


async def live_in(data_dir: Path) -> tuple[str, str]:
    """Use a data directory of two books as readers do; gives a session, and a key."""
    session = str(uuid.uuid4())
    async with Askbook(load_settings(data_dir=data_dir, judge=False)) as askbook:
        turn = askbook.converse(QUESTIONS["gardens"], session, Scope(book_id="gardens"))
        async with aclosing(turn) as events:
            async for _ in events:
                pass
        await askbook.rate(session, "down", "Too \x00 short")
        await _talk_long(askbook)
        gap = Gap(question=FOREIGN, last_asked=date(2025, 11, 29), confidence=0.125)
        await askbook.gaps.record("gardens", gap)
        await CalibrationStore(askbook.engine).save(
            BookCalibration(
                book_id="engines",
                fingerprint=str(askbook.embedder.fingerprint),
                foreign_cosine=0.1,
                own_cosine=0.7,
                spread=0.05,
                samples=20,
                auroc=0.9,
                ece=0.1,
                made_at=datetime(2025, 11, 29, 12, 0, tzinfo=UTC),
            )
        )
        _, key = await askbook.keys.create("my app", books=["gardens"])
        await askbook.keys.create("all books")
    return session, key


async def _talk_long(askbook: Askbook) -> None:
    """More messages than a thread keeps: the older ones are put aside."""
    session = str(uuid.uuid4())
    for number in range(30):
        async with askbook.conversations.turn(session, LOCAL) as dialogue:
            asked = Message(role="user", content=f"Question {number}?")
            await dialogue.append(asked, f"Answer {number}.", book_id="engines", confidence=0.5)


async def contents(engine: AsyncEngine) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, in the order of the keys."""
    found: dict[str, list[dict[str, Any]]] = {}
    async with engine.connect() as connection:
        for table in metadata.sorted_tables:
            rows = (await connection.execute(select(table))).mappings()
            plain = [
                {n: utc(v) if isinstance(v, datetime) else v for n, v in row.items()}
                for row in rows
            ]
            keys = [column.name for column in table.primary_key]
            found[table.name] = sorted(plain, key=lambda row: [str(row[key]) for key in keys])
    return found
