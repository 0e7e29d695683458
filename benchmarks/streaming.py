"""What checking costs a reader: time to the first sentence beyond the model's own, and 100 streams at once.

python benchmarks/streaming.py [--turns 30]
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from agent_turns import BOOK, results_of, turns_over  # the tests' own doubles
from askbook.agent.events import SentenceVerified
from askbook.chat import TurnEnded
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import SearchQuery
from openai_chat_server import ChatServer, Say

DELAY = 0.2
"""Seconds the scripted model takes before it writes; it then writes at once."""


class Numbered:
    async def search(self, query: SearchQuery, *_: Any) -> RetrievalContext:
        number = query.text.rsplit(" ", 1)[-1]
        text = f"Robot number {number} carries {number} kg over rough ground."
        return RetrievalContext(query=query.text, results=results_of([text]), query_time_ms=0.0)


def echo(body: dict[str, Any]) -> Say:
    output = next(m for m in body["messages"] if m["role"] == "tool")["content"]
    text = json.loads(output)["results"][0]["chunk_text"].splitlines()[1]
    return Say(f"{text} [1] " * 3, size=8, delay=DELAY)


async def measure(turns: int) -> None:
    with ChatServer() as server:
        server.respond = echo
        async with turns_over(server.url, shelf=Numbered()) as chat:

            async def first_and_last(number: int) -> tuple[float, float, bool]:
                query = SearchQuery(text=f"What does robot {number}", book_id="robots")
                started = time.perf_counter()
                first = last = 0.0
                right = True
                async for event in chat.stream(query, BOOK):
                    if isinstance(event, SentenceVerified):
                        first = first or time.perf_counter() - started
                        right = right and f"number {number} carries" in event.text
                    elif isinstance(event, TurnEnded):
                        last = time.perf_counter() - started
                        right = right and event.response.model != "extractive"
                return first, last, right

            await first_and_last(0)
            alone = [(await first_and_last(n))[0] - DELAY for n in range(1, turns + 1)]
            ordered = sorted(alone)
            print(
                f"time to the first sentence beyond the model's own, {turns} turns: "
                f"median {median(ordered) * 1000:.0f} ms, p95 {ordered[int(turns * 0.95)] * 1000:.0f} ms"
            )
            cpu, started = time.process_time(), time.perf_counter()
            together = await asyncio.gather(*(first_and_last(n) for n in range(1000, 1100)))
            wall, cpu = time.perf_counter() - started, time.process_time() - cpu
            print(
                f"100 streams at once: {sum(r for *_, r in together)} right, {wall:.1f} s, "
                f"{cpu * 10:.0f} ms CPU each (scripted server included), "
                f"slowest first sentence {max(f for f, *_ in together):.1f} s"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    asyncio.run(measure(parser.parse_args().turns))
