"""`/v1/…`: the book as a model that any OpenAI client can talk to."""

import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from askbook.access import Grant
from askbook.agent.events import SentenceVerified
from askbook.api.completions import (
    DONE,
    OPENAI,
    Completion,
    CompletionRequest,
    ModelCard,
    ModelList,
    Writing,
    in_openai_shape,
    openai_error,
    openai_refusals,
)
from askbook.api.dependencies import Caller, Requires, Running, bound
from askbook.api.errors import answer_error
from askbook.api.links import signed_turn
from askbook.api.sse import event_stream
from askbook.book import Book
from askbook.bootstrap import Askbook, Scope
from askbook.chat import TurnEnded, TurnEvent, response_of
from askbook.errors import AskbookError, NotFound

MODEL = "askbook"
log = structlog.get_logger(__name__)


class OpenAIRoute(APIRoute):
    """A route whose failures have OpenAI's shape, whoever raised them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_in_shape(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                return in_openai_shape(await answer_error(request, error))

        return handle_in_shape


router = APIRouter(
    prefix=OPENAI,
    tags=["openai"],
    route_class=OpenAIRoute,
    dependencies=[Requires("chat")],
    responses=openai_refusals(),
)

_EVENTS: dict[str, Any] = {
    "description": "The completion; with `stream`, its chunks as server-sent events.",
    "content": {"text/event-stream": {}},
}


@router.get("/models")
async def models(askbook: Running, caller: Caller) -> ModelList:
    """`askbook/<book_id>` for every book, and `askbook` for the default one."""
    return ModelList(data=await _cards(askbook, caller))


@router.get("/models/{model:path}", responses=openai_refusals(404))
async def model(model: str, askbook: Running, caller: Caller) -> ModelCard:
    """One of them."""
    for card in await _cards(askbook, caller):
        if card.id == model:
            return card
    raise await _unknown(askbook, caller, model)


@router.post(
    "/chat/completions",
    response_model=Completion,
    responses={200: _EVENTS, **openai_refusals(404, 413)},
)
async def chat_completions(
    body: CompletionRequest, request: Request, askbook: Running, caller: Caller
) -> Any:
    """Answer the last message from the book; the messages before it are what was said."""
    scope = bound(Scope(book_id=await _book_id(askbook, caller, body.model)), caller)
    options = body.stream_options
    writing = Writing(
        body.model, str(request.base_url), with_usage=bool(options and options.include_usage)
    )
    if body.stream:
        # What cannot begin fails with a status, before the stream begins.
        await askbook.check_question(body.question, scope)
        return event_stream(_events(_turn(askbook, body, scope, caller), writing))
    return writing.completion(await response_of(_turn(askbook, body, scope, caller)))


def _turn(
    askbook: Askbook, body: CompletionRequest, scope: Scope, caller: Grant
) -> AsyncGenerator[TurnEvent]:
    return signed_turn(askbook.stream(body.question, scope, history=body.history), caller)


async def _events(turn: AsyncGenerator[TurnEvent], writing: Writing) -> AsyncGenerator[bytes]:
    """One chunk per checked sentence; what the whole answer adds at its end comes as the last."""
    told = ""
    try:
        yield writing.opening()
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, SentenceVerified):
                    told += event.joint + event.text
                    yield writing.piece(event.joint + event.text, event.citations)
                elif isinstance(event, TurnEnded):
                    response = event.response
                    if rest := response.answer.removeprefix(told):
                        yield writing.piece(rest, response.citations)
                    yield writing.closing(response)
                    if writing.with_usage:
                        yield writing.usage(response)
        yield DONE
    except AskbookError as error:
        yield _failure(error.code, str(error))
    except Exception as error:
        log.error("stream_failed", exc_info=error)
        yield _failure("internal_error", "Something went wrong on our side. Try again.")


def _failure(code: str, message: str) -> bytes:
    return b"data: " + json.dumps(openai_error(500, code, message)).encode() + b"\n\n"


async def _books(askbook: Askbook, caller: Grant) -> list[Book]:
    shelved = [each.book for each in await askbook.library.shelf()]
    return [book for book in shelved if caller.admits(book.book_id)]


async def _cards(askbook: Askbook, caller: Grant) -> list[ModelCard]:
    books = await _books(askbook, caller)
    cards = [ModelCard(id=f"{MODEL}/{book.book_id}", title=book.title) for book in books]
    default = [ModelCard(id=MODEL, title=books[0].title)] if len(books) == 1 else []
    return [*default, *cards]


async def _book_id(askbook: Askbook, caller: Grant, model: str) -> str:
    """The book that a model's name stands for."""
    books = [book.book_id for book in await _books(askbook, caller)]
    name = model.removeprefix(f"{MODEL}/")
    if model == MODEL and len(books) == 1:
        return books[0]
    if name != model and name in books:
        return name
    raise await _unknown(askbook, caller, model)


async def _unknown(askbook: Askbook, caller: Grant, model: str) -> NotFound:
    known = ", ".join(card.id for card in await _cards(askbook, caller))
    return NotFound(
        f"There is no model {model!r}.",
        f"Known models: {known}." if known else "Ingest a book with `askbook ingest PATH`.",
    )
