"""Several things named in a row: the lines of a list, the rows of a table, "a node, a topic and a service". Pure.

Where it is not clear what the items are, there are none: a wrong second one would be worse.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from askbook.retrieval.terms import content_words

LONGEST_ITEM = 80
MOST_WORDS = 4
"""More words between two commas are a clause."""

Items: TypeAlias = tuple[str, ...]
_Line: TypeAlias = Literal["item", "row", "text"]

_MARK = re.compile(r" ?\[\d{1,3}\]")
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(.+)$")
_BOLD = re.compile(r"\*\*(.+?)\*\*")

_EMPHASIS = re.compile(r"[*`\"“”]")
_SENTENCE_END = re.compile(r"(?<!\bvs)[.?!](?=\s|$)|[;\n]")
_JOINT = re.compile(r"(,?\s+(?:and|or|vs\.?|versus)\s+|,\s+)", re.IGNORECASE)
_WORD = re.compile(r"[^\s,:()]+")
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_OBJECT = re.compile(r"\s+(?:an?|the|that|this|its|their|my|your|our|some|any|it|them)\b", re.I)
"""After such a word the last "item" was a verb: "install ROS and build a package"."""
_LABEL = re.compile(r"\d+(?:\.\d+)*|[B-HJ-Z]|[IVX]{2,4}")
_COMPARING = frozenset(("compare", "contrast", "differ", "differs"))
"""Verbs that stand beside an enumeration: "How do URDF and SDF differ?"."""
_CHOICE = re.compile(
    r"\W*(?:(?:and|so|but|then)\W+)*"
    r"(?:which\b|what(?:'s| is| are) (?:the )?(?:\w+er|best|more)\b)",
    re.IGNORECASE,
)
"""What stands before the comma of "Which is faster, a topic or a service?" is no item."""
_NOUN_TO_COME = re.compile(r"(?:\b(?:an?|of)|:)\s*$", re.IGNORECASE)
_TWO_TO_COME = re.compile(r"(?:\b(?:between|either|both)|:)\s*(?:(?:an?|the)\s+)?$", re.IGNORECASE)


def listed(answer: str) -> Items:
    """The items of an answer's only list or table, each by its name."""
    lines = [line for line in _MARK.sub("", answer).splitlines() if line.strip()]
    blocks = [(kind, list(run)) for kind, run in groupby(lines, _kind)]
    found = [
        _first_cells(block) if kind == "row" else _names(block)
        for kind, block in blocks
        if kind != "text"
    ]
    return found[0] if len(found) == 1 and len(found[0]) > 1 else ()


def enumerated(text: str, *, pairs: bool = True) -> Items:
    """The items of a text's only enumeration. Without `pairs`, two items count only where the text says that two
    are to come ("between …", "either …", after a colon): prose is full of twos."""
    sentences = _SENTENCE_END.split(_EMPHASIS.sub("", _MARK.sub("", text)))
    found = [
        run.items
        for sentence in sentences
        for run in _runs(" ".join(sentence.split()))
        if len(run.items) > 2 or pairs or _TWO_TO_COME.search(run.before)
    ]
    return found[0] if len(found) == 1 else ()


