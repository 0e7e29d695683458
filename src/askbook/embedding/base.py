"""What every embedder offers, and the fingerprint that binds vectors to the embedder that made them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from askbook.book import Vector


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Two embedders with the same fingerprint give the same vector for the same text."""

    name: str
    dimension: int
    revision: str
    query_prefix: str = ""
    passage_prefix: str = ""

    def __str__(self) -> str:
        parts = (self.name, str(self.dimension), self.revision, self.query_prefix)
        return "/".join((*parts, self.passage_prefix)).rstrip("/")


class Embedder(Protocol):
    """Turns texts into L2-normalised vectors, off the event loop."""

    @property
    def fingerprint(self) -> Fingerprint: ...

    async def embed_query(self, text: str) -> Vector: ...

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as the embedder counts them, without special tokens."""
        ...

    async def close(self) -> None: ...
