"""Two rankings become one."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.index import Hit, Hits
from askbook.retrieval.fusion import RRF_K, fuse, lift

ids = st.lists(st.uuids().map(str), max_size=12, unique=True)


def ranking(*chunk_ids: str, best: float = 0.9) -> tuple[Hit, ...]:
    return tuple(Hit(chunk_id, best - 0.01 * n) for n, chunk_id in enumerate(chunk_ids))


def test_a_chunk_high_in_both_rankings_comes_first() -> None:
    fused = fuse(
        Hits(ranking("a", "b", "c"), ranking("b", "d")), dense_weight=1.0, sparse_weight=1.0
    )
    assert fused[0].chunk_id == "b"
    assert (fused[0].dense_rank, fused[0].sparse_rank) == (2, 1)


def test_by_rank_the_score_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    hits = Hits(ranking("a", "b"), ranking("b"))
    [first, *_] = fuse(hits, dense_weight=2.0, sparse_weight=1.0, by_rank=True)
    best = 3.0 / (RRF_K + 1)
    assert first.chunk_id == "b"
    assert first.fused == pytest.approx((2.0 / (RRF_K + 2) + 1.0 / (RRF_K + 1)) / best)


def test_cosines_count_from_the_last_and_bm25_from_zero() -> None:
    dense = (Hit("a", 0.90), Hit("b", 0.85), Hit("c", 0.80))
    sparse = (Hit("b", 12.0), Hit("c", 6.0))
    fused = {
        c.chunk_id: c.fused for c in fuse(Hits(dense, sparse), dense_weight=1.0, sparse_weight=3.0)
    }
    assert fused["a"] == pytest.approx(1 / 4)
    assert fused["b"] == pytest.approx((0.5 + 3) / 4)
    assert fused["c"] == pytest.approx((0.0 + 3 * 0.5) / 4)


def test_a_single_hit_counts_in_full() -> None:
    [only] = fuse(Hits((Hit("a", 0.1),), (Hit("a", 0.2),)), dense_weight=1.0, sparse_weight=1.0)
    assert only.fused == pytest.approx(1.0)


def test_scores_of_zero_do_not_divide_by_zero() -> None:
    fused = fuse(Hits((), (Hit("a", 0.0), Hit("b", 0.0))), dense_weight=1.0, sparse_weight=1.0)
    assert [c.chunk_id for c in fused] == ["a", "b"]


def test_weights_decide_between_the_rankings() -> None:
    hits = Hits(ranking("dense"), ranking("sparse"))
    assert fuse(hits, dense_weight=2.0, sparse_weight=1.0)[0].chunk_id == "dense"
    assert fuse(hits, dense_weight=1.0, sparse_weight=2.0)[0].chunk_id == "sparse"


def test_ties_are_broken_by_id() -> None:
    one, other = sorted(str(uuid.uuid4()) for _ in range(2))
    fused = fuse(Hits(ranking(other), ranking(one)), dense_weight=1.0, sparse_weight=1.0)
    assert [c.chunk_id for c in fused] == [one, other]


def test_nothing_found_gives_nothing() -> None:
    assert fuse(Hits((), ()), dense_weight=2.0, sparse_weight=1.0) == []


def test_weights_of_zero_do_not_divide_by_zero() -> None:
    fused = fuse(Hits(ranking("a"), ()), dense_weight=0.0, sparse_weight=0.0)
    assert [c.fused for c in fused] == [0.0]


@given(ids)
def test_one_ranking_alone_keeps_its_order(chunk_ids: list[str]) -> None:
    for hits in (Hits(ranking(*chunk_ids), ()), Hits((), ranking(*chunk_ids))):
        fused = fuse(hits, dense_weight=2.0, sparse_weight=1.0)
        assert [c.chunk_id for c in fused] == chunk_ids


@given(dense=ids, sparse=ids, weights=st.tuples(st.floats(0.1, 5), st.floats(0.1, 5)))
def test_every_chunk_appears_once_best_first_within_bounds(
    dense: list[str], sparse: list[str], weights: tuple[float, float]
) -> None:
    hits = Hits(ranking(*dense), ranking(*sparse))
    fused = fuse(hits, dense_weight=weights[0], sparse_weight=weights[1])
    assert {c.chunk_id for c in fused} == {*dense, *sparse}
    assert len(fused) == len({*dense, *sparse})
    assert [c.fused for c in fused] == sorted((c.fused for c in fused), reverse=True)
    assert all(0.0 <= c.fused <= 1.0 + 1e-9 for c in fused)
    for candidate in fused:
        assert (candidate.cosine is not None) == (candidate.chunk_id in dense)


def test_a_second_sparse_ranking_takes_its_share_of_the_sparse_weight() -> None:
    hits = Hits((), ranking("alone"))
    also = ranking("followed")
    for share, first in ((0.75, "followed"), (0.25, "alone")):
        fused = fuse(hits, dense_weight=2.0, sparse_weight=1.0, also=also, also_share=share)
        assert fused[0].chunk_id == first
        assert sum(candidate.fused for candidate in fused) == pytest.approx(1.0)


def test_chunks_that_hold_the_names_come_first_also_when_no_ranking_knew_them() -> None:
    fused = fuse(Hits(ranking("a", "b"), ranking("a")), dense_weight=2.0, sparse_weight=1.0)
    lifted = lift(fused, {"b", "new"})
    assert [candidate.chunk_id for candidate in lifted] == ["b", "new", "a"]
    assert [candidate.exact for candidate in lifted] == [True, True, False]
    assert [c.fused for c in lifted if c.chunk_id != "new"] == [fused[1].fused, fused[0].fused]
