"""Runs the model on one question and lets out only what the book supports."""

import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from askbook.agent.claims import Claim, ClaimCutter, cut_claims
from askbook.agent.contradictions import opposing
from askbook.agent.drafting import Drafter, ModelFailed, Searched, Searching, Spending
from askbook.agent.events import AnswerEnded, AnswerEvent, SentenceVerified, SourcesFound
from askbook.agent.guardrails import MAX_DRAFT, is_refusal
from askbook.agent.lead_ins import leads_in, states
from askbook.agent.likeness import Likeness
from askbook.agent.prompting import (
    Asked,
    first_input,
    instructions_for,
    repair_prompt,
    secrets_of,
)
from askbook.agent.response import Citation
from askbook.agent.rewriting import (
    Rewriting,
    needs_rewriting,
    rewriting_instructions,
    rewriting_prompt,
    usable,
)
from askbook.agent.scoring import place_units
from askbook.agent.sources import Sources
from askbook.agent.tools import RetrievalTool
from askbook.agent.verifying import Rejected, Verified, Verifier
from askbook.config import ModelSettings, OpenAISettings
from askbook.errors import AskbookError, ServiceUnavailable
from askbook.remote import Breaker
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judge
from askbook.retrieval.search import Searcher

if TYPE_CHECKING:
    from agents.models.interface import Model

    from askbook.agent import definition

log = structlog.get_logger(__name__)

REWRITING_SECONDS = 8.0
MAX_REPAIRED = 12
"""Sentences a model is asked to write again; a draft with more is not worth it."""
UNREACHABLE = "The model could not be reached; this answer quotes the book instead."
CUT_OFF = "The model's answer broke off; what is shown was checked."


@dataclass(slots=True)
class _Progress:
    """What became of the draft so far."""

    spending: Spending
    verified: int = 0
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    lead_in: Claim | None = None
    refused: bool = False
    length: int = 0
    sources: Sources | None = None
    tool: RetrievalTool | None = None
    quotes: list[Citation] = field(default_factory=list[Citation])

    def start_anew(self) -> None:
        """Forget what was written and not let out."""
        self.rejected.clear()
        self.lead_in = None
        self.refused = False

    def ended(
        self, *, declined: bool = False, failed: str | None = None, info: tuple[str, ...] = ()
    ) -> AnswerEnded:
        results = tuple(result for _, result in self.sources) if self.sources else ()
        return AnswerEnded(
            self.spending.tokens,
            len(self.rejected),
            declined,
            failed,
            info,
            results=results,
            searches=tuple(self.tool.found) if self.tool else (),
            prompt_tokens=self.spending.prompt_tokens,
        )


