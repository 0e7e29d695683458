"""Embedders unlike the built-in one, behind OpenAI's wire format: hashed words or letters, nothing learned."""

import base64
import hashlib
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from askbook.book import Vector
from askbook.config import Settings
from askbook.retrieval.terms import content_terms, content_words, stem

DIMENSION = 256
Features: TypeAlias = Callable[[str], Iterator[tuple[str, float]]]


@contextmanager
def hashing_embedder(settings: Settings, model: str) -> Generator[Settings]:
    """The same settings, but for an embedder that is served here while they are in use."""
    server = uvicorn.Server(
        uvicorn.Config(_application(), port=0, log_config=None, access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    chosen = {
        "embedder": "openai",
        "openai_embedding_model": model,
        "openai_embedding_dimensions": DIMENSION,
    }
    reached = {
        "openai_base_url": f"http://127.0.0.1:{port}/v1",
        "openai_api_key": SecretStr("sk-local"),
    }
    yield replace(
        settings,
        embedder=settings.embedder.model_copy(update=chosen),
        openai=settings.openai.model_copy(update=reached),
    )
    server.should_exit = True
    thread.join()


def vector_of(text: str, features: Features) -> Vector:
    """The sum of its features' directions."""
    total = np.zeros(DIMENSION, np.float32)
    for (feature, weight), count in Counter(features(text)).items():
        total += weight * (1.0 + math.log(count)) * _direction(feature)
    if not total.any():
        total += _direction(text)
    return (total / (float(np.linalg.norm(total)) or 1.0)).astype(np.float32)


def _words(text: str) -> Iterator[tuple[str, float]]:
    """Words count most; triples of letters join their forms."""
    for term in content_terms(text):
        yield f"={term}", 1.0
        padded = f"^{term}$"
        yield from ((padded[i : i + 3], 0.3) for i in range(len(padded) - 2))


def _letters(text: str) -> Iterator[tuple[str, float]]:
    """Four letters in a row, wherever they stand, of common words as of others."""
    run = " ".join(text.casefold().split())
    yield from ((run[i : i + 4], 1.0) for i in range(max(1, len(run) - 3)))


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    """Longer words count more, and so do neighbours that stand together again."""
    terms = [stem(word.lower()) for word in content_words(text)]
    yield from ((f"={term}", math.sqrt(len(term))) for term in terms)
    yield from (("+".join(pair), 1.5) for pair in pairwise(terms))


MODELS: dict[str, Features] = {
    "hashed-words": _words,
    "hashed-letters": _letters,
    "hashed-pairs": _pairs,
}


def _direction(feature: str) -> Vector:
    """Four places of the vector with their signs, as the feature's hash says."""
    digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
    direction = np.zeros(DIMENSION, np.float32)
    for place, sign in zip(digest[:4], digest[4:], strict=True):
        direction[place] += 1.0 if sign & 1 else -1.0
    return direction


def _application() -> FastAPI:
    app = FastAPI(openapi_url=None)

    def embeddings(body: dict[str, Any]) -> dict[str, Any]:
        texts: list[str] = body["input"]
        encoded = (
            base64.b64encode(vector_of(text, MODELS[body["model"]]).tobytes()).decode()
            for text in texts
        )
        data = [
            {"object": "embedding", "index": n, "embedding": each} for n, each in enumerate(encoded)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    app.post("/v1/embeddings")(embeddings)
    return app
