"""Compares a sentence that is nearly a quotation with the passage, word by word. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from askbook.agent.denials import contrasts, negates
from askbook.agent.evidence import Evidence
from askbook.agent.facts import Token
from askbook.agent.places import same_root

QUOTED = 0.7
"""Share of words in the same order from which a sentence counts as a quotation, to be compared word by word."""
TIGHT = 2
"""Telling words up to which a run stands in the place of another; longer ones are a retelling."""


@dataclass(frozen=True, slots=True)
class Change:
    """A run of a near quotation that is worded otherwise in the passage, as telling words."""

    said: tuple[Token, ...]
    meant: tuple[Token, ...]
    defines: bool
    """The passage has a thing already named there ("the group")."""
    is_lone: bool
    """One word for one, and nothing else is worded otherwise."""

    @property
    def is_tight(self) -> bool:
        """Whether one run stands in the place of the other, so that it may say something else."""
        both = bool(self.said and self.meant)
        return both and len(self.said) <= TIGHT and len(self.meant) <= TIGHT

    @property
    def is_fact(self) -> bool:
        """Whether a name or a number is said."""
        return any(
            token.is_name or token.kind != "word" or any(map(str.isdigit, token.raw))
            for token in self.said
        )


def changes(
    claim: Sequence[Token], window: Sequence[Evidence], title: Sequence[Token], repeated: set[str]
) -> Iterator[Change | str]:
    """Where a near quotation is worded otherwise, and why a negation in it is wrong."""
    matcher, source = _aligned(claim, window[0].tokens), window[0].tokens
    merges = False
    if _share(matcher, claim) < QUOTED:
        ordered = sorted(window, key=lambda unit: unit.unit.start)
        source = tuple(token for unit in ordered for token in unit.tokens)
        matcher, merges = _aligned(claim, source), True
        if _share(matcher, claim) < QUOTED:
            return
    for tag, a, b, c, d in matcher.get_opcodes():
        ours, theirs = claim[a:b], source[c:d]
        said = [t for t in ours if t.is_content]
        meant = [t for t in theirs if t.is_content]
        if not any(t.is_name for t in meant):
            said = [t for t in said if not (t.is_name and t.norm in repeated)]
        if any(
            _stand_together(said, claim[:a], claim[b:], tokens)
            for tokens in ((title, source) if merges else (title,))
        ):
            continue
        if tag == "replace" and said and meant and not _akin(said, meant):
            rest = len(claim) - (b - a) == _matched(matcher)
            lone = rest and not merges and len(said) == len(meant) == 1
            defines = len(meant) == 1 and theirs[0].norm == "the"
            yield Change(tuple(said), tuple(meant), defines, lone)
        if tag != "equal" and negates(ours) != negates(theirs):
            inside = a > 0 and b < len(claim)
            if negates(ours) and not contrasts(theirs, claim):
                yield "It denies what the passage says."
            elif negates(theirs) and not contrasts(ours, source) and inside and len(meant) <= 1:
                yield "It says what the passage denies."


def _stand_together(
    said: Sequence[Token], before: Sequence[Token], after: Sequence[Token], source: Sequence[Token]
) -> bool:
    """Whether words that a sentence put elsewhere keep a neighbour of the passage; a number, both of its own."""
    left = [token for token in before if token.is_content][-1:]
    right = [token for token in after if token.is_content][:1]
    there = {(a.norm, b.norm) for a, b in pairwise(t for t in source if t.is_content)}
    pairs = list(pairwise([*left, *said, *right]))
    kept = [(a, b) for a, b in pairs if (a.norm, b.norm) in there]
    moved = [token for token in said if token.kind == "number"]
    return bool(said and kept) and all(
        pair in kept for pair in pairs if any(token in pair for token in moved)
    )


def together(one: str, other: str, tokens: Sequence[Token]) -> bool:
    """Whether two words stand together, in this order."""
    return any(
        token.norm == one and any(t.norm == other for t in tokens[i + 1 : i + 4])
        for i, token in enumerate(tokens)
    )


def _aligned(claim: Sequence[Token], source: Sequence[Token]) -> SequenceMatcher[str]:
    ours, theirs = [t.norm for t in claim], [t.norm for t in source]
    return SequenceMatcher(None, ours, theirs, autojunk=False)


def _share(matcher: SequenceMatcher[str], claim: Sequence[Token]) -> float:
    return _matched(matcher) / len(claim)


def _matched(matcher: SequenceMatcher[str]) -> int:
    return sum(block.size for block in matcher.get_matching_blocks())


def _akin(said: Sequence[Token], meant: Sequence[Token]) -> bool:
    """Whether the words of one run are forms of the words of the other, written apart or as one."""
    if "".join(token.norm for token in said) == "".join(token.norm for token in meant):
        return True
    return all(any(a.norm == b.norm or same_root(a.norm, b.norm) for b in meant) for a in said)
