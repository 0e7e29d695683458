"""Words of a question that may be misspelt, and which of a book's words is meant. Pure.

A word is near another when one slip lies between them: a letter left out, added, two exchanged (Damerau), or one replaced by
a key beside it or one that sounds alike; long words may have two. The first letter is right: slips there are rare, and other
words many.
"""

import re
from collections.abc import Mapping
from functools import cache
from string import ascii_lowercase

from askbook.retrieval.identifiers import without_names
from askbook.retrieval.terms import content_words

SHORTEST = 5
"""Letters from which a word has few neighbours."""
LONG = 9
"""Letters from which a word may have two slips."""
MOST = 3
"""More unknown words than these are no slips: a question in another language, or about something else."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_ALIKE = ("aeiouy", "cksz", "fv", "mn", "dt", "bp", "gj")
"""Letters that are taken for each other by their sound."""
_KEYS = {
    key: (row, at + 0.3 * row) for row, keys in enumerate(_ROWS) for at, key in enumerate(keys)
}
_PLAIN = re.compile(r"[A-Za-z][a-z]+")


def doubtful(text: str) -> list[str]:
    """The plain words of a question in lower case, each once; none of code or quotation, no abbreviation."""
    words = content_words(without_names(text))
    plain = (w.lower() for w in words if len(w) >= SHORTEST and _PLAIN.fullmatch(w))
    return list(dict.fromkeys(plain))


def one_slip_from(word: str) -> set[str]:
    """What one slip makes of a word."""
    cuts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    left_out = {a + b[1:] for a, b in cuts if b}
    exchanged = {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    replaced = {a + letter + b[1:] for a, b in cuts if b for letter in _instead_of(b[0])}
    added = {a + letter + b for a, b in cuts for letter in ascii_lowercase}
    return (left_out | exchanged | replaced | added) - {word}


@cache
def _instead_of(letter: str) -> frozenset[str]:
    """The letters that a slip puts in the place of another: a key beside it, or one that sounds like it."""
    row, at = _KEYS[letter]
    beside = {key for key, (r, x) in _KEYS.items() if abs(r - row) <= 1 and abs(x - at) < 1.1}
    alike = {other for group in _ALIKE if letter in group for other in group}
    return frozenset(beside | alike)


def meant(word: str, counts: Mapping[str, int]) -> str | None:
    """Which of these words a misspelt one is: the nearest, or its plural; of several one with the same letters, or the
    most frequent."""
    slipped = one_slip_from(word)
    near = {other for other in counts if other in slipped or other.removesuffix("s") in slipped}
    if not near and len(word) >= LONG:
        near = {
            other
            for other in counts
            if other[0] == word[0]
            and len(other) >= SHORTEST
            and abs(len(other) - len(word)) <= 2
            and slipped & one_slip_from(other)
        }
    letters = sorted(word)
    return min(
        near, key=lambda o: (o not in slipped, sorted(o) != letters, -counts[o], o), default=None
    )


def respelt(text: str, spellings: Mapping[str, str]) -> str:
    """A text with these words in the place of those that were misspelt."""
    for wrong, right in spellings.items():
        text = re.sub(rf"\b{re.escape(wrong)}\b", right, text, flags=re.IGNORECASE)
    return text


def describe(spellings: Mapping[str, str]) -> list[str]:
    """What a reader is told about how a question was read."""
    return [f"Read “{wrong}” as “{right}”." for wrong, right in spellings.items()]
