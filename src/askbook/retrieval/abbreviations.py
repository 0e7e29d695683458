"""Abbreviations that a text explains: "inertial measurement unit (IMU)", "IMU (inertial measurement unit)". Pure.

Which words stand for the letters is told as by Schwartz and Hearst ("A simple algorithm for identifying abbreviation
definitions in biomedical text", 2003): the letters are looked for from the last to the first, and the first one must
begin a word.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from askbook.retrieval.terms import content_terms

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
_LAST_WORD = re.compile(r"(\S+)\s*$")
_BREAK = re.compile(r"[.!?:;,›>|]\s|[\"“”]")
_ASIDE = re.compile(r"[,;:]")


@dataclass(frozen=True, slots=True)
class Gloss:
    """An abbreviation and what it stands for, by their terms."""

    short: Name
    long: Name


def glosses_in(text: str) -> Iterator[Gloss]:
    """The abbreviations that a text explains in brackets, or beside them."""
    for found in _BRACKET.finditer(text):
        ahead = _BLOCK.split(text[max(0, found.start() - LONGEST) : found.start()])[-1]
        before, inside = (" ".join(_MARKUP.sub("", part).split()) for part in (ahead, found[1]))
        gloss = _spelled_before(before, inside) or _spelled_inside(before, inside)
        if gloss is not None:
            yield gloss


def names_of(term: Name, texts: Iterable[str]) -> frozenset[Name]:
    """A term by all its names: as it was written, and as these texts abbreviate it or spell it out.

    Letters that stand for several things stand for the one that was written: a tool center point is no transmission
    control protocol.
    """
    if not term:
        return frozenset()
    found = {gloss for text in texts for gloss in glosses_in(text)}
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
