"""The agent as the OpenAI Agents SDK knows it. Imported on the first answer a model gives: the SDK is slow to load."""

from dataclasses import dataclass
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OutputGuardrail,
    RunConfig,
    RunContextWrapper,
    TResponseInputItem,
    set_tracing_disabled,
)
from agents.models.interface import Model
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

from askbook.agent.guardrails import MAX_DRAFT, leaks
from askbook.agent.tools import TOOL_DESCRIPTION, TOOL_NAME, RetrievalTool, tool_schema
from askbook.config import ModelSettings as AnswerModelSettings
from askbook.config import OpenAISettings

RETRIES = 2
NO_KEY = "none"
"""Local servers take any key, but the client insists on one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the SDK's callbacks know of the exchange in flight."""

    tool: RetrievalTool
    secrets: tuple[str, ...]


def connect(model: AnswerModelSettings, openai: OpenAISettings) -> Model:
    """The configured model; the client retries busy and broken answers with backoff and jitter."""
    set_tracing_disabled(True)
    key = openai.openai_api_key.get_secret_value() if openai.openai_api_key else NO_KEY
    client = AsyncOpenAI(
        api_key=key,
        base_url=openai.openai_base_url,
        timeout=model.answer_timeout,
        max_retries=RETRIES,
    )
    return _BookModel(model=model.openai_model, openai_client=client)


class _BookModel(OpenAIChatCompletionsModel):
    """Closes the connections it holds."""

    async def close(self) -> None:
        await self._client.close()


def book_agent(model: Model, settings: AnswerModelSettings, instructions: str) -> Agent[Turn]:
    """The tutor with its one tool and its guardrails."""
    return Agent[Turn](
        name="tutor",
        instructions=instructions,
        model=model,
        model_settings=_model_settings(settings, with_tools=True),
        tools=[_retrieval_tool()],
        input_guardrails=[
            InputGuardrail(guardrail_function=_was_retrieved, run_in_parallel=False),
        ],
        output_guardrails=[OutputGuardrail(guardrail_function=_keeps_secrets)],
    )


def repair_agent(model: Model, settings: AnswerModelSettings, instructions: str) -> Agent[Turn]:
    """The same tutor without tools, for writing refused sentences again."""
    return Agent[Turn](
        name="tutor-repair",
        instructions=instructions,
        model=model,
        model_settings=_model_settings(settings, with_tools=False),
        output_guardrails=[OutputGuardrail(guardrail_function=_keeps_secrets)],
    )


def rewriting_agent(model: Model, settings: AnswerModelSettings, instructions: str) -> Agent[None]:
    """Makes a question complete; what it writes is searched for and never shown."""
    return Agent[None](
        name="tutor-rewriting",
        instructions=instructions,
        model=model,
        model_settings=_model_settings(settings, with_tools=False),
    )


def run_config() -> RunConfig:
    """No tracing, and a call to an unknown tool is the model's problem."""
    return RunConfig(
        tracing_disabled=True,
        trace_include_sensitive_data=False,
        tool_not_found_behavior="return_error_to_model",
    )


def _model_settings(settings: AnswerModelSettings, *, with_tools: bool) -> ModelSettings:
    return ModelSettings(
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        parallel_tool_calls=False if with_tools else None,
        include_usage=True,
    )


def _retrieval_tool() -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        turn: Turn = context.context
        return await turn.tool.invoke(arguments)

    def is_enabled(context: RunContextWrapper[Any], _agent: Any) -> bool:
        turn: Turn = context.context
        return not turn.tool.is_exhausted

    return FunctionTool(
        name=TOOL_NAME,
        description=TOOL_DESCRIPTION,
        params_json_schema=tool_schema(),
        on_invoke_tool=invoke,
        strict_json_schema=False,
        is_enabled=is_enabled,
    )


def _was_retrieved(
    _context: RunContextWrapper[Turn],
    _agent: Agent[Any],
    given: str | list[TResponseInputItem],
) -> GuardrailFunctionOutput:
    """Retrieval comes before generation, always."""
    kinds = [] if isinstance(given, str) else [item.get("type") for item in given]
    missing = "function_call_output" not in kinds
    return GuardrailFunctionOutput("retrieved" if not missing else "no retrieval", missing)


def _keeps_secrets(
    context: RunContextWrapper[Turn], _agent: Agent[Any], output: Any
) -> GuardrailFunctionOutput:
    """An answer neither shows what only the model was told nor goes on without end."""
    text = str(output)
    tripped = leaks(text, context.context.secrets) or len(text) > MAX_DRAFT
    return GuardrailFunctionOutput("leak" if tripped else "fine", tripped)
