"""Abbreviations that a text explains: "inertial measurement unit (IMU)", "IMU (inertial measurement unit)". Pure.

Which words stand for the letters is told as by Schwartz and Hearst ("A simple algorithm for identifying abbreviation
definitions in biomedical text", 2003): the letters are looked for from the last to the first, and the first one must
begin a word.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from askbook.retrieval.terms import content_terms, held

Name: TypeAlias = frozenset[str]
"""The terms of what something is called."""
MOST_NAMES = 8
LONGEST = 120
"""Characters in which the words for an abbreviation stand."""

_BRACKET = re.compile(r"\(([^()]{2,120})\)")
_BLOCK = re.compile(r"[()]|\n\s*\n|\n\s*(?:[#|>*+-]|\d{1,3}[.)]\s)")
_MARKUP = re.compile(r"[*`]|(?<!\w)_+|_+(?!\w)")
_SHORT = re.compile(r"(?=(?:[a-z.&/-]*[A-Z]){2})[A-Za-z][A-Za-z.&/-]{1,9}")
"""No digits: RT-1 and RT-2 are spelled out alike and are not the same."""
_LETTERS = re.compile(r"(?<![\w./'’-])[A-Za-z]{2,5}(?![\w/'’-])")
_CAPITALS = re.compile(r"(?<!\w)[A-Za-z]*[A-Z][A-Za-z]*[A-Z][A-Za-z]*(?!\w)")
_BETWEEN = r"(?:[ -](?:of|and|for|the|to|in|on|with|an?)){0,2}[ -]"
"""Small words that need no letter."""
_HEADINGS = re.compile(r"^(?: {0,3}#{1,6}\s.*|[^\n]* › .*)$", re.MULTILINE)
"""Headings in a passage, and the trail of those above it."""
_LAST_WORD = re.compile(r"(\S+)\s*$")
_BREAK = re.compile(r"[.!?:;,›>|]\s|[\"“”]")
_ASIDE = re.compile(r"[,;:]")


@dataclass(frozen=True, slots=True)
class Gloss:
    """An abbreviation and what it stands for, by their terms."""

    short: Name
    long: Name


@lru_cache(maxsize=512)
def glosses_in(text: str) -> tuple[Gloss, ...]:
    """The abbreviations that a text explains in brackets, or beside them; one answer asks this of a text several times."""
    found: list[Gloss | None] = []
    for bracket in _BRACKET.finditer(text):
        ahead = _BLOCK.split(text[max(0, bracket.start() - LONGEST) : bracket.start()])[-1]
        before, inside = (" ".join(_MARKUP.sub("", part).split()) for part in (ahead, bracket[1]))
        found.append(_spelled_before(before, inside) or _spelled_inside(before, inside))
    return tuple(gloss for gloss in found if gloss is not None)


def initials_in(question: str, texts: Sequence[str]) -> set[Gloss]:
    """What abbreviations of a question stand for by the initials of a term that texts write large, or as a heading.

    Only where nothing explains them, and the texts have one such term alone: nothing is guessed.
    """
    asked = _shortened(question, texts)
    found: set[Gloss] = set()
    if not asked:
        return found
    explained = {gloss.short for text in texts for gloss in glosses_in(text)}
    for short in asked:
        name = frozenset(content_terms(short))
        longs = {
            frozenset(content_terms(spelled))
            for text in texts
            for spelled in _spelled_by_initials(short, text)
        }
        if name not in explained and len(longs) == 1:
            found |= {Gloss(name, long) for long in longs if long and not long & name}
    return found


def names_of(term: Name, texts: Iterable[str], known_by: Collection[Gloss] = ()) -> frozenset[Name]:
    """A term by all its names: as it was written, and as these texts abbreviate it or spell it out.

    Letters that stand for several things stand for the one that was written: a tool center point is no transmission
    control protocol.
    """
    if not term:
        return frozenset()
    found = {gloss for text in texts for gloss in glosses_in(text)}.union(known_by)
    written = [gloss for gloss in found if gloss.long <= term]
    known = [gloss for gloss in found if not any(_is_another(gloss, each) for each in written)]
    names, new = {term}, [term]
    while new and len(names) < MOST_NAMES:
        name = new.pop(0)
        for gloss in known:
            for one, other in ((gloss.short, gloss.long), (gloss.long, gloss.short)):
                called = (name - one) | other
                if one <= name and called not in names:
                    names.add(called)
                    new.append(called)
    return frozenset(names)


def with_other_names(terms: Collection[str], glosses: Iterable[Gloss]) -> frozenset[str]:
    """Terms of a text together with those that say the same: `imu` beside "inertial measurement unit"."""
    whole = frozenset(terms)
    same = [g.short | g.long for g in glosses if g.short <= whole or g.long <= whole]
    return whole.union(*same)


def _shortened(question: str, texts: Sequence[str]) -> list[str]:
    """The abbreviations of a question: by their capitals, or because no text has them as words."""
    found = [word for word in _LETTERS.findall(question) if content_terms(word)]
    large = [word for word in found if len(re.findall(r"[A-Z]", word)) > 1]
    small = [word for word in found if word not in large and len(word) > 2]
    as_words = [_CAPITALS.sub(" ", text) for text in texts] if small else []
    unknown = [w for w in small if not any(held(content_terms(w), text) for text in as_words)]
    return large + [word.upper() for word in unknown]


def _spelled_by_initials(short: str, text: str) -> Iterator[str]:
    """Where a text has words that begin with these letters: large ones, or any in its headings."""
    letters = re.sub(r"s$|[^A-Za-z]", "", short)
    joints = [rf"[{letter.upper()}{letter.lower()}][\w’']*" for letter in letters]
    ends = [rf"{letter.upper()}[\w’']+" for letter in letters]
    large = _BETWEEN.join((ends[0], *joints[1:-1], ends[-1]))
    yield from (found[0] for found in re.finditer(rf"\b{large}\b", text))
    small = re.compile(rf"(?<![\w-]){_BETWEEN.join(joints)}(?![\w-])")
    for line in _HEADINGS.findall(text):
        yield from (found[0] for found in small.finditer(line))


def _is_another(gloss: Gloss, written: Gloss) -> bool:
    return gloss.short == written.short and not gloss.long & written.long


def _spelled_before(before: str, inside: str) -> Gloss | None:
    """ "inertial measurement unit (IMU)"."""
    short = _ASIDE.split(inside)[0].strip()
    if not _SHORT.fullmatch(short):
        return None
    return _gloss(short, _BREAK.split(before.rstrip())[-1])


def _spelled_inside(before: str, inside: str) -> Gloss | None:
    """ "IMU (inertial measurement unit)"."""
    word = _LAST_WORD.search(before)
    if word is None or not _SHORT.fullmatch(word[1]):
        return None
    long = _ASIDE.split(inside)[0].strip()
    gloss = _gloss(word[1], long)
    return gloss if gloss is not None and gloss.long == frozenset(content_terms(long)) else None


def _gloss(short: str, spelled: str) -> Gloss | None:
    letters = re.sub(r"s$|[^A-Za-z]", "", short)
    long = _words_for(letters.lower(), spelled)
    if long is None or not re.search(r"\w[\s-]+\w", long):
        return None
    gloss = Gloss(frozenset(content_terms(short)), frozenset(content_terms(long)))
    return gloss if gloss.short and gloss.long and not gloss.short & gloss.long else None


def _words_for(letters: str, spelled: str) -> str | None:
    """The end of a text that has these letters in order, from the beginning of a word on."""
    text, at = spelled.lower(), len(spelled)
    for place in reversed(range(len(letters))):
        at = text.rfind(letters[place], 0, at)
        while place == 0 and at > 0 and text[at - 1].isalnum():
            at = text.rfind(letters[0], 0, at)
        if at < 0:
            return None
    return spelled[spelled.rfind(" ", 0, at) + 1 :]
