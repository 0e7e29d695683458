"""Which lines of a draft only lead in to what follows, as “The steps are:” does, and state nothing. Pure."""

import re

from askbook.agent.denials import denies
from askbook.agent.vocabulary import NUMBER_WORDS
from askbook.retrieval.terms import content_terms, stem

LONGEST = 120
GENERIC = frozenset(
    stem(word)
    for word in "step way follow example below answer option reason part point key main include list "
    "summary short detail thing case order".split()
)
"""Words that announce something and say nothing of it."""

_FINITE = (
    "(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|shall|should|must|may|might"
    "|needs?|includes?)"
)
_VERB = re.compile(
    rf"(?<!\bto )\b{_FINITE}\b|\b(?:it|that|there|here|he|she)['’]s\b|['’](?:re|ve|ll|d)\b",
    re.IGNORECASE,
)
_YES_OR_NO = re.compile(
    rf"(?:^|[^\w\s]\s*|\b(?:and|or|but|so|then|also|now|please)\s+){_FINITE}\b"
    r"|\b(?:whether|if)\b|\b(?:true|correct|right)\W*$",
    re.IGNORECASE,
)
_POINTS_ON = re.compile(
    r"\b(?:these|following|as follows|below|like this|this way)\b", re.IGNORECASE
)
_POINTER = re.compile(r"\s(?:these|the following|as follows|below|like this)$", re.IGNORECASE)
_PURPOSE = re.compile(r"(?:in order )?to\b", re.IGNORECASE)
_PRESENTED = re.compile(r"here(?: is| are|['’]s)\b", re.IGNORECASE)
_COUNTED = re.compile(
    rf"(?:there are|.+ ha(?:s|ve)) (?:{'|'.join(sorted(NUMBER_WORDS))}|these|the following|some)\b",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(
    r"\b(?:is|are|was|were|has|have|can|must|should|needs?|includes?)$", re.IGNORECASE
)
_JOINED = re.compile(
    r"[,;:]|\b(?:and|but|or|because|so|since|as|while|when|if|that|which|who)\b", re.IGNORECASE
)


def leads_in(text: str, question: str) -> bool:
    """Whether a line before a colon denies nothing and has no word that says something new."""
    if not text.endswith(":") or len(text) > LONGEST or re.search(r"\d", text) or denies(text):
        return False
    return {*content_terms(text)} <= {*content_terms(question), *GENERIC}


def states(text: str, question: str) -> bool:
    """Whether a lead-in is a whole statement: “The controller is fast:”, of which only the words were asked.

    What its form does not show to be unfinished counts as one.
    """
    line = _without_pointer(text.rstrip(": "))
    terms, verbs = content_terms(line), len(_VERB.findall(line))
    is_open = bool(_LEFT_OPEN.search(line)) and verbs == 1
    if terms and GENERIC.issuperset(terms):
        return verbs > 0 and not (is_open or _POINTS_ON.search(line) or _PRESENTED.match(line))
    if _JOINED.search(line):
        return True
    if _PURPOSE.match(line):
        return verbs > 0
    if _YES_OR_NO.search(question) or verbs != 1:
        return True
    return not (is_open or _PRESENTED.match(line) or _COUNTED.match(line))


def _without_pointer(line: str) -> str:
    """A line without what only points to the list: “…, follow these steps”, “… as follows”."""
    head, comma, tail = line.rpartition(", ")
    if comma and _POINTS_ON.search(tail) and GENERIC.issuperset(content_terms(tail)):
        line = head
    return _POINTER.sub("", line)