def cells_of(row: str) -> list[str]:
    """What stands in the columns of a table's row."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _kind(line: str) -> _Line:
    if line.lstrip().startswith("|"):
        return "row"
    return "item" if _LISTED.match(line) else "text"


def _names(lines: Sequence[str]) -> Items:
    """Items by their names in bold, else by their beginnings."""
    items = [found[1] for line in lines if (found := _LISTED.match(line))]
    bold = [_BOLD.match(item) for item in items]
    return tuple(
        name[1].rstrip(".:") if name else item[:LONGEST_ITEM].rstrip(".")
        for item, name in zip(items, bold, strict=True)
    )


def _first_cells(rows: Sequence[str]) -> Items:
    """What the rows of a table are about; numbers are named with the column: "Category 1"."""
    cells = [cells_of(row)[0] for row in rows]
    ruled = [number for number, row in enumerate(rows) if set(row) <= set("|-: ")]
    if ruled != [1]:
        return ()
    head, body = cells[0], [_EMPHASIS.sub("", cell)[:LONGEST_ITEM] for cell in cells[2:]]
    return tuple(f"{head} {cell}" if _LABEL.fullmatch(cell) else cell for cell in body)


@dataclass(frozen=True, slots=True)
class _Run:
    """Items that joints hold together, and what stands before the first."""

    items: Items
    before: str


def _runs(sentence: str) -> Iterator[_Run]:
    """The enumerations of a sentence: phrases between commas, the last two joined by a word."""
    parts = _JOINT.split(sentence)
    pieces, joints = parts[::2], parts[1::2]
    start = 0
    for end in range(1, len(pieces)):
        if end < len(joints) and _whole(pieces[end]):
            continue
        if run := _run(sentence, pieces[start : end + 1], joints[start:end]):
            yield run
        start = end


def _run(sentence: str, pieces: Sequence[str], joints: Sequence[str]) -> _Run | None:
    """One enumeration; none where its ends are not clear."""
    before, first = _tail(pieces[0])
    last, after = _head(pieces[-1])
    items = [first, *(_whole(piece) for piece in pieces[1:-1]), last]
    kept = list(joints)
    while kept and (not items[-1] or not kept[-1].strip(", ")):
        items.pop()
        kept.pop()
        after = ""
    if not items[0] or (len(items) > 2 and _is_choice(sentence, before, kept)):
        items, before = items[1:], pieces[0]
    if len(items) < 2 or not all(items) or _OBJECT.match(after):
        return None
    return _Run(_labelled(items), before) if len(set(items)) == len(items) else None


def _is_choice(sentence: str, before: str, joints: Sequence[str]) -> bool:
    """Whether what stands before the first comma asks for a choice among what follows it."""
    joined = joints[0].strip() == "," and "or" in joints[-1].lower()
    return joined and bool(_CHOICE.match(sentence)) and not _NOUN_TO_COME.search(before)


def _whole(piece: str) -> str:
    """A piece that is a short phrase from end to end, without its article; else nothing."""
    phrase, after = _head(piece)
    return "" if after.strip() else phrase


def _head(piece: str) -> tuple[str, str]:
    """The phrase at the beginning of a piece, and what follows it."""
    article = _ARTICLE.match(piece)
    start = end = article.end() if article else 0
    for word in _WORD.finditer(piece, start):
        if piece[end : word.start()].strip() or not _names_something(word[0]):
            break
        end = word.end()
    return _short(piece[start:end]), piece[end:]


def _tail(piece: str) -> tuple[str, str]:
    """What stands before the phrase at the end of a piece, and the phrase."""
    start = len(piece)
    for word in reversed(list(_WORD.finditer(piece))):
        if piece[word.end() : start].strip() or not _names_something(word[0]):
            break
        start = word.start()
    return piece[:start], _short(piece[start:])


def _names_something(word: str) -> bool:
    return bool(_LABEL.fullmatch(word) or content_words(word)) and word.lower() not in _COMPARING


def _short(phrase: str) -> str:
    return phrase.strip() if len(phrase.split()) <= MOST_WORDS else ""


def _labelled(items: Sequence[str]) -> Items:
    """Bare numbers and letters with what they number: "category 0" and "category 1" for "categories 0 and 1"."""
    kind, _, label = items[0].rpartition(" ")
    if not kind or not all(_LABEL.fullmatch(each) for each in (label, *items[1:])):
        return tuple(items)
    return tuple(f"{_singular(kind)} {each}" for each in (label, *items[1:]))


def _singular(kind: str) -> str:
    """Lower-case plurals only: ROS and DDS are none."""
    if kind.endswith("ies"):
        return f"{kind[:-3]}y"
    return re.sub(r"(?<=[a-z]{2})(?<![sui])s$", "", kind)
