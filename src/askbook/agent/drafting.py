"""Calls the model through the SDK: its text as it comes, its searches, its failures in our words."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from askbook.agent.guardrails import MAX_DRAFT
from askbook.config import ModelSettings, OpenAISettings

if TYPE_CHECKING:
    from agents import RunResultStreaming
    from agents.models.interface import Model

    from askbook.agent import definition
    from askbook.agent.tools import RetrievalTool

Piece: TypeAlias = "str | Searching | Searched"


@dataclass(frozen=True, slots=True)
class Searching:
    """The model asked for another search: what it wrote before was no answer."""


@dataclass(frozen=True, slots=True)
class Searched:
    """Another search is done."""


class ModelFailed(Exception):
    """The model gave no usable answer; `is_outage` when it was not there at all."""

    def __init__(self, message: str, *, is_outage: bool) -> None:
        super().__init__(message)
        self.is_outage = is_outage


@dataclass(slots=True)
class Spending:
    """What one turn may take in time, and what it took in tokens."""

    deadline: float
    tokens: int = 0
    prompt_tokens: int = 0
    """Those of `tokens` that the model read."""

    def add(self, usage: Any) -> None:
        """Count what a run of the SDK used."""
        read = int(usage.input_tokens or 0)
        self.tokens += read + int(usage.output_tokens or 0)
        self.prompt_tokens += read

    @property
    def seconds_left(self) -> float:
        return max(0.001, self.deadline - time.monotonic())


class Drafter:
    """Has the configured model write; one for all turns."""

    def __init__(
        self,
        settings: ModelSettings,
        openai: OpenAISettings,
        connect: "Callable[[], Model] | None" = None,
    ) -> None:
        self._settings = settings
        self._openai = openai
        self._connect = connect
        self._model: Model | None = None

    async def close(self) -> None:
        if self._model is not None and self._connect is None:
            await self._model.close()

    async def open_turn(self, tool: "RetrievalTool", secrets: tuple[str, ...]) -> "definition.Turn":
        """What the SDK's callbacks know of the exchange that begins."""
        sdk = await self._sdk()
        return sdk.Turn(tool, secrets)

    async def draft(
        self, instructions: str, given: list[Any], turn: "definition.Turn", spending: Spending
    ) -> AsyncGenerator[Piece]:
        """The model's text as it comes, with its searches in between."""
        from agents import Runner

        sdk = await self._sdk()
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
        timer = asyncio.get_running_loop().call_later(spending.seconds_left, watch.expire)
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
                        yield Searching()
                    elif event.name == "tool_output":
                        yield Searched()
        except Exception as error:
            raise _translated(error) from error
        finally:
            timer.cancel()
            spending.add(result.context_wrapper.usage)
            await _stopped(result)
        if watch.has_expired:
            raise ModelFailed("no answer in time", is_outage=True)

    async def rewrite(
        self, instructions: str, prompt: str, turn: "definition.Turn", spending: Spending
    ) -> str:
        """A second text without searches."""
        sdk = await self._sdk()
        agent = sdk.repair_agent(self._model, self._settings, instructions)
        return await self._written(agent, prompt, turn, spending)

    async def complete(self, instructions: str, prompt: str, spending: Spending) -> str:
        """A question made complete, before anything is searched."""
        sdk = await self._sdk()
        agent = sdk.rewriting_agent(self._model, self._settings, instructions)
        return await self._written(agent, prompt, None, spending)

    async def _written(
        self, agent: Any, prompt: str, turn: "definition.Turn | None", spending: Spending
    ) -> str:
        from agents import Runner

        sdk = await self._sdk()
        try:
            run = Runner.run(agent, prompt, context=turn, max_turns=1, run_config=sdk.run_config())
            result = await asyncio.wait_for(run, spending.seconds_left)
        except Exception as error:
            raise _translated(error) from error
        spending.add(result.context_wrapper.usage)
        return str(result.final_output)[:MAX_DRAFT]

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
