"""Answers in the shape of OpenAI's chat completions: bodies, events, links, errors."""

import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urljoin

from fastapi.responses import JSONResponse, Response
from fastapi.sse import format_sse_event
from pydantic import BaseModel, ConfigDict, Field, field_validator

from askbook.agent.response import AgentResponse, Citation
from askbook.api.schemas import CitationBody
from askbook.retrieval.history import Message

DONE = format_sse_event(data_str="[DONE]")
_MARK = re.compile(r"(?<![\\\w\]])((?:\[\d{1,3}\])+)(?!\()")
_UNLINKABLE = {"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E"}
OPENAI = "/v1"
"""Below it answers have OpenAI's shape, refusals too."""


class _Lenient(BaseModel):
    """Clients send many settings of their models; what a book does not have is left unread."""

    model_config = ConfigDict(extra="ignore")


# A length is always checked on whole characters: halves of them are refused here, and nowhere later.
Text: TypeAlias = Annotated[str, Field(max_length=1_000_000)]


class TextPart(_Lenient):
    """A part of a message; other kinds than text are refused."""

    type: Literal["text"]
    text: Text


Content: TypeAlias = Annotated[Text | list[TextPart] | None, Field(union_mode="left_to_right")]


class CompletionMessage(_Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or ())


class StreamOptions(_Lenient):
    include_usage: bool = False


class CompletionRequest(_Lenient):
    """A conversation whose last message is the question."""

    model: str = Field(min_length=1, max_length=300)
    messages: list[CompletionMessage] = Field(min_length=1, max_length=2000)
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1, le=1, description="one answer is given")

    @field_validator("messages")
    @classmethod
    def _asks(cls, value: list[CompletionMessage]) -> list[CompletionMessage]:
        if value[-1].role != "user" or not value[-1].text.strip():
            raise ValueError("the last message must be the user's question")
        return value

    @property
    def question(self) -> str:
        return self.messages[-1].text.strip()

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said before. A client's instructions are nobody's words here: they are left out."""
        return tuple(
            Message(role=message.role, content=message.text)
            for message in self.messages[:-1]
            if message.role in ("user", "assistant") and message.text.strip()
        )


class Usage(BaseModel):
    """What the language model took, as its server counted; nothing when the book was quoted."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int

    @classmethod
    def of(cls, response: AgentResponse) -> "Usage":
        used, read = response.tokens_used, response.prompt_tokens
        return cls(prompt_tokens=read, completion_tokens=used - read, total_tokens=used)


class AnswerMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class AnswerChoice(BaseModel):
    index: Literal[0] = 0
    message: AnswerMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class Completion(BaseModel):
    """An answer; `citations` and `askbook` are more than OpenAI's own fields."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[AnswerChoice]
    usage: Usage
    citations: list[CitationBody]
    askbook: dict[str, Any]


class ModelCard(BaseModel):
    """A book, as a model one can talk to."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "askbook"
    title: str


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]


@dataclass(frozen=True, slots=True)
class Writing:
    """One answer on its way to one client."""

    model: str
    base_url: str
    with_usage: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def completion(self, response: AgentResponse) -> Completion:
        text = linked(response.answer, response.citations, self.base_url)
        return Completion(
            id=self.id,
            created=self.created,
            model=self.model,
            choices=[AnswerChoice(message=AnswerMessage(content=text))],
            usage=Usage.of(response),
            **self._more(response),
        )

    def opening(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str, citations: Sequence[Citation] = ()) -> bytes:
        return self._chunk({"content": linked(text, citations, self.base_url)})

    def closing(self, response: AgentResponse) -> bytes:
        return self._chunk({}, finish_reason="stop", **self._more(response))

    def usage(self, response: AgentResponse) -> bytes:
        """The event a client asks for with `include_usage`."""
        return self._event({"choices": [], "usage": Usage.of(response).model_dump()})

    def _chunk(
        self, delta: Mapping[str, Any], *, finish_reason: str | None = None, **more: Any
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        body: dict[str, Any] = {"choices": [choice], **more}
        if "citations" in body:
            body["citations"] = [citation.model_dump() for citation in body["citations"]]
        if self.with_usage:
            body["usage"] = None
        return self._event(body)

    def _event(self, body: Mapping[str, Any]) -> bytes:
        whole = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            **body,
        }
        return format_sse_event(data_str=json.dumps(whole, ensure_ascii=False))

    def _more(self, response: AgentResponse) -> dict[str, Any]:
        citations = [CitationBody.of(citation) for citation in response.citations]
        return {
            "citations": [
                body.model_copy(update={"url": absolute(body.url, self.base_url)})
                for body in citations
            ],
            "askbook": {
                "book_id": response.book_id,
                "should_answer": response.should_answer,
                "confidence": response.confidence,
                "confidence_level": response.confidence_level,
                "state": response.state,
                "info": list(response.info),
            },
        }


def linked(text: str, citations: Sequence[Citation], base_url: str) -> str:
    """The text with every `[n]` that is cited as a Markdown link; code stays as it is."""
    urls = {citation.n: absolute(citation.url, base_url) for citation in citations}

    def link(mark: re.Match[str]) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", mark.group())]
        return "".join(f"[{n}]({urls[n]})" if n in urls else f"[{n}]" for n in numbers)

    pieces = re.split(r"(```.*?```|~~~.*?~~~|`[^`\n]+`)", text, flags=re.DOTALL)
    return "".join(
        piece if index % 2 else _MARK.sub(link, piece) for index, piece in enumerate(pieces)
    )


def absolute(url: str, base_url: str) -> str:
    """An address a client elsewhere can open, safe inside a Markdown link."""
    whole = urljoin(base_url, url)
    return "".join(_UNLINKABLE.get(character, character) for character in whole)


class OpenAIError(BaseModel):
    """What a failure looks like to OpenAI's clients."""

    error: dict[str, str | None]


def openai_refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The failures of a route, for its description."""
    shape = {"model": OpenAIError}
    failures: dict[int | str, dict[str, Any]] = {
        status: {**shape, "description": "In OpenAI's shape."}
        for status in sorted({400, 401, 403, 429, 503, *statuses})
    }
    # Named so that the description has no 422: what is not valid is a 400 here.
    return {**failures, "default": {**shape, "description": "Any other failure."}}


def shaped(path: str, response: Response) -> Response:
    """An error answer as who asks for this path expects it."""
    return in_openai_shape(response) if path.startswith(f"{OPENAI}/") else response


def in_openai_shape(response: Response) -> JSONResponse:
    """One of our error answers in OpenAI's shape, its status and headers kept."""
    body: dict[str, Any] = json.loads(bytes(response.body))
    # Their clients know 400 where ours know 422.
    status = 400 if response.status_code == 422 else response.status_code
    code = "model_not_found" if body["error"] == "not_found" else body["error"]
    message = f"{body['message']} {body['suggestion']}".strip()
    kept = {
        name: value
        for name, value in response.headers.items()
        if name not in ("content-length", "content-type")
    }
    return JSONResponse(openai_error(status, code, message), status, kept)


def openai_error(status: int, code: str, message: str) -> dict[str, Any]:
    """An error as OpenAI's clients read it."""
    kind = "invalid_request_error"
    if status >= 500:
        kind = "server_error"
    elif status == 429:
        kind = "rate_limit_error"
    elif status == 401:
        kind = "authentication_error"
    elif status == 403:
        kind = "permission_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