class Tutor:
    """Answers with a language model, under the checks of this package."""

    def __init__(
        self,
        settings: ModelSettings,
        openai: OpenAISettings,
        searcher: Searcher,
        judge: Judge | None,
        *,
        likeness: Likeness | None = None,
        breaker: Breaker | None = None,
        connect: "Callable[[], Model] | None" = None,
    ) -> None:
        self._settings = settings
        self._searcher = searcher
        self._judge = judge
        self._likeness = likeness
        self._breaker = breaker or Breaker(threshold=5, rest=30.0)
        self._drafter = Drafter(settings, openai, connect)

    @property
    def model_name(self) -> str:
        return self._settings.openai_model

    async def close(self) -> None:
        await self._drafter.close()

    async def complete(self, question: str, history: Sequence[Message]) -> Rewriting:
        """A follow-up made self-contained, as far as the model is any help."""
        if not needs_rewriting(question, history):
            return Rewriting()
        seconds = min(REWRITING_SECONDS, self._settings.answer_timeout)
        spending = Spending(time.monotonic() + seconds)
        boundary = _boundary()
        try:
            self._breaker.admit()
        except AskbookError:
            return Rewriting()
        try:
            reply = await self._drafter.complete(
                rewriting_instructions(boundary),
                rewriting_prompt(question, history, boundary),
                spending,
            )
        except ModelFailed as failure:
            log.warning("rewriting_failed", reason=str(failure), model=self.model_name)
            # A question can be searched as it is: whether the model is out, its answer will tell.
            self._breaker.abandoned()
            return Rewriting()
        except BaseException:
            self._breaker.abandoned()
            raise
        self._breaker.succeeded()
        text = usable(reply, question, history)
        return Rewriting(text, spending.tokens, spending.prompt_tokens)

    async def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]:
        """Sources, then each sentence as soon as it is checked, then how it ended."""
        progress = _Progress(Spending(time.monotonic() + self._settings.answer_timeout))
        try:
            self._breaker.admit()
        except AskbookError:
            yield AnswerEnded(failed=UNREACHABLE)
            return
        try:
            async with aclosing(self._attempt(asked, progress)) as events:
                async for event in events:
                    yield event
        except ModelFailed as failure:
            if failure.is_outage:
                self._breaker.failed(_outage(str(failure)))
            else:
                self._breaker.succeeded()
            yield self._broken_off(progress, str(failure))
        except BaseException:
            self._breaker.abandoned()
            raise
        else:
            self._breaker.succeeded()

    def _broken_off(self, progress: _Progress, why: str) -> AnswerEnded:
        log.warning("model_failed", reason=why, model=self.model_name, verified=progress.verified)
        if progress.verified:
            return progress.ended(info=(CUT_OFF,))
        return progress.ended(failed=UNREACHABLE)

    async def _attempt(self, asked: Asked, progress: _Progress) -> AsyncGenerator[AnswerEvent]:
        boundary = _boundary()
        sources = progress.sources = Sources(asked.book, asked.context.results)
        instructions = instructions_for(asked, boundary, self._settings.max_tool_calls)
        hidden = secrets_of(instructions, boundary)
        verifier = Verifier(sources, self._judge, asked.question, hidden, self._likeness)
        tool = progress.tool = RetrievalTool(
            self._searcher,
            asked.query,
            sources,
            max_calls=self._settings.max_tool_calls,
            boundary=boundary,
        )
        turn = await self._drafter.open_turn(tool, hidden)
        yield SourcesFound(sources.listed())
        given = first_input(asked, sources, boundary, self._settings.max_turns)
        cutter = ClaimCutter()
        draft = self._drafter.draft(instructions, given, turn, progress.spending)
        async with aclosing(draft) as pieces:
            async for piece in pieces:
                if isinstance(piece, Searching):
                    # What was written before a search was no answer yet.
                    cutter.drop()
                    verifier.start_anew()
                    progress.start_anew()
                elif isinstance(piece, Searched):
                    yield SourcesFound(sources.listed())
                else:
                    for claim in cutter.feed(piece):
                        async for event in self._judged(claim, verifier, asked, progress):
                            yield event
        for claim in cutter.finish():
            async for event in self._judged(claim, verifier, asked, progress):
                yield event
        if progress.rejected and not progress.refused:
            async for event in self._repaired(asked, sources, turn, boundary, progress):
                yield event
        for event in _other_sides(asked, sources, progress):
            yield event
        note = _removed_note(len(progress.rejected))
        yield progress.ended(declined=not progress.verified, info=note)

    async def _judged(
        self, claim: Claim, verifier: Verifier, asked: Asked, progress: _Progress
    ) -> AsyncIterator[AnswerEvent]:
        """Let a claim out if the book supports it; remember it if not."""
        progress.length += len(claim.text)
        if claim.kind == "heading" or progress.length > MAX_DRAFT:
            return
        if is_refusal(claim.text, asked.book.refusal):
            progress.refused = True
            return
        is_lead_in = claim.kind == "sentence" and leads_in(claim.text, asked.question)
        if is_lead_in and not states(claim.text, asked.question):
            progress.lead_in = claim
            return
        result = await verifier.verify(claim)
        if isinstance(result, Rejected):
            if claim.kind == "sentence":
                progress.lead_in = None
            # What a lead-in leads to can be read without it.
            if not is_lead_in:
                progress.rejected.append(result)
            return
        if progress.lead_in is not None and claim.kind in ("item", "code"):
            yield _sentence(Verified(progress.lead_in, ()), progress)
        progress.lead_in = None
        yield _sentence(result, progress)

    async def _repaired(
        self,
        asked: Asked,
        sources: Sources,
        turn: "definition.Turn",
        boundary: str,
        progress: _Progress,
    ) -> AsyncIterator[AnswerEvent]:
        """One attempt to have the refused sentences written again; what fails again stays out."""
        refused, progress.rejected = progress.rejected, []
        if len(refused) > MAX_REPAIRED:
            progress.rejected = refused
            return
        prompt = repair_prompt(asked, sources, boundary, refused)
        instructions = instructions_for(asked, boundary, 0)
        try:
            text = await self._drafter.rewrite(instructions, prompt, turn, progress.spending)
        except ModelFailed:
            progress.rejected = refused
            if not progress.verified:
                raise
            return
        verifier = Verifier(sources, self._judge, asked.question, turn.secrets, self._likeness)
        kept = 0
        for claim in cut_claims(text):
            if claim.kind == "heading" or is_refusal(claim.text, asked.book.refusal):
                continue
            result = await verifier.verify(claim)
            if isinstance(result, Verified):
                kept += 1
                yield _sentence(result, progress)
        progress.rejected = refused[min(kept, len(refused)) :]


def _boundary() -> str:
    """Marks data in one exchange; a text that was written before cannot contain it."""
    return f"BOOK-{secrets.token_hex(8)}"


def _sentence(verified: Verified, progress: _Progress) -> SentenceVerified:
    joint = verified.claim.joint
    if progress.verified == 0:
        joint = joint.lstrip()
    elif not joint:
        joint = " "
    progress.verified += 1
    progress.quotes += verified.citations
    return SentenceVerified(verified.text, joint, verified.citations)


def _other_sides(asked: Asked, sources: Sources, progress: _Progress) -> Iterator[SentenceVerified]:
    """What other chunks say against what the model told, quoted, where it was left out."""
    placed = place_units(asked.context)
    numbers = {result.chunk_id: number for number, result in sources}
    lessons = {result.chunk_id: result.chunk.metadata.parent_doc_id for _, result in sources}
    told = {(quote.chunk_id, quote.quote_start) for quote in progress.quotes}
    for quote in list(progress.quotes):
        other = opposing(quote.quote, lessons[quote.chunk_id], placed)
        if other is None or (other.result.chunk_id, other.unit.start) in told:
            continue
        told.add((other.result.chunk_id, other.unit.start))
        claim = Claim(other.unit.text, (), "\n\n", "sentence")
        citation = sources.cite(numbers[other.result.chunk_id], other.unit.start, other.unit.end)
        yield _sentence(Verified(claim, (citation,)), progress)


def _removed_note(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    noun, verb = ("sentence", "was") if count == 1 else ("sentences", "were")
    return (f"{count} {noun} {verb} removed: the book does not support them.",)


def _outage(why: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"The model did not answer: {why}.", "Check OPENAI_BASE_URL.")
