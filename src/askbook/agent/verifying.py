"""Checks each claim of a draft against the sources it cites: exact checks first, the judge for what they leave open."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from askbook.agent.claims import Claim
from askbook.agent.code_lines import check_code
from askbook.agent.grounding import Support, Suspect, check_support
from askbook.agent.guardrails import gives_orders, leaks
from askbook.agent.likeness import Likeness, foreign
from askbook.agent.response import Citation
from askbook.agent.sources import Sources
from askbook.errors import ConfigurationError
from askbook.retrieval.judging import Judge

CONVINCED = -0.5
"""Judge logit from which a passage is taken to speak to a sentence of which no single word is suspect."""
MOVED = 0.85
"""Share of telling words from which a source supports a claim that did not cite it."""
_LEANING = re.compile(
    r"(?:it|its|they|them|their|these|those|this|that|he|she|his|her|such|both|also|however|"
    r"therefore|thus|then|otherwise|instead|the (?:former|latter|same|second|other))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verified:
    """A claim with the places that support it."""

    claim: Claim
    citations: tuple[Citation, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(citation.n for citation in self.citations)

    @property
    def text(self) -> str:
        return self.claim.rendered(self.numbers)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A claim that no source supports, and why."""

    claim: Claim
    reasons: tuple[str, ...]


class Verifier:
    """Verifies the claims of one turn, in order."""

    def __init__(
        self,
        sources: Sources,
        judge: Judge | None,
        question: str,
        secrets: tuple[str, ...] = (),
        likeness: Likeness | None = None,
    ) -> None:
        self._sources = sources
        self._judge = judge
        self._likeness = likeness
        self._question = question
        self._secrets = secrets
        self._last_was_rejected = False

    async def verify(self, claim: Claim) -> Verified | Rejected:
        """The claim with its true citations, or why it cannot be said."""
        result = await self._verify(claim)
        self._last_was_rejected = isinstance(result, Rejected)
        return result

    def start_anew(self) -> None:
        """What comes next leans on nothing that was verified before."""
        self._last_was_rejected = False

    async def _verify(self, claim: Claim) -> Verified | Rejected:
        if leaks(claim.text, self._secrets) or gives_orders(claim.text):
            return Rejected(claim, ("It does not speak about the book.",))
        if self._last_was_rejected and _LEANING.match(claim.text):
            return Rejected(claim, ("It leans on a sentence that was removed.",))
        cited = [n for n in claim.cited if n in self._sources]
        supports = {n: await self._support(claim, n) for n in cited}
        holding = {n: s for n, s in supports.items() if s.verdict == "supported"}
        holding = holding or await self._together(claim, cited)
        holding = holding or await self._elsewhere(claim, cited)
        if holding:
            quotes = (self._sources.cite(n, s.start, s.end) for n, s in holding.items())
            return Verified(claim, tuple(quotes))
        invented = [n for n in claim.cited if n not in self._sources]
        reasons = [f"There is no source [{n}]." for n in invented]
        reasons += [reason for support in supports.values() for reason in support.reasons]
        if not claim.cited:
            reasons.append("It cites no source.")
        return Rejected(claim, tuple(dict.fromkeys(reasons)) or ("No source supports it.",))

    async def _support(self, claim: Claim, number: int) -> Support:
        passage = self._sources[number].text
        if claim.kind == "code":
            return check_code(claim.text, passage)
        support = check_support(claim.text, passage, self._sources.heading(number), self._question)
        return await settle(support, claim.text, passage, self._judge, self._likeness)

    async def _together(self, claim: Claim, cited: Sequence[int]) -> dict[int, Support]:
        """A sentence that draws on several sources needs all of them."""
        if len(cited) < 2 or claim.kind == "code":
            return {}
        passages = {n: self._sources[n].text for n in cited}
        headings = " ".join(self._sources.heading(n) for n in cited)
        whole = "\n\n".join(passages.values())
        support = check_support(claim.text, whole, headings, self._question)
        support = await settle(support, claim.text, whole, None, self._likeness)
        if support.verdict != "supported":
            return {}
        return {n: check_support(claim.text, passage) for n, passage in passages.items()}

    async def _elsewhere(self, claim: Claim, cited: Sequence[int]) -> dict[int, Support]:
        """A true sentence with a wrong or missing mark gets the right one, if a source clearly says it."""
        for number, result in self._sources:
            if number in cited:
                continue
            if claim.kind == "code":
                support = check_code(claim.text, result.text)
            else:
                support = check_support(claim.text, result.text, self._sources.heading(number))
                support = await settle(support, claim.text, result.text, None, self._likeness)
            if support.verdict == "supported" and support.overlap >= MOVED:
                return {number: support}
        return {}


async def settle(
    support: Support,
    sentence: str,
    passage: str,
    judge: Judge | None,
    likeness: Likeness | None = None,
) -> Support:
    """A doubtful verdict made definite; where nobody can tell, doubt counts against the sentence."""
    if support.verdict != "doubtful":
        return support
    span = passage[support.start : support.end]
    if likeness is None:
        found = [suspect for suspect in support.suspects if suspect.instead]
    else:
        found = await foreign(support.suspects, sentence, span, likeness)
    if found:
        return replace(support, verdict="unsupported", reasons=tuple(map(_why, found)))
    if not support.is_thin:
        return replace(support, verdict="supported", reasons=())
    if judge is None:
        return replace(support, verdict="unsupported")
    try:
        [judgement] = await judge.judge(sentence, [span])
    except ConfigurationError:
        return replace(support, verdict="unsupported")
    if judgement.relevance >= CONVINCED:
        return replace(support, verdict="supported", reasons=())
    return replace(support, verdict="unsupported")


def _why(suspect: Suspect) -> str:
    if suspect.instead:
        return f"It says “{suspect.word}” where the passage says “{suspect.instead}”."
    return f"The passage does not say “{suspect.word}”."
