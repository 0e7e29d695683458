"""How a terminal shows an answer, whether it was made here or by a server."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

import typer

from askbook.errors import ServiceUnavailable

if TYPE_CHECKING:
    from askbook.agent.response import AgentResponse
    from askbook.chat import TurnEvent

PLACES = ("citations", "sources", "nearest")
"""What of an answer names places that can be opened."""


def at_addresses(places: list[dict[str, Any]], address: str) -> list[dict[str, Any]]:
    """A server's places with addresses to open instead of its paths."""
    return [
        place
        | {name: urljoin(address, place[name]) for name in ("url", "page_url") if name in place}
        for place in places
    ]


def place_to_open(url: str) -> str:
    """What a reader at a terminal can open: an address; of our own reading page, which only a server shows, the file
    and its heading."""
    parts = urlsplit(url)
    if parts.netloc:
        return url
    from askbook.agent.response import READING

    if not parts.path.startswith(READING):
        return url
    file = unquote(parts.path.removeprefix(READING).partition("/")[2])
    return f"{file}#{unquote(parts.fragment)}" if parts.fragment else file


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer as its JSON document."""

    document: dict[str, Any]

    @classmethod
    def of(cls, response: "AgentResponse") -> "ShownAnswer":
        return cls(response.to_json())

    @classmethod
    def served(cls, body: dict[str, Any], question: str, address: str) -> "ShownAnswer":
        """A server's answer under the names an answer has here; its places as addresses to open."""
        renamed = {"response", "timestamp", "timings", *PLACES}
        return cls(
            {
                "answer": body["response"],
                **{name: at_addresses(body[name], address) for name in PLACES},
                "query": question,
                **{name: value for name, value in body.items() if name not in renamed},
                **body["timings"],
                "error": None,
                "created_at": body["timestamp"],
            }
        )

    @property
    def text(self) -> str:
        return self.document["answer"]

    @property
    def is_answered(self) -> bool:
        return self.document["should_answer"]

    @property
    def citations(self) -> list[dict[str, Any]]:
        return self.document["citations"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of an answer, as it is to be printed behind what was printed before."""

    text: str


async def printed(
    pieces: AsyncIterator[Sentence | ShownAnswer], *, silent: bool = False
) -> ShownAnswer:
    """Print sentences as they come; what the whole answer adds at its end, too."""
    told, whole = "", None
    # To its very end: what a turn holds is free again only then.
    async for piece in pieces:
        if isinstance(piece, ShownAnswer):
            whole = piece
            if not silent:
                typer.echo(piece.text.removeprefix(told))
            continue
        told += piece.text
        if not silent:
            typer.echo(piece.text, nl=False)
    if whole is None:
        raise ServiceUnavailable("The answer did not come to an end.", "Ask again.")
    return whole


async def pieces_of(events: "AsyncIterator[TurnEvent]") -> AsyncIterator[Sentence | ShownAnswer]:
    """What of a turn is shown."""
    from askbook.agent.events import SentenceVerified
    from askbook.chat import TurnEnded

    async for event in events:
        if isinstance(event, SentenceVerified):
            yield Sentence(event.joint + event.text)
        elif isinstance(event, TurnEnded):
            yield ShownAnswer.of(event.response)


def show_answer(answer: ShownAnswer, *, verbose: bool = False, is_told: bool = False) -> None:
    """An answer for a terminal: the text, unless it is there already, then where each number leads."""
    if not is_told:
        typer.echo(answer.text)
    metrics = answer.document["metrics"]
    if not answer.is_answered and metrics["reason"] not in answer.text:
        typer.secho(metrics["reason"], dim=True)
    if answer.citations:
        typer.echo("")
    show_places(answer)
    if verbose:
        document = answer.document
        typer.secho(
            f"\nconfidence {metrics['confidence']:.2f} ({metrics['confidence_level']}), "
            f"{metrics['num_chunks']} chunks, best cosine {metrics['max_similarity']:.2f}, "
            f"retrieval {document['retrieval_time_ms']:.0f} ms, "
            f"total {document['total_time_ms']:.0f} ms, model {document['model']}",
            dim=True,
        )


def show_places(answer: ShownAnswer, *, quotes: bool = False) -> None:
    """Where each number of an answer leads; with `quotes`, the words there."""
    for citation in answer.citations:
        title = citation["page_title"]
        if citation["section_title"] and citation["section_title"] != title:
            title = f"{title} › {citation['section_title']}"
        if citation.get("page"):
            title = f"{title}, p. {citation['page']}"
        typer.secho(f"[{citation['n']}] {title}", bold=True)
        if quotes:
            typer.echo("    “" + citation["quote"].replace("\n", "\n    ") + "”")
        typer.secho(f"    {place_to_open(citation['url'])}", dim=True)
