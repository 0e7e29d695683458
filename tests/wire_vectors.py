"""Vectors for the test servers of embedding vendors: texts that share words lie together."""

import hashlib
import re

import numpy as np
from numpy.typing import NDArray


def vector_of(text: str, dimension: int, role: str = "") -> NDArray[np.float32]:
    """A deterministic vector, not normalised, as some vendors' are not."""
    words = re.findall(r"\w+", text.lower()) or [""]
    total = np.sum([_direction(word, dimension) for word in words], axis=0)
    if role:
        total = total + 0.2 * _direction(f"role:{role}", dimension)
    return (3.0 * total).astype(np.float32)


def _direction(word: str, dimension: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dimension)
