"""How like a sentence is to its passage with and without a word: what does not belong there keeps them apart."""

import asyncio
import re
from collections.abc import Sequence
from typing import Protocol

from askbook.agent.grounding import Suspect
from askbook.book import Vector

MOST = 12
"""Suspects looked into: a sentence with more of them is told apart by the first."""
SAME = 0.8
"""Likeness from which two words mean the same."""
READ = 1200
"""Characters of a passage that are compared."""


class Likeness(Protocol):
    """Turns a short text into a vector, off the event loop."""

    async def embed_query(self, text: str) -> Vector: ...


async def foreign(
    suspects: Sequence[Suspect], sentence: str, passage: str, likeness: Likeness
) -> list[Suspect]:
    """The suspects that keep the sentence and the passage apart."""
    there, whole = await _vectors((passage[:READ], sentence), likeness)
    least = float(whole @ there)
    asked = list({suspect.word: suspect for suspect in reversed(suspects[:MOST])}.values())
    others = await _vectors([_with(suspect, sentence) for suspect in asked], likeness)
    found: list[Suspect] = []
    for suspect, other in zip(asked, others, strict=True):
        if float(other @ there) - least > suspect.least or (
            suspect.is_lone and not await _mean_the_same(suspect, likeness)
        ):
            found.append(suspect)
    return found


def _with(suspect: Suspect, sentence: str) -> str:
    """The sentence with the passage's word, or without any, where the suspect stands."""
    word = rf"(?<!\w){re.escape(suspect.word)}(?!\w)"
    return re.sub(word, lambda _: suspect.instead, sentence, count=1)


async def _mean_the_same(suspect: Suspect, likeness: Likeness) -> bool:
    one, other = await _vectors((suspect.word, suspect.instead), likeness)
    return float(one @ other) >= SAME


async def _vectors(texts: Sequence[str], likeness: Likeness) -> list[Vector]:
    return await asyncio.gather(*(likeness.embed_query(text) for text in texts))
