"""BM25 vectors: what is searched exactly must be found exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.index.sparse import Bm25

BM25 = Bm25()


@pytest.mark.parametrize("term", ["ERR_42", "rclpy", "colcon", "symlink", "quaternion"])
def test_a_term_in_a_text_is_matched_by_its_query(term: str) -> None:
    document = BM25.document(f"First run this: {term}, then wait.")
    assert set(BM25.query(term).indices) & set(document.indices)


@given(st.text(max_size=200))
def test_a_text_has_the_terms_of_its_own_query(text: str) -> None:
    document, query = BM25.document(text), BM25.query(text)
    assert set(document.indices) == set(query.indices)
    assert len(document.indices) == len(document.values) == len(set(document.indices))
    assert all(value > 0 for value in document.values)
    assert query.values == [1.0] * len(query.indices)


def test_stop_words_alone_are_no_terms() -> None:
    assert BM25.query("the of and").indices == []
