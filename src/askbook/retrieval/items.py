"""Questions that point at one of several things just named: "the second one", "the latter", "both of them". Pure.

The item is put in the place of the words that point at it. Nothing is guessed: without a clear enumeration, or
beyond its end, the question stays as it is, and where it says nothing else the reader is told what is missing.
"""

import re
from collections.abc import Iterator, Sequence

from askbook.retrieval.enumerations import Items, enumerated, listed
from askbook.retrieval.history import Message, exchanges
from askbook.retrieval.terms import content_terms

EXCHANGES = 5
"""So far back a reader still points."""
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_PLACES = {"last": -1} | {name: place for place, name in enumerate(_ORDINALS)}
_OF_ITS_OWN = r"(?! of (?!(?:them|these|those|it|this|that|you|your|the (?:list|answer|two|three|four|five))\b))"
"""What is the first point "of a trajectory" is one of no list."""
_PLACED = (
    r"(?! (?:in|on|from|at|within|inside|under) (?!(?:(?:the|this|that|your|its|their) )?(?:above |last |whole )?"
    r"(?:them|these|those|it|this|that|you|your|list|table|answer|above|enumeration"
    r"|(?:more |full |greater |some )?(?:detail|depth)|general|practice|particular|short|plain|simple|other|use|action)\b))"
)
"""Nor is the third option "in Nav2"; "the third one in Nav2" leans on what was said all the same."""
_ONE = (
    rf"(?: (?:one|(?:item|point|option)\b{_PLACED})\b{_OF_ITS_OWN}"
    r"| of (?:them|these|those)\b|(?=\W*$))"
)
_POINTER = re.compile(
    rf"\bthe (?P<place>{'|'.join(_PLACES)}){_ONE}"
    r"|\bthe (?P<side>former|latter)(?: one)?\b"
    r"|\b(?P<both>(?:both|the two) of (?:them|these|those)|them both)\b"
    rf"|\bthe (?P<other>other){_ONE}",
    re.IGNORECASE,
)
_INSIDE = re.compile(r" (?:in|on|from|at) (?:an?|the|each|every) (.+)", re.IGNORECASE | re.DOTALL)
_AMONG = re.compile(r"\b(?:which|what|whose)\s+([\w-]+)", re.IGNORECASE)
LEANING = re.compile(r"\b(?:it|its|they|them|their|that|this|those|these|one)\b", re.IGNORECASE)
"""Words that may stand for something said before."""


def with_item_named(question: str, history: Sequence[Message]) -> str | None:
    """The question with the item it points at; none when it points at none, or it is not clear at which."""
    found = _found(question, history)
    return None if found is None else found[0]


def with_item_and_list(question: str, history: Sequence[Message]) -> str | None:
    """The same behind the question whose answer listed the item: the row of a table says little alone."""
    found = _found(question, history)
    if found is None:
        return None
    read, item, asked = found
    return read if item in enumerated(asked) else f"{asked} {read}"


def _found(question: str, history: Sequence[Message]) -> tuple[str, str, str] | None:
    """The question with its item, the item, and the question after which it was named."""
    pointer = _POINTER.search(question)
    if pointer is None:
        return None
    spoken = exchanges([m for m in history if m.role in ("user", "assistant")])[-EXCHANGES:]
    for items, number in _enumerations(spoken, through_others=bool(pointer["other"])):
        if item := _meant(pointer, items, spoken[: number + 1], spoken[number + 1 :]):
            read = question[: pointer.start()] + item + question[pointer.end() :]
            return read, item, _said(spoken[number], "user")
    return None


def unclear_pointer(question: str, history: Sequence[Message]) -> str | None:
    """The words that point at an item which nothing said before names, where the question says hardly anything else.

    "Which robot was the first one?" says itself among what is chosen, "the first one built in Rome" which is meant, and
    "the first item in the checklist" where it stands.
    """
    pointer = _POINTER.search(question)
    if pointer is None or with_item_named(question, history) is not None:
        return None
    among = _AMONG.search(question)
    others = content_terms(f"{question[: pointer.start()]} {question[pointer.end() :]}")
    inside = _INSIDE.match(question, pointer.end())
    if len(others) > 1 or any(each and content_terms(each[1]) for each in (among, inside)):
        return None
    return pointer[0]


def points_at_an_item(question: str) -> bool:
    return bool(_POINTER.search(question))


def _enumerations(
    spoken: Sequence[Sequence[Message]], *, through_others: bool
) -> Iterator[tuple[Items, int]]:
    """What was enumerated, the newest first, with the number of its exchange.

    Behind the last exchange only as far as questions lean on the one before: they leave its enumeration standing.
    """
    for number in reversed(range(len(spoken))):
        question, answer = _said(spoken[number], "user"), _said(spoken[number], "assistant")
        if points_at_an_item(question):
            continue
        asked = enumerated(question)
        # A question about three things names them in full, where its answer may quote two of them.
        ordered = (asked, listed(answer)) if len(asked) > 2 else (listed(answer), asked)
        for items in (*ordered, enumerated(answer, pairs=False)):
            if items:
                yield items, number
        leans = bool(LEANING.search(question)) or not content_terms(question)
        if not leans and not through_others:
            return


def _meant(
    pointer: re.Match[str],
    items: Items,
    before: Sequence[Sequence[Message]],
    since: Sequence[Sequence[Message]],
) -> str | None:
    """The item that a pointer means, if there are so many, or just two where it speaks of two."""
    if name := pointer["place"]:
        place = _PLACES[name.lower()]
        return items[place] if place < len(items) else None
    if len(items) != 2:
        return None
    if side := pointer["side"]:
        return items[side.lower() == "latter"]
    return " and ".join(items) if pointer["both"] else _other(items, before, since)


def _other(
    items: Items, before: Sequence[Sequence[Message]], since: Sequence[Sequence[Message]]
) -> str | None:
    """Of two items the one that the newest question about one of them was not about."""
    for number in reversed(range(len(since))):
        earlier = [message for each in (*before, *since[:number]) for message in each]
        question = _said(since[number], "user")
        read = with_item_named(question, earlier) or question
        unnamed = [item for item in items if not re.search(rf"\b{re.escape(item)}\b", read, re.I)]
        if len(unnamed) == 1:
            return unnamed[0]
    return None


def _said(exchange: Sequence[Message], role: str) -> str:
    return "\n".join(message.content for message in exchange if message.role == role)
