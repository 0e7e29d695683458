"""What a question names, or wants named, and no passage speaks of: Newton's law, the inventor of a thing. Pure."""

import re
import unicodedata
from collections.abc import Sequence

from askbook.retrieval.terms import content_terms, content_words, held

FEWEST_LETTERS = 4
"""Of a name, so many letters must stand in a passage; its ending may be another there."""

_NAME = re.compile(r"(?<=[a-z,] )(?=[A-Z])(?=\w*[a-z])[^\W\d_]{3,}(?![\w./:(-])")
"""A word that is written large inside a sentence: no abbreviation, no identifier."""
_ASIDE = re.compile(
    r"\b(?:on|in|with|using|for|under|from|at|via|my|our)\s+(?:the\s+|an?\s+|my\s+|our\s+)?$", re.I
)
"""What names a circumstance of the reader's: "on Ubuntu", "with my Jetson"; the book may answer without it."""
_MADE = "invented|created|developed|designed|discovered|introduced|proposed|founded|wrote|written|coined|pioneered"
_WHO_MADE = re.compile(
    rf"\bwho(?:\s+(?:first|originally|actually))?\s+(?:{_MADE}|made|built|came up with)\b"
    rf"|\b(?:by whom|who)\b.{{0,60}}\b(?:{_MADE})\s+by\b"
    r"|\bwho\s+(?:is|was|are|were)\s+the\s+(?:inventors?|creators?|authors?|founders?|designers?|developers?)\b",
    re.IGNORECASE,
)
_MAKER = re.compile(
    rf"\b(?:{_MADE}|made|built|published|named|due)\b(?:\s+\S+){{0,6}}?\s+(?:by|after|to|at)\s+(?:the\s+)?\W*(?-i:[A-Z])"
    rf"|\b(?-i:[A-Z])[\w.’'-]+(?:\s+first|\s+originally)?\s+(?:{_MADE})\b"
    r"|\b(?:inventor|creator|author|founder|designer|developer|pioneer|originator)s?\b|\bet al\b",
    re.IGNORECASE,
)
_NAMED_AFTER = re.compile(
    r"['’]s?(?:\s+[\w-]+){0,2}?\s+(laws?|theorem|principle|rule|equations?|formula|algorithm|method|lemma|inequality|effect"
    r"|constant|number|criterion|paradox)\b",
    re.IGNORECASE,
)
"""What is called after somebody: "Newton's second law"; his unit is another thing."""


def unheard_names(question: str, passages: Sequence[str]) -> list[str]:
    """Names in a question that no passage has; of what is called after somebody, none has both.

    A question that says more, and shares no word of that with them, may be in another language, where names tell nothing.
    """
    plain = [_plain(passage) for passage in passages]
    unheard = [
        found[0]
        for found in _NAME.finditer(question)
        if content_words(found[0])
        and not _ASIDE.search(question, 0, found.start())
        and not _is_heard(found[0], question[found.end() :], plain)
    ]
    if not unheard:
        return []
    others = content_terms(" ".join(re.sub(r"['’]s?\b", "", question).split()))
    others = [term for term in others if term not in content_terms(" ".join(unheard))]
    shared = any(held(others, passage) for passage in passages)
    return unheard if shared or not others else []


def lacks_a_maker(question: str, passages: Sequence[str]) -> bool:
    """Whether a question wants to know who made something, and no passage speaks of anybody's making anything."""
    return bool(_WHO_MADE.search(question)) and not any(map(_MAKER.search, passages))


def _is_heard(name: str, after: str, passages: Sequence[str]) -> bool:
    """Whether a plain passage has a name, in any form, and what is called after it."""
    # The ending of a name may be another in a passage.
    beginning = _plain(name)[: max(FEWEST_LETTERS, len(name) - 2)]
    called = _NAMED_AFTER.match(after)
    what = content_terms(called[1]) if called else []
    return any(beginning in text and (not what or held(what, text)) for text in passages)


def _plain(text: str) -> str:
    """A text in lower case and without accents, which readers leave out."""
    apart = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
