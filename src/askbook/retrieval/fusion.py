"""Makes one ranking of several. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from askbook.index import Hit, Hits

RRF_K = 60
EXACT = 2.0
"""More than ranks and the judge give together: names found letter by letter come first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with its ranks (1-based) and the score they give together; `exact`: it holds the names asked for."""

    chunk_id: str
    fused: float
    dense_rank: int | None
    sparse_rank: int | None
    cosine: float | None
    exact: bool = False

    @property
    def order(self) -> float:
        """What the ranking is made from: up to 1 by the ranks, more for a chunk that holds the names."""
        return self.fused + EXACT * self.exact


def fuse(
    hits: Hits,
    *,
    dense_weight: float,
    sparse_weight: float,
    also: Sequence[Hit] = (),
    also_share: float = 0.5,
) -> list[Candidate]:
    """Weighted reciprocal ranks, best first, ties by chunk id. One ranking alone keeps its order.

    `also` is a second sparse ranking, of the question as a follow-up: it takes its share of the sparse weight.
    """
    dense_ranks = {hit.chunk_id: rank for rank, hit in enumerate(hits.dense, 1)}
    sparse_ranks = {hit.chunk_id: rank for rank, hit in enumerate(hits.sparse, 1)}
    also_ranks = {hit.chunk_id: rank for rank, hit in enumerate(also, 1)}
    cosines = {hit.chunk_id: hit.score for hit in hits.dense}
    also_weight = sparse_weight * also_share if also else 0.0
    sparse_weight -= also_weight
    weights = (
        dense_weight * bool(dense_ranks),
        sparse_weight * bool(sparse_ranks),
        also_weight * bool(also_ranks),
    )
    total = sum(weights) or 1.0

    def score(chunk_id: str) -> float:
        parts = (
            (dense_weight, dense_ranks.get(chunk_id)),
            (sparse_weight, sparse_ranks.get(chunk_id)),
            (also_weight, also_ranks.get(chunk_id)),
        )
        best = total / (RRF_K + 1)
        return sum(w / (RRF_K + rank) for w, rank in parts if rank is not None) / best

    candidates = [
        Candidate(
            chunk_id=chunk_id,
            fused=score(chunk_id),
            dense_rank=dense_ranks.get(chunk_id),
            sparse_rank=sparse_ranks.get(chunk_id),
            cosine=cosines.get(chunk_id),
        )
        for chunk_id in dict.fromkeys([*dense_ranks, *sparse_ranks, *also_ranks])
    ]
    return sorted(candidates, key=lambda c: (-c.fused, c.chunk_id))


def lift(candidates: Sequence[Candidate], exact: Collection[str]) -> list[Candidate]:
    """The same ranking with the chunks that hold what was asked letter by letter before all others."""
    known = {candidate.chunk_id for candidate in candidates}
    lifted = [replace(c, exact=c.chunk_id in exact) for c in candidates]
    lifted += [Candidate(i, 0.0, None, None, None, exact=True) for i in exact if i not in known]
    return sorted(lifted, key=lambda c: (-c.order, c.chunk_id))
