"""The built-in embedder: no key, no download, the same vector for the same text every time."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from askbook.book import Vector
from askbook.embedding.base import Fingerprint
from askbook.models.runtime import ModelRuntime, runtime_of

_ONE_WORD = re.compile(" ?[A-Za-z]+")
_SPACE = "Ġ"
"""How a byte-level tokenizer writes a space."""


class BuiltinEmbedder:
    """askbook-embed: 384 dimensions, at most 512 tokens."""

    def __init__(self, runtime: ModelRuntime | None = None) -> None:
        self._runtime = runtime or runtime_of("embed")

    @property
    def fingerprint(self) -> Fingerprint:
        card = self._runtime.card
        return Fingerprint(
            name="askbook-embed",
            dimension=int(card.config["dim"]),
            revision=card.revision,
            query_prefix=str(card.config["query_prefix"]),
            passage_prefix=str(card.config["passage_prefix"]),
        )

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self._runtime.map(self._embed, [self.fingerprint.query_prefix + text])
        return vector

    async def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        prefix = self.fingerprint.passage_prefix
        return await self._runtime.map(
            self._embed, [prefix + text for text in texts], background=True
        )

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if len(texts) == 1 and _ONE_WORD.fullmatch(texts[0]):
            # Nothing to cut into words: asked word by word, the rest of a tokenizer takes most of the time.
            return [len(self._words.tokenize(texts[0].replace(" ", _SPACE)))]
        encodings = self._runtime.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding) for encoding in encodings]

    @cached_property
    def _words(self) -> Any:
        return self._runtime.tokenizer.model

    async def close(self) -> None:
        self._runtime.close()

    def _embed(self, text: str) -> Vector:
        limit = int(self._runtime.card.config["max_tokens"])
        ids = self._runtime.tokenizer.encode(text).ids
        if len(ids) > limit:
            ids = [*ids[: limit - 1], ids[-1]]
        tokens = np.asarray([ids], dtype=np.int64)
        [embedding] = self._runtime.run(
            {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        )
        return np.ascontiguousarray(embedding[0], dtype=np.float32)
