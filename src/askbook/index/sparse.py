"""BM25 as sparse vectors: the same for every store, so that a book moves between them unchanged.

Document vectors carry term frequency and length; rarity (IDF) is applied by the store at query time,
counted within the book.
"""

from collections.abc import Mapping
from functools import cache

import qdrant_edge as qe

DENSE, SPARSE = "dense", "bm25"
"""The names of a point's two vectors, in every store."""


def terms_of(text: str) -> Mapping[int, float]:
    """The sparse vector a store must hold for a text."""
    vector = _bm25().document(text)
    return dict(zip(vector.indices, vector.values, strict=True))


@cache
def _bm25() -> "Bm25":
    return Bm25()


class Bm25:
    """Turns text into the sparse vectors of documents and queries."""

    def __init__(self) -> None:
        self._bm25 = qe.Bm25()

    def document(self, text: str) -> qe.SparseVector:
        return self._bm25.embed_document(text)

    def query(self, text: str) -> qe.SparseVector:
        return self._bm25.embed_query(text)
