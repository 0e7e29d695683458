"""Counting word by word gives exactly what the tokenizer gives."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from askbook.ingestion.counting import WordCounter

ROOT = Path(__file__).parents[3]
FILES = [
    *ROOT.glob("src/askbook/models/embed/tokenizer.json"),
    ROOT.parent / "shared/models/embed/tokenizer.json",
]
FILE = next((file for file in FILES if file.is_file()), None)
needs_tokenizer = pytest.mark.skipif(FILE is None, reason="the built-in tokenizer is not here")
TOKENIZER = Tokenizer.from_file(str(FILE)) if FILE is not None else None


def count_tokens(texts: Sequence[str]) -> list[int]:
    assert TOKENIZER is not None
    return [len(x) for x in TOKENIZER.encode_batch_fast(list(texts), add_special_tokens=False)]


COUNTER = WordCounter(count_tokens) if FILE is not None else None


@needs_tokenizer
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(
            st.one_of(
                st.characters(exclude_categories=("Cs",)), st.sampled_from(" \n\t's1²Ⅳéß_-|`")
            )
        ),
        max_size=4,
    )
)
def test_any_text_counts_as_the_tokenizer_counts_it(texts: list[str]) -> None:
    assert COUNTER is not None
    assert COUNTER(texts) == count_tokens(texts)


@needs_tokenizer
@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("examples/*/docs/**/*.mdx")), ids=lambda p: p.name
)
def test_real_pages_count_the_same(path: Path) -> None:
    assert COUNTER is not None
    text = path.read_text(encoding="utf-8")
    assert COUNTER([text, *text.split("\n\n")]) == count_tokens([text, *text.split("\n\n")])


def test_a_tokenizer_of_another_kind_is_used_as_it_is() -> None:
    counter = WordCounter(lambda texts: [len(text) // 3 for text in texts])
    assert counter(["abcdef ghi", ""]) == [3, 0]
