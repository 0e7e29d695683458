"""Cohere's embeddings: the vendor is told whether a text is a question or a passage."""

from collections.abc import Sequence
from typing import Any

import httpx

from askbook.config import CohereSettings, EmbedderSettings
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

BASE_URL = "https://api.cohere.com"
LIMITS = Limits(texts=96, tokens=48_000, tokens_per_text=512)
"""96 texts a request; what is longer than 512 tokens is cut by Cohere itself (`truncate`)."""
DIMENSIONS = {
    "embed-english-v3.0": 1024,
    "embed-multilingual-v3.0": 1024,
    "embed-english-light-v3.0": 384,
    "embed-multilingual-light-v3.0": 384,
    "embed-v4.0": 1536,
}
USD_PER_MILLION_TOKENS = {
    "embed-english-v3.0": 0.10,
    "embed-multilingual-v3.0": 0.10,
    "embed-english-light-v3.0": 0.10,
    "embed-multilingual-light-v3.0": 0.10,
    "embed-v4.0": 0.12,
}
INPUT_TYPES: dict[Role, str] = {"query": "search_query", "passage": "search_document"}


class CohereEmbedder(HttpEmbedder):
    """embed-english-v3.0 by default: 1024 dimensions."""

    def __init__(
        self,
        embedder: EmbedderSettings,
        cohere: CohereSettings,
        *,
        patient: Backoff = PATIENT,
        prompt: Backoff = PROMPT,
        timeout: httpx.Timeout = TIMEOUT,
        limits: Limits = LIMITS,
    ) -> None:
        model = embedder.cohere_model
        dimension = DIMENSIONS.get(model)
        if dimension is None:
            raise ConfigurationError(
                f"COHERE_MODEL = {model!r} is not known.",
                f"Set it to one of {', '.join(DIMENSIONS)}.",
            )
        self._model = model
        vendor = Vendor(
            name="Cohere",
            url=f"{cohere.cohere_base_url or BASE_URL}/v2/embed",
            api_key=need_key(cohere.cohere_api_key, "COHERE_API_KEY", "cohere"),
            key_variable="COHERE_API_KEY",
            model_variable="COHERE_MODEL",
            limits=limits,
            usd_per_million_tokens=USD_PER_MILLION_TOKENS.get(model),
        )
        fingerprint = Fingerprint(
            name=model,
            dimension=dimension,
            revision="cohere",
            query_prefix=INPUT_TYPES["query"],
            passage_prefix=INPUT_TYPES["passage"],
        )
        super().__init__(vendor, fingerprint, patient=patient, prompt=prompt, timeout=timeout)

    def _body(self, texts: Sequence[str], role: Role) -> dict[str, Any]:
        return {
            "model": self._model,
            "texts": list(texts),
            "input_type": INPUT_TYPES[role],
            "embedding_types": ["float"],
            "truncate": "END",
        }

    def _answer(self, body: dict[str, Any]) -> Answer:
        vectors: list[Any] = body["embeddings"]["float"]
        if not isinstance(vectors, list):  # pyright: ignore[reportUnnecessaryIsInstance]  # outside data
            raise TypeError("embeddings.float is not a list")
        meta: dict[str, Any] = body.get("meta") or {}
        billed: dict[str, Any] = meta.get("billed_units") or {}
        tokens = billed.get("input_tokens")
        return Answer(vectors, None if tokens is None else int(tokens))
