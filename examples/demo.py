"""`make demo`: ingest the sample book, ask it two questions, then serve the chat page."""

import argparse
import asyncio
import time
from pathlib import Path

import typer

from askbook.bootstrap import Askbook
from askbook.cli.answers import ShownAnswer, show_answer
from askbook.cli.ingest import ingest_with_bar, show_job
from askbook.cli.serve import run_server
from askbook.config import Settings, load_settings

BOOK = Path(__file__).parent / "physical-ai-book"
QUESTIONS = (
    "How do I build my workspace so that edits to Python files take effect without building again?",
    "Which wine goes well with grilled salmon?",
)


async def show(settings: Settings) -> None:
    async with Askbook(settings) as askbook:
        typer.secho(f"$ askbook ingest {BOOK.relative_to(BOOK.parents[1])}", fg="cyan")
        show_job(await ingest_with_bar(askbook, BOOK))
        for question in QUESTIONS:
            typer.secho(f'\n$ askbook ask "{question}"', fg="cyan")
            show_answer(ShownAnswer.of(await askbook.ask(question)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8321)
    settings = load_settings(port=parser.parse_args().port)
    started = time.perf_counter()
    asyncio.run(show(settings))
    typer.secho(
        f"\nReady after {time.perf_counter() - started:.1f} s. "
        f"Chat with the book on http://127.0.0.1:{settings.server.port} (Ctrl-C ends).",
        fg="green",
    )
    run_server(settings)


if __name__ == "__main__":
    main()
