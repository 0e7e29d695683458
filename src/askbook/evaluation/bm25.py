"""Textbook BM25 over whole documents: a known answer that shows whether the harness itself is right."""

import math
from collections.abc import Sequence

import numpy as np
import qdrant_edge

from askbook.evaluation.datasets import Passage

K1, B = 0.9, 0.4


class DocumentBm25:
    """Ranks whole documents (title and text), stemmed, with the usual research parameters."""

    def __init__(self, documents: Sequence[Passage]) -> None:
        self._ids = [document.doc_id for document in documents]
        # Cranfield's texts repeat their title; elsewhere it is part of the document.
        texts = [d.text if d.text.startswith(d.title) else f"{d.title} {d.text}" for d in documents]
        self._bm25 = qdrant_edge.Bm25(
            qdrant_edge.Bm25Config(k=K1, b=B, avg_len=_mean_length(texts))
        )
        postings: dict[int, list[tuple[int, float]]] = {}
        for number, text in enumerate(texts):
            vector = self._bm25.embed_document(text)
            for term, weight in zip(vector.indices, vector.values, strict=True):
                postings.setdefault(term, []).append((number, weight))
        self._postings = {
            term: (np.array([n for n, _ in found]), np.array([w for _, w in found]))
            for term, found in postings.items()
        }

    def rank(self, query: str, limit: int) -> list[str]:
        """The ids of the best documents, best first."""
        scores = np.zeros(len(self._ids))
        for term in self._bm25.embed_query(query).indices:
            if term in self._postings:
                numbers, weights = self._postings[term]
                seen, total = len(numbers), len(self._ids)
                scores[numbers] += weights * math.log(1 + (total - seen + 0.5) / (seen + 0.5))
        best = np.argsort(-scores, kind="stable")[:limit]
        return [self._ids[i] for i in best if scores[i] > 0]


def _mean_length(texts: Sequence[str]) -> float:
    """Mean number of terms as the tokenizer counts them: with b = 0 and a huge k, weights are near frequencies."""
    counter = qdrant_edge.Bm25(qdrant_edge.Bm25Config(k=1e9, b=0.0, avg_len=1.0))
    lengths = [sum(counter.embed_document(text).values) / (1e9 + 1) * 1e9 for text in texts]
    return sum(lengths) / max(1, len(lengths))
