"""The words of a question that carry its meaning. Pure."""

import re
from collections.abc import Collection
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z0-9]+(?:[._'+#-][A-Za-z0-9]+)*")
_WHOLE_WORD = re.compile(rf"(?<![A-Za-z0-9])(?<![A-Za-z0-9][._'+#-]){_WORD.pattern}")
_NUMBERED = re.compile(r"([a-z]{2,})\d(?:'s)?")
_NUMBERED_NAME = re.compile(r"(?<![\w.-])([A-Za-z]{2,})([ -]?)(\d)(?![\w-])(?!\.\w)")
"""One digit, as versions have: in longer numbers a year or an amount would be taken for part of a name."""
_STOP = frozenset(
    """a about above after again all also am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each else ever every explain few
    for from further get give given go had has have having he her here hers him his how i if in into is
    it its itself just let like list make many may me mean means might more most much must my name need
    no nor not of off on once one only or other our out over own please same say she should show so some
    such take tell than that the their them then there these they thing things this those through to too
    under until up us use used using very want was way we were what when where which while who whom why
    will with would you your yours describe define happen happens work works kind type""".split()
)

_CONTRACTED = _STOP | frozenset(
    "don isn aren wasn weren doesn didn won couldn shouldn wouldn hasn haven hadn mustn let".split()
)


def content_terms(text: str) -> list[str]:
    """Distinct stems of the meaningful words, in order of appearance."""
    return list(dict.fromkeys(term_of(word.lower()) for word in content_words(text)))


def term_set(text: str) -> set[str]:
    """The stems of the meaningful words, for looking up whether a long text holds some."""
    return {term_of(word) for word in set(_WORD.findall(text.lower())) if not _is_empty(word)}


def held(terms: Collection[str], text: str) -> set[str]:
    """Those of these stems that the meaningful words of a text have."""
    lowered = text.lower()
    return {term for term in terms if _stands_in(term, lowered)}


def _stands_in(term: str, text: str) -> bool:
    """Whether a word of a text in lower case has this stem."""
    # A word begins with its stem but for the stem's last letter: few words of a long text need to be stemmed.
    beginning = term[:-1] or term
    at = text.find(beginning)
    while at >= 0:
        word = _WHOLE_WORD.match(text, at)
        if word and term_of(word[0]) == term and not _is_empty(word[0]):
            return True
        at = text.find(beginning, at + 1)
    return False


def content_words(text: str) -> list[str]:
    """The meaningful words as they were written, in order of appearance."""
    words = (match.group() for match in _WORD.finditer(text))
    return [word for word in words if not _is_empty(word.lower())]


def _is_empty(word: str) -> bool:
    """Whether a word says little by itself; "what's" and "don't" say no more than what they begin with."""
    return len(word) < 2 or word in _STOP or ("'" in word and word.partition("'")[0] in _CONTRACTED)


def term_of(word: str) -> str:
    """The stem of a word in lower case; "ros2" is the term that "ROS 2" is."""
    named = _NUMBERED.fullmatch(word)
    return stem(named[1] if named else word)


def with_both_spellings(text: str) -> str:
    """A text for a ranking by words: a name and its number stand in it together and apart, "ROS 2" as "ROS2" too."""
    found = [match for match in _NUMBERED_NAME.finditer(text) if not _is_empty(match[1].lower())]
    other = (f"{match[1]}{'' if match[2] else ' '}{match[3]}" for match in found)
    return " ".join(dict.fromkeys((text, *other)))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A light English stemmer: enough to meet plurals and verb forms."""
    word = word.removesuffix("'s")
    for suffix, ending, least in (
        ("ies", "y", 5),
        ("sses", "ss", 6),
        ("ing", "", 6),
        ("edly", "", 7),
        ("ed", "", 5),
        ("ly", "", 6),
        ("es", "e", 5),
        ("s", "", 4),
    ):
        if len(word) >= least and word.endswith(suffix) and not word.endswith("ss"):
            word = word[: -len(suffix)] + ending
            break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
