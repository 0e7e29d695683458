"""Two small books of two owners, each with words that nothing but its own text has."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from askbook.config import Settings, load_settings

ANSWERS = {
    "gardens": "A quizzlebush must be watered every eleven days, always before sunrise.",
    "engines": "A flumptor valve must be oiled every thirty hours, always with grade nine oil.",
}
QUESTIONS = {
    "gardens": "How often must a quizzlebush be watered?",
    "engines": "How often must a flumptor valve be oiled?",
}
WORDS = {"gardens": ("quizzlebush", "marrowfern"), "engines": ("flumptor", "gaskervane")}
_LESSONS = {
    "gardens": {
        "01-care/01-quizzlebush-watering.md": f"# Quizzlebush watering\n\n{ANSWERS['gardens']}\n",
        "01-care/02-marrowfern.md": "---\nhardware_tier: 3\n---\n# Marrowfern\n\nA marrowfern grows in "
        "the shade of old walls and needs no water at all in winter.\n",
    },
    "engines": {
        "01-upkeep/01-flumptor-oiling.md": f"# Flumptor oiling\n\n{ANSWERS['engines']}\n",
        "01-upkeep/02-gaskervane.md": "# Gaskervane\n\nA gaskervane turns the warm air out of the "
        "engine room and is cleaned twice a year with a soft brush.\n",
    },
}


def write_books(folder: Path) -> dict[str, Path]:
    """The folders of both books, below `folder`."""
    for book_id, lessons in _LESSONS.items():
        for name, text in lessons.items():
            path = folder / book_id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return {book_id: folder / book_id for book_id in _LESSONS}


def ingest_books(data_dir: Path, folder: Path, **settings: Any) -> None:
    """Both books in a data directory, or in the database that the settings name."""

    async def ingest() -> None:
        from askbook.bootstrap import Askbook

        async with Askbook(load_settings(data_dir=data_dir, **settings)) as askbook:
            for path in write_books(folder).values():
                async for _ in askbook.ingest(path):
                    pass

    asyncio.run(ingest())


@dataclass
class Server:
    """The running application, and how callers reach it."""

    app: Any
    askbook: Any

    async def key(self, name: str = "app", **wanted: Any) -> str:
        """A new key, as its holder sees it."""
        _, secret = await self.askbook.keys.create(name, **wanted)
        return secret

    def client(
        self, key: str | None = None, *, address: str = "127.0.0.1", **headers: str
    ) -> httpx.AsyncClient:
        """A client of its own address, with a key."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        transport = httpx.ASGITransport(
            self.app, raise_app_exceptions=False, client=(address, 50000)
        )
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=sent)


@asynccontextmanager
async def running(settings: Settings) -> AsyncGenerator[Server]:
    """The application on these settings."""
    from askbook.api.app import create_app

    app = create_app(settings)
    async with app.router.lifespan_context(app):
        yield Server(app, app.state.askbook)
