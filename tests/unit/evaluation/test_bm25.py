import math

import pytest

from askbook.evaluation.bm25 import DocumentBm25, _mean_length
from askbook.evaluation.datasets import Passage

DOCUMENTS = [
    Passage("cats", "Cats", "A cat sleeps and a cat purrs"),
    Passage("dogs", "Dogs", "A dog barks loudly at another dog"),
    Passage("both", "", "One dog chases one cat"),
]


def test_documents_with_the_rarer_words_come_first() -> None:
    ranked = DocumentBm25(DOCUMENTS).rank("purring cats", 10)
    assert ranked == ["cats", "both"]


def test_titles_count_and_unknown_words_find_nothing() -> None:
    assert DocumentBm25([Passage("t", "Zebra", "Stripes on an animal")]).rank("zebras", 5) == ["t"]
    assert DocumentBm25(DOCUMENTS).rank("quasar", 5) == []


def test_the_score_is_that_of_the_formula() -> None:
    bm25 = DocumentBm25([Passage("one", "", "alpha beta"), Passage("two", "", "gamma delta")])
    numbers, weights = bm25._postings[bm25._bm25.embed_query("alpha").indices[0]]
    assert numbers.tolist() == [0]
    # Frequency 1 in a document of mean length: (k1 + 1) / (1 + k1).
    assert weights[0] * math.log(2) == pytest.approx(math.log(2), rel=1e-4)


def test_lengths_are_counted_as_the_tokenizer_sees_them() -> None:
    assert _mean_length(["alpha beta", "alpha alpha beta gamma"]) == pytest.approx(3.0, rel=1e-4)
