"""Which words a book has, asked of its index: there is no list of them that could be out of date."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from askbook.index import ChunkFilter, ChunkIndex
from askbook.models import ModelName, load_tokenizer
from askbook.retrieval.spelling import MOST, SHORTEST, doubtful, meant, one_slip_from
from askbook.retrieval.terms import held, term_of
from askbook.storage.library import Library

LOOKED_AT = 50
"""Chunks in which the word that is meant is looked for."""
_WORD = re.compile(r"[a-z]+")
_SPACE = "Ġ"
"""How a tokenizer writes the space before a word."""
_ENDINGS = tuple("s es ed ing er ers est ly ness less ful able ation".split())


class BookWords:
    """Looks words up in the books of one library and index."""

    def __init__(self, library: Library, index: ChunkIndex) -> None:
        self._library = library
        self._index = index

    async def spellings(
        self,
        question: str,
        where: ChunkFilter,
        found: Sequence[str],
        near: Sequence[str],
        readable: ChunkFilter,
    ) -> dict[str, str]:
        """The misspelt words of a question with the book's own; `found` are texts that it found, `near` more chunks.

        A word that the book has in any form where the caller may read (`readable`), or that is English, is what
        the reader meant.
        """
        words = [word for word in doubtful(question) if not _stands_in(word, found)]
        absent = [word for word in words if await self.lacks(readable, word)]
        if not 0 < len(absent) <= MOST:
            return {}
        english = await asyncio.to_thread(english_words)
        spelt: dict[str, str] = {}
        for word in absent:
            if is_english(word, english):
                continue
            if right := meant(word, await self._around(word, where, near)):
                spelt[word] = right
        return spelt

    async def lacks(self, where: ChunkFilter, word: str) -> bool:
        """Whether a word stands nowhere in a part of a book, in none of its forms."""
        hits = await self._index.search(where, vector=None, text=word, limit=1)
        return not hits.sparse

    async def _around(self, word: str, where: ChunkFilter, near: Sequence[str]) -> Counter[str]:
        """The words of the chunks that hold something one slip from this one, and of those that lie near the question."""
        text = " ".join(sorted(one_slip_from(word)))
        hits = await self._index.search(where, vector=None, text=text, limit=LOOKED_AT)
        ids = dict.fromkeys((*(hit.chunk_id for hit in hits.sparse), *near[:LOOKED_AT]))
        texts = await self._library.texts(where.book_id, list(ids))
        return _counted(texts.values())


@cache
def english_words() -> frozenset[str]:
    """Words that are no slips: those that the built-in models know whole."""
    judge, embed = _vocabulary("judge"), _vocabulary("embed")
    whole = (token.removeprefix(_SPACE) for token in embed if token.startswith(_SPACE))
    return frozenset(word.lower() for word in (*judge, *whole) if word.isalpha())


def _vocabulary(name: ModelName) -> dict[str, int]:
    return json.loads(load_tokenizer(name))["model"]["vocab"]


def is_english(word: str, words: frozenset[str]) -> bool:
    """Whether a word, or what it is a form of, is among these."""
    bases = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
    known = (base in words or f"{base}e" in words for base in bases if len(base) >= SHORTEST - 1)
    return word in words or any(known)


def _stands_in(word: str, texts: Iterable[str]) -> bool:
    return any(held((term_of(word),), text) for text in texts)


def _counted(texts: Iterable[str]) -> Counter[str]:
    words = (word for text in texts for word in _WORD.findall(text.lower()))
    return Counter(word for word in words if len(word) >= SHORTEST - 1)
