"""askbook: a tutor that answers only from a book, cites the exact place, and says when it is not in it.

Ingest: folder → Book → Lesson → DocumentChunk → vector → index      (ingestion, embedding, index)
Ask:    question → SearchResult → RetrievalContext + ConfidenceMetrics → answer + Citation
                                                                      (retrieval, agent, chat)

    from askbook import Askbook
    async with Askbook() as book:
        answer = await book.ask("What is a VLA model?")

`bootstrap` puts the parts together; `cli` and `api` are the two front ends; `storage` keeps what is visible.
"""

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askbook.agent.response import AgentResponse
    from askbook.bootstrap import Askbook
    from askbook.config import Settings

__version__ = "0.1.0"
__all__ = ["Askbook", "__version__", "ask_sync"]


def ask_sync(
    question: str, *, book_id: str | None = None, settings: "Settings | None" = None
) -> "AgentResponse":
    """Ask one question from code that is not asynchronous, also in a notebook, whose event loop runs already."""
    from askbook.bootstrap import Askbook, Scope

    async def ask() -> "AgentResponse":
        async with Askbook(settings) as book:
            return await book.ask(question, Scope(book_id=book_id))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(ask())
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as outside:
        return outside.submit(asyncio.run, ask()).result()


def __getattr__(name: str) -> Any:
    # Imported on demand: the front door pulls in the database and the engine, `askbook --help` must not.
    if name == "Askbook":
        from askbook.bootstrap import Askbook

        return Askbook
    raise AttributeError(f"module 'askbook' has no attribute {name!r}")
