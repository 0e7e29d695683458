"""OpenAI's embeddings, or those of any server that speaks the same API."""

import base64
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from askbook.config import EmbedderSettings, OpenAISettings
from askbook.embedding.base import Fingerprint
from askbook.embedding.http import (
    PATIENT,
    PROMPT,
    TIMEOUT,
    Answer,
    HttpEmbedder,
    Limits,
    Role,
    Vendor,
    need_key,
)
from askbook.errors import ConfigurationError
from askbook.remote import Backoff

BASE_URL = "https://api.openai.com/v1"
LIMITS = Limits(texts=2048, tokens=250_000, tokens_per_text=8000)
"""2,048 texts, 300,000 tokens and 8,191 tokens a text, less a margin: the count is an estimate."""
DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
USD_PER_MILLION_TOKENS = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
}


class OpenAIEmbedder(HttpEmbedder):
    """text-embedding-3-small by default: 1536 dimensions."""

    def __init__(
        self,
        embedder: EmbedderSettings,
        openai: OpenAISettings,
        *,
        patient: Backoff = PATIENT,
        prompt: Backoff = PROMPT,
        timeout: httpx.Timeout = TIMEOUT,
        limits: Limits = LIMITS,
    ) -> None:
        model = embedder.openai_embedding_model
        dimension = embedder.openai_embedding_dimensions or DIMENSIONS.get(model)
        if dimension is None:
            raise ConfigurationError(
                f"The dimension of ASKBOOK_OPENAI_EMBEDDING_MODEL = {model!r} is not known.",
                "Set ASKBOOK_OPENAI_EMBEDDING_DIMENSIONS to the length of its vectors.",
            )
        # Only these models can shorten their vectors; other servers refuse the field.
        shortens = model.startswith("text-embedding-3") and dimension != DIMENSIONS.get(model)
        self._model = model
        self._dimensions = dimension if shortens else None
        vendor = Vendor(
            name="OpenAI",
            url=f"{openai.openai_base_url or BASE_URL}/embeddings",
            api_key=need_key(openai.openai_api_key, "OPENAI_API_KEY", "openai"),
            key_variable="OPENAI_API_KEY",
            model_variable="ASKBOOK_OPENAI_EMBEDDING_MODEL",
            limits=limits,
            usd_per_million_tokens=USD_PER_MILLION_TOKENS.get(model),
        )
        fingerprint = Fingerprint(name=model, dimension=dimension, revision="openai")
        super().__init__(vendor, fingerprint, patient=patient, prompt=prompt, timeout=timeout)

    def _body(self, texts: Sequence[str], role: Role) -> dict[str, Any]:  # noqa: ARG002  # one for both
        body: dict[str, Any] = {
            "model": self._model,
            "input": list(texts),
            # A third of the size of decimal numbers; servers that do not know it send numbers.
            "encoding_format": "base64",
        }
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        return body

    def _answer(self, body: dict[str, Any]) -> Answer:
        items: list[dict[str, Any]] = body["data"]
        vectors: list[Any] = [None] * len(items)
        for position, item in enumerate(items):
            index = int(item.get("index", position))
            if not 0 <= index < len(items) or vectors[index] is not None:
                raise ValueError(f"index {index} is out of range or given twice")
            vectors[index] = _vector(item["embedding"])
        usage: dict[str, Any] = body.get("usage") or {}
        tokens = usage.get("prompt_tokens", usage.get("total_tokens"))
        return Answer(vectors, None if tokens is None else int(tokens))

    def _dimension_hint(self, found: int) -> str:
        return f", or ASKBOOK_OPENAI_EMBEDDING_DIMENSIONS to {found}"


def _vector(embedding: Any) -> Any:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return embedding
