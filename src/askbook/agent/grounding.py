"""Decides whether a passage of the book supports a sentence, and shows where. Pure.

Cheap and exact checks come first: numbers with their units, identifiers, names, negations, and which
words the passage shares with the sentence. Only where they leave doubt is a model worth its time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from askbook.agent.denials import flipped
from askbook.agent.evidence import Evidence, choose_window, read_evidence, span_of
from askbook.agent.facts import Token, identifiers, read_tokens
from askbook.agent.places import Place, places
from askbook.agent.quantities import foreign_numbers
from askbook.agent.wording import Change, changes, together

Verdict: TypeAlias = Literal["supported", "unsupported", "doubtful"]

FULL = 0.7
"""Share of a sentence's telling words that a passage must contain to need no second look."""
LEAST = 0.34
"""Share below which a sentence speaks of something else."""
FOREIGN = 0.02
"""How much nearer a sentence may come to its passage without a word that the passage does not have."""
REPLACED = 0.015
"""How much nearer it may come with the word that the passage has in the place of another."""
MISPLACED = 0.003
"""The same for a word that the passage has too, among other words."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A word that may say something else, and the gain in likeness that shows it: see `Likeness`."""

    word: str
    least: float
    instead: str = ""
    is_lone: bool = False
    """It is the only word in which the sentence differs from the passage."""


@dataclass(frozen=True, slots=True)
class Support:
    """What a check found: the verdict, why not, and the span of the passage that speaks to the sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]
    overlap: float
    start: int
    end: int
    suspects: tuple[Suspect, ...] = ()
    is_thin: bool = False
    """Too little is shared to be believed without a judge."""


def check_support(sentence: str, passage: str, heading: str = "", asked: str = "") -> Support:
    """Whether `passage` (under `heading`) says what `sentence` says.

    A name that only the question (`asked`) brought in may be repeated, but leaves doubt.
    """
    claim = read_tokens(sentence)
    telling = {token.norm for token in claim if token.is_content}
    units = read_evidence(passage)
    if not telling or not units:
        reason = "It states nothing that can be checked." if units else "The passage is empty."
        return Support("unsupported", (reason,), 0.0, 0, 0)
    title = read_tokens(heading)
    above = {token.norm for token in title}
    window = choose_window(claim, above, units)
    start, end = span_of(window, telling)
    shown = above.union(*(unit.norms for unit in window))
    overlap = sum(norm in shown for norm in telling) / len(telling)
    repeated = {token.norm for token in read_tokens(asked) if token.is_content} - shown
    changed = list(changes(claim, window, title, repeated))
    placed = list(places(claim, units))
    reasons = [
        *_foreign_identifiers(sentence, passage, f"{heading} {asked}"),
        *foreign_numbers(claim, window, units, title),
        *_foreign_names(claim, heading, repeated, units),
        *_changed_facts(changed, above | window[0].norms),
        *flipped(claim, window, units),
    ]
    if reasons:
        return Support("unsupported", tuple(dict.fromkeys(reasons)), overlap, start, end)
    if overlap < LEAST:
        return Support("unsupported", ("The passage speaks of other things.",), overlap, start, end)
    thin = overlap < FULL or any(t.is_name and t.norm in repeated for t in claim)
    suspects = tuple(_suspects(placed, changed, above | repeated))
    if thin or suspects:
        missing = ", ".join(t.raw for t in claim if t.is_content and t.norm not in shown)
        why = (f"Not in the passage: {missing}.",) if missing else ()
        return Support("doubtful", why, overlap, start, end, suspects, thin)
    return Support("supported", (), overlap, start, end)


def _foreign_identifiers(sentence: str, passage: str, heading: str) -> Iterable[str]:
    source = _squeezed(f"{heading} {passage}")
    for item in identifiers(sentence):
        wanted = _squeezed(item)
        if wanted not in source and wanted.rstrip("()") not in source:
            yield f"The passage does not contain “{item}”."


def _foreign_names(
    claim: Sequence[Token], heading: str, repeated: set[str], units: Sequence[Evidence]
) -> Iterable[str]:
    """A name must stand in the passage or be given; a name of several words, together."""
    titles = [read_tokens(title) for title in heading.split("›")]
    texts = [*titles, *(unit.tokens for unit in units)]
    anywhere = set(repeated)
    for tokens in texts:
        anywhere.update(token.norm for token in tokens)
        anywhere.update(a.norm + b.norm for a, b in pairwise(tokens))
    for token in claim:
        if token.is_name and token.norm not in anywhere:
            yield f"The passage does not name “{token.raw}”."
    for one, other in pairwise(claim):
        if not (one.is_name and other.is_name and other.is_joined) or other.raw.isupper():
            continue
        if {one.norm, other.norm} & repeated or _meet(one.norm, other.norm, titles):
            continue
        if not any(together(one.norm, other.norm, tokens) for tokens in texts):
            yield f"The passage does not name “{one.raw} {other.raw}”."


def _meet(one: str, other: str, titles: Sequence[Sequence[Token]]) -> bool:
    """Whether one name may end here and another begin: a title stands before or after a name, but whole."""
    return any(title and (title[-1].norm == one or title[0].norm == other) for title in titles)


def _changed_facts(changed: Sequence[Change | str], near: set[str]) -> Iterable[str]:
    """Names and numbers of a near quotation, and what it denies, must be the passage's own."""
    for change in changed:
        if isinstance(change, str):
            yield change
        elif change.is_tight and change.is_fact and not _stands_for(change, near):
            yield f"It says “{_raw(change.said)}” where the passage says “{_raw(change.meant)}”."


def _stands_for(change: Change, near: set[str]) -> bool:
    """Whether what the page is about is named where the passage only points to it ("the group")."""
    named = all(token.norm in near and token.kind == "word" for token in change.said)
    return named and change.defines and not change.meant[0].is_name


def _suspects(
    placed: Sequence[Place], changed: Sequence[Change | str], given: set[str]
) -> Iterator[Suspect]:
    """Words on which the sentence may say something else than the passage, likeliest first."""
    for change in changed:
        if isinstance(change, Change) and change.is_tight and not change.is_fact:
            for token in change.said:
                yield Suspect(token.raw, REPLACED, _raw(change.meant), change.is_lone)
    for place in placed:
        token, instead = place.token, " ".join(place.instead)
        if token.kind != "word" or (token.norm in given and not instead):
            continue
        if token.is_name:
            if place.is_known and instead and place.company <= 1:
                yield Suspect(token.raw, MISPLACED, instead)
            elif place.is_known and not place.company and not place.alone:
                yield Suspect(token.raw, MISPLACED)
        elif not place.is_known:
            yield Suspect(token.raw, REPLACED if instead else FOREIGN, instead)
        elif instead and place.company <= 1:
            yield Suspect(token.raw, MISPLACED, instead)


def _raw(tokens: Sequence[Token]) -> str:
    return " ".join(token.raw for token in tokens)


def _squeezed(text: str) -> str:
    return " ".join(text.replace("`", " ").replace("\\", "").split()).casefold()
