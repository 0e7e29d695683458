"""What an answerer tells while it works; front ends render it."""

from dataclasses import dataclass
from typing import TypeAlias

from askbook.agent.response import Citation
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.query import SearchResult


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The places the answer may cite; sent again when more were found."""

    sources: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class SentenceVerified:
    """A checked sentence: the answer so far, plus `joint`, plus `text`. It is never taken back."""

    text: str
    joint: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """How a draft ended; `failed` says why there is none, for the reader.

    `results` are all chunks that sentences may have cited, `searches` what the model looked for itself.
    """

    tokens_used: int = 0
    removed: int = 0
    declined: bool = False
    failed: str | None = None
    info: tuple[str, ...] = ()
    results: tuple[SearchResult, ...] = ()
    prompt_tokens: int = 0
    searches: tuple[RetrievalContext, ...] = ()


AnswerEvent: TypeAlias = SourcesFound | SentenceVerified | AnswerEnded
