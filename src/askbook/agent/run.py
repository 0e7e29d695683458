"""Runs the model on one question and lets out only what the book supports."""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import structlog

from askbook.agent.claims import Claim, ClaimCutter, cut_claims
from askbook.agent.events import AnswerEnded, AnswerEvent, SentenceVerified, SourcesFound
from askbook.agent.guardrails import MAX_DRAFT, is_refusal
from askbook.agent.prompting import (
    Asked,
    first_input,
    instructions_for,
    repair_prompt,
    secrets_of,
)
from askbook.agent.sources import Sources
from askbook.agent.tools import RetrievalTool
from askbook.agent.verifying import Rejected, Verified, Verifier
from askbook.config import ModelSettings, OpenAISettings
from askbook.errors import AskbookError, ServiceUnavailable
from askbook.remote import Breaker
from askbook.retrieval.judging import Judge
from askbook.retrieval.search import Searcher
from askbook.retrieval.terms import content_terms

if TYPE_CHECKING:
    from agents import RunResultStreaming
    from agents.models.interface import Model

    from askbook.agent import definition

log = structlog.get_logger(__name__)

MAX_REPAIRED = 12
"""Sentences a model is asked to write again; a draft with more is not worth it."""
UNREACHABLE = "The model could not be reached; this answer quotes the book instead."
CUT_OFF = "The model's answer broke off; what is shown was checked."
GENERIC = frozenset(
    "step way follow example below answer option reason part point key main include list summary "
    "short detail thing case order".split()
)
Piece: TypeAlias = "str | _Searching | _Searched"


@dataclass(frozen=True, slots=True)
class _Searching:
    """The model asked for another search: what it wrote before was no answer."""


@dataclass(frozen=True, slots=True)
class _Searched:
    """Another search is done."""


class ModelFailed(Exception):
    """The model gave no usable answer; `is_outage` when it was not there at all."""

    def __init__(self, message: str, *, is_outage: bool) -> None:
        super().__init__(message)
        self.is_outage = is_outage


@dataclass(slots=True)
class _Progress:
    """What became of the draft so far."""

    verified: int = 0
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    lead_in: Claim | None = None
    refused: bool = False
    tokens: int = 0
    length: int = 0
    deadline: float = 0.0
    sources: Sources | None = None

    @property
    def seconds_left(self) -> float:
        return max(0.001, self.deadline - time.monotonic())

    def ended(
        self, *, declined: bool = False, failed: str | None = None, info: tuple[str, ...] = ()
    ) -> AnswerEnded:
        results = tuple(result for _, result in self.sources) if self.sources else ()
        return AnswerEnded(self.tokens, len(self.rejected), declined, failed, info, results=results)


