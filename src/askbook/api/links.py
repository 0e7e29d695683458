"""Links to lessons, signed so that a browser which follows them reads in the caller's name."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace
from urllib.parse import unquote, urlsplit, urlunsplit

from askbook.access import Grant
from askbook.access.tickets import issue
from askbook.agent.events import SentenceVerified, SourcesFound
from askbook.agent.response import READING, Citation
from askbook.chat import TurnEnded, TurnEvent
from askbook.conversations import History
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchResult


def signed(url: str, caller: Grant) -> str:
    """The same link with a ticket; links to other sites, and links of callers without a key, stay as they are."""
    if not url.startswith(READING):
        return url
    parts = urlsplit(url)
    ticket = issue(caller, unquote(parts.path))
    if ticket is None:
        return url
    query = f"{parts.query}&ticket={ticket}" if parts.query else f"ticket={ticket}"
    return urlunsplit(parts._replace(query=query))


async def signed_turn(turn: AsyncGenerator[TurnEvent], caller: Grant) -> AsyncGenerator[TurnEvent]:
    """A turn whose citations the caller's browser can open."""
    async with aclosing(turn) as events:
        async for event in events:
            yield _signed_event(event, caller)


def _signed_event(event: TurnEvent, caller: Grant) -> TurnEvent:
    if isinstance(event, SourcesFound):
        return replace(event, sources=signed_citations(event.sources, caller))
    if isinstance(event, SentenceVerified):
        return replace(event, citations=signed_citations(event.citations, caller))
    if isinstance(event, TurnEnded):
        response = event.response
        return replace(
            event,
            response=replace(
                response,
                citations=signed_citations(response.citations, caller),
                sources=signed_results(response.sources, caller),
                nearest=signed_citations(response.nearest, caller),
            ),
        )
    return event


def signed_results(results: Iterable[SearchResult], caller: Grant) -> tuple[SearchResult, ...]:
    """Results that the caller's browser can open."""
    return tuple(replace(result, link=signed(result.url, caller)) for result in results)


def signed_history(history: History, caller: Grant) -> History:
    """What was said, with links that the caller's browser can open now; kept ones have none."""
    return replace(
        history,
        earlier=tuple(_signed_message(message, caller) for message in history.earlier),
        messages=tuple(_signed_message(message, caller) for message in history.messages),
    )


def _signed_message(message: Message, caller: Grant) -> Message:
    if not message.evidence:
        return message
    evidence = dict(message.evidence)
    for name in ("citations", "nearest"):
        evidence[name] = [
            {
                **place,
                "url": signed(place["url"], caller),
                "page_url": signed(place["page_url"], caller),
            }
            for place in evidence.get(name, ())
        ]
    return replace(message, evidence=evidence)


def signed_citations(citations: Iterable[Citation], caller: Grant) -> tuple[Citation, ...]:
    return tuple(
        replace(c, url=signed(c.url, caller), page_url=signed(c.page_url, caller))
        for c in citations
    )
