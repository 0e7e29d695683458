"""Makes one ranking of several. Pure."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from askbook.index import Hit, Hits

RRF_K = 60
EXACT = 2.0
"""More than ranks and the judge give together: names found letter by letter come first."""


class Candidate(NamedTuple):
    """A chunk with its ranks (1-based) and what they give together, up to 1; `exact`: it holds the names asked for."""

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
    by_rank: bool = False,
) -> list[Candidate]:
    """The weighted mean of what each ranking gives a chunk, best first, ties by chunk id.

    `also` is a second sparse ranking, of the question as a follow-up: it takes its share of the sparse weight.
    """
    also_weight = sparse_weight * also_share if also else 0.0
    dense, sparse = (_by_rank, _by_rank) if by_rank else (_above_the_last, _of_the_best)
    weighted = [
        (weight, shares)
        for weight, shares in (
            (dense_weight, dense(hits.dense)),
            (sparse_weight - also_weight, sparse(hits.sparse)),
            (also_weight, sparse(also)),
        )
        if shares
    ]
    total = sum(weight for weight, _ in weighted) or 1.0
    fused: dict[str, float] = {}
    for weight, shares in weighted:
        for chunk_id, share in shares.items():
            fused[chunk_id] = fused.get(chunk_id, 0.0) + weight * share
    dense_ranks = {hit.chunk_id: rank for rank, hit in enumerate(hits.dense, 1)}
    sparse_ranks = {hit.chunk_id: rank for rank, hit in enumerate(hits.sparse, 1)}
    cosines = {hit.chunk_id: hit.score for hit in hits.dense}
    return [
        Candidate(
            chunk_id,
            -given / total,
            dense_ranks.get(chunk_id),
            sparse_ranks.get(chunk_id),
            cosines.get(chunk_id),
        )
        for given, chunk_id in sorted((-given, chunk_id) for chunk_id, given in fused.items())
    ]


def _above_the_last(ranking: Sequence[Hit]) -> dict[str, float]:
    """Where a cosine lies between those of the last and the first: only differences mean something."""
    lowest = min((hit.score for hit in ranking), default=0.0)
    reach = max((hit.score for hit in ranking), default=0.0) - lowest
    return {hit.chunk_id: (hit.score - lowest) / reach if reach else 1.0 for hit in ranking}


def _of_the_best(ranking: Sequence[Hit]) -> dict[str, float]:
    """A BM25 score as a share of the best: zero is a chunk without any of the words."""
    best = max((hit.score for hit in ranking), default=0.0)
    return {hit.chunk_id: max(0.0, hit.score) / best if best > 0 else 1.0 for hit in ranking}


def _by_rank(ranking: Sequence[Hit]) -> dict[str, float]:
    """Reciprocal ranks, the first being 1."""
    return {hit.chunk_id: (RRF_K + 1) / (RRF_K + rank) for rank, hit in enumerate(ranking, 1)}


def lift(candidates: Sequence[Candidate], exact: Collection[str]) -> list[Candidate]:
    """The same ranking with the chunks that hold what was asked letter by letter before all others."""
    known = {candidate.chunk_id for candidate in candidates}
    lifted = [c._replace(exact=True) if c.chunk_id in exact else c for c in candidates]
    lifted += [Candidate(i, 0.0, None, None, None, exact=True) for i in exact if i not in known]
    return sorted(lifted, key=lambda c: (-c.order, c.chunk_id))