class Tutor:
    """Answers with a language model, under the checks of this package."""

    def __init__(
        self,
        settings: ModelSettings,
        openai: OpenAISettings,
        searcher: Searcher,
        judge: Judge | None,
        *,
        breaker: Breaker | None = None,
        connect: "Callable[[], Model] | None" = None,
    ) -> None:
        self._settings = settings
        self._openai = openai
        self._searcher = searcher
        self._judge = judge
        self._breaker = breaker or Breaker(threshold=5, rest=30.0)
        self._connect = connect
        self._model: Model | None = None

    @property
    def model_name(self) -> str:
        return self._settings.openai_model

    async def close(self) -> None:
        if self._model is not None and self._connect is None:
            await self._model.close()

    async def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]:
        """Sources, then each sentence as soon as it is checked, then how it ended."""
        progress = _Progress(deadline=time.monotonic() + self._settings.answer_timeout)
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
        boundary = f"BOOK-{secrets.token_hex(8)}"
        sources = progress.sources = Sources(asked.book, asked.context.results)
        sdk = await self._sdk()
        instructions = instructions_for(asked, boundary, self._settings.max_tool_calls)
        hidden = secrets_of(instructions, boundary)
        verifier = Verifier(sources, self._judge, asked.question, hidden)
        tool = RetrievalTool(
            self._searcher,
            asked.query,
            sources,
            max_calls=self._settings.max_tool_calls,
            boundary=boundary,
        )
        turn = sdk.Turn(tool, hidden)
        yield SourcesFound(sources.listed())
        given = first_input(asked, sources, boundary)
        cutter = ClaimCutter()
        async with aclosing(self._draft(sdk, instructions, given, turn, progress)) as pieces:
            async for piece in pieces:
                if isinstance(piece, _Searching):
                    # What was written before a search was no answer yet.
                    cutter.drop()
                    progress.rejected.clear()
                elif isinstance(piece, _Searched):
                    yield SourcesFound(sources.listed())
                else:
                    for claim in cutter.feed(piece):
                        async for event in self._judged(claim, verifier, asked, progress):
                            yield event
        for claim in cutter.finish():
            async for event in self._judged(claim, verifier, asked, progress):
                yield event
        if progress.rejected and not progress.refused:
            async for event in self._repaired(sdk, asked, sources, turn, boundary, progress):
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
        if _leads_in(claim, asked.question):
            progress.lead_in = claim
            return
        result = await verifier.verify(claim)
        if isinstance(result, Rejected):
            progress.rejected.append(result)
            return
        if progress.lead_in is not None and claim.kind in ("item", "code"):
            yield _sentence(Verified(progress.lead_in, ()), progress)
        progress.lead_in = None
        yield _sentence(result, progress)

    async def _repaired(
        self,
        sdk: Any,
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
            text = await self._rewritten(sdk, instructions, prompt, turn, progress)
        except ModelFailed:
            progress.rejected = refused
            if not progress.verified:
                raise
            return
        verifier = Verifier(sources, self._judge, asked.question, turn.secrets)
        kept = 0
        for claim in cut_claims(text):
            if claim.kind == "heading" or is_refusal(claim.text, asked.book.refusal):
                continue
            result = await verifier.verify(claim)
            if isinstance(result, Verified):
                kept += 1
                yield _sentence(result, progress)
        progress.rejected = refused[min(kept, len(refused)) :]

    # --- The SDK ---

    async def _sdk(self) -> Any:
        """The SDK's side of this package, loaded off the event loop on first use."""

        def load() -> Any:
            from askbook.agent import definition

            return definition

        sdk = await asyncio.to_thread(load)
        if self._model is None:
            connect = self._connect or (lambda: sdk.connect(self._settings, self._openai))
            self._model = connect()
        return sdk

    async def _draft(
        self,
        sdk: Any,
        instructions: str,
        given: list[Any],
        turn: "definition.Turn",
        progress: _Progress,
    ) -> AsyncGenerator[Piece]:
        """The model's text as it comes, with its searches in between."""
        from agents import Runner

        agent = sdk.book_agent(self._model, self._settings, instructions)
        result = Runner.run_streamed(
            agent,
            given,
            context=turn,
            max_turns=self._settings.max_tool_calls + 2,
            run_config=sdk.run_config(),
        )
        written = 0
        # A timer, because the consumer of this generator may change tasks between its items.
        watch = _Watch(result)
        timer = asyncio.get_running_loop().call_later(progress.seconds_left, watch.expire)
        try:
            async for event in result.stream_events():
                if event.type == "raw_response_event":
                    if event.data.type == "response.output_text.delta":
                        written += len(event.data.delta)
                        if written > MAX_DRAFT:
                            raise ModelFailed("the answer went on without end", is_outage=False)
                        yield event.data.delta
                elif event.type == "run_item_stream_event":
                    if event.name == "tool_called":
                        yield _Searching()
                    elif event.name == "tool_output":
                        yield _Searched()
        except Exception as error:
            raise _translated(error) from error
        finally:
            timer.cancel()
            progress.tokens += _tokens(result.context_wrapper.usage)
            await _stopped(result)
        if watch.has_expired:
            raise ModelFailed("no answer in time", is_outage=True)

    async def _rewritten(
        self,
        sdk: Any,
        instructions: str,
        prompt: str,
        turn: "definition.Turn",
        progress: _Progress,
    ) -> str:
        from agents import Runner

        agent = sdk.repair_agent(self._model, self._settings, instructions)
        try:
            run = Runner.run(agent, prompt, context=turn, max_turns=1, run_config=sdk.run_config())
            result = await asyncio.wait_for(run, progress.seconds_left)
        except Exception as error:
            raise _translated(error) from error
        progress.tokens += _tokens(result.context_wrapper.usage)
        return str(result.final_output)[:MAX_DRAFT]


def _sentence(verified: Verified, progress: _Progress) -> SentenceVerified:
    joint = verified.claim.joint
    if progress.verified == 0:
        joint = joint.lstrip()
    elif not joint:
        joint = " "
    progress.verified += 1
    return SentenceVerified(verified.text, joint, verified.citations)


def _leads_in(claim: Claim, question: str) -> bool:
    """A line such as “The steps are:” states nothing of its own."""
    if claim.kind != "sentence" or not claim.text.endswith(":") or len(claim.text) > 120:
        return False
    known = {*content_terms(question), *GENERIC}
    return all(term in known for term in content_terms(claim.text)) and not re.search(
        r"\d", claim.text
    )


def _removed_note(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    noun, verb = ("sentence", "was") if count == 1 else ("sentences", "were")
    return (f"{count} {noun} {verb} removed: the book does not support them.",)


def _tokens(usage: Any) -> int:
    return int(usage.input_tokens or 0) + int(usage.output_tokens or 0)


def _outage(why: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"The model did not answer: {why}.", "Check OPENAI_BASE_URL.")


def _translated(error: Exception) -> ModelFailed:
    """What an exception of the SDK or its client means for the reader."""
    from agents.exceptions import AgentsException
    from openai import APIStatusError, OpenAIError

    if isinstance(error, ModelFailed):
        return error
    name = type(error).__name__
    if isinstance(error, AgentsException):
        return ModelFailed(name, is_outage=False)
    if isinstance(error, APIStatusError):
        return ModelFailed(f"{name} {error.status_code}", is_outage=True)
    if isinstance(error, OpenAIError):
        return ModelFailed(name, is_outage=True)
    return ModelFailed(name, is_outage=True)


class _Watch:
    """Ends a run whose time is up."""

    def __init__(self, result: "RunResultStreaming") -> None:
        self._result = result
        self.has_expired = False

    def expire(self) -> None:
        self.has_expired = True
        self._result.cancel()


async def _stopped(result: "RunResultStreaming") -> None:
    """End a run that is still going: a reader who left, or an answer that is over."""
    task = result.run_loop_task
    if task is None or task.done():
        return
    result.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=1.0)
