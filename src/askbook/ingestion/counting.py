"""Count tokens word by word: a byte-level tokenizer counts each word on its own, so a count is kept."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from askbook.ingestion.pieces import CountTokens

_KEPT_WORDS = 100_000
_KEPT_LENGTH = 64
# Historic numerals, and where Python's idea of whitespace differs: there the tokenizer decides.
_UNCOMMON = re.compile("[\x1c-\x1f\U00010000-\U0001d3ff\U0001e000-\U0001f10c\U00020000-\U0010ffff]")
_UNCOMMON_ASCII = re.compile("[\x1c-\x1f]")
_BASIC_PLANE = 0x10000
_PROBE = "It's 3 o'clock:\n\n\tdef f(x²):\n    return x['a']  # ½ of “it”, naïve café 机器"


class WordCounter:
    """A drop-in for a byte-level BPE tokenizer's `count_tokens`, several times as fast.

    Such a tokenizer first cuts text into words by one pattern, then each word into tokens. The same
    words come again and again in a book, so their counts are kept. A tokenizer of another kind is
    recognised on a probe and used as it is.
    """

    def __init__(self, count_tokens: CountTokens) -> None:
        self._count_tokens = count_tokens
        self._sizes = _Sizes(count_tokens)
        self._ascii_words = _word_pattern("A-Za-z", "0-9")
        self._words = _unicode_word_pattern()
        self._applies = self._sums([self._split(_PROBE)]) == count_tokens([_PROBE])

    def __call__(self, texts: Sequence[str]) -> list[int]:
        if not self._applies:
            return self._count_tokens(texts)
        words = [self._split(text) for text in texts]
        counts = self._sums(words)
        uncommon = [index for index, text in enumerate(texts) if text and not words[index]]
        if uncommon:
            sizes = self._count_tokens([texts[index] for index in uncommon])
            for index, size in zip(uncommon, sizes, strict=True):
                counts[index] = size
        return counts

    def _split(self, text: str) -> list[str]:
        """The words of a text; none when only the tokenizer can tell."""
        if text.isascii():
            return [] if _UNCOMMON_ASCII.search(text) else self._ascii_words.findall(text)
        return [] if _UNCOMMON.search(text) else self._words.findall(text)

    def _sums(self, words: list[list[str]]) -> list[int]:
        if len(self._sizes) > _KEPT_WORDS:
            self._sizes.clear()
        size_of = self._sizes.__getitem__
        return [sum(map(size_of, each)) for each in words]


class _Sizes(dict[str, int]):
    """Tokens by word; a word that is asked for first is counted then."""

    def __init__(self, count_tokens: CountTokens) -> None:
        super().__init__()
        self._count_tokens = count_tokens

    def __missing__(self, word: str) -> int:
        [size] = self._count_tokens([word])
        if len(word) <= _KEPT_LENGTH:
            self[word] = size
        return size


@cache
def _unicode_word_pattern() -> re.Pattern[str]:
    numerals = "".join(
        chr(code) for code in range(_BASIC_PLANE) if unicodedata.category(chr(code)) in ("Nl", "No")
    )
    return _word_pattern(rf"^\W\d_{numerals}", rf"\d{numerals}")


def _word_pattern(letters: str, numbers: str) -> re.Pattern[str]:
    return re.compile(
        rf"'(?:s|t|re|ve|m|ll|d)| ?[{letters}]+| ?[{numbers}]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
    )
