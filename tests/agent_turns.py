"""Turns with a scripted model over a few passages made by hand."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from agents.testing import ScriptedModel, assistant_message, function_call

from askbook.agent.likeness import Likeness
from askbook.agent.run import Tutor
from askbook.book import Book
from askbook.chat import ChatTurns, TurnEvent
from askbook.config import ConfidenceSettings, ModelSettings, OpenAISettings
from askbook.remote import Breaker
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judge
from askbook.retrieval.query import SearchQuery, SearchResult
from sample_chunks import make_result

BOOK = Book("robots", "Robots")
QUESTION = "How much can the arm lift and how fast is its controller?"
QUERY = SearchQuery(text=QUESTION, book_id="robots")

ARM = (
    "The Falcon arm lifts at most 5 kg at full reach. Its reach is 850 mm. "
    "The arm does not need compressed air. Call `arm.home()` before the first move."
)
CONTROLLER = (
    "The controller of the arm runs at 500 Hz. It sends joint positions over EtherCAT. "
    "A watchdog stops the arm after 20 ms without a message."
)
GRIPPER = "The gripper closes in 0.4 seconds. It was designed by Ada Moreno in Turin."
PASSAGES = (ARM, CONTROLLER)


class Shelf:
    """A searcher that knows some passages: the first ones for the question, all for any other search."""

    def __init__(
        self, first: Sequence[str] = PASSAGES, later: Sequence[str] = (GRIPPER,), **given: Any
    ) -> None:
        self._first, self._later, self._given = first, later, given
        self.queries: list[SearchQuery] = []
        self.readings: list[FollowUp | None] = []

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        texts = self._first if query.text == QUESTION else self._later
        self.queries.append(query)
        self.readings.append(reading)
        return RetrievalContext(
            query=query.text, results=results_of(texts, **self._given), query_time_ms=1.0
        )


def results_of(texts: Sequence[str], **given: Any) -> tuple[SearchResult, ...]:
    return tuple(
        make_result(text, rank=rank, lesson=rank, **given) for rank, text in enumerate(texts, 1)
    )


def turns_with(
    script: Sequence[Any] | ScriptedModel,
    *,
    shelf: Shelf | None = None,
    probability: float = 0.95,
    breaker: Breaker | None = None,
    likeness: Likeness | None = None,
    judge: Judge | None = None,
    **settings: Any,
) -> tuple[ChatTurns, ScriptedModel]:
    """Turns whose model says what the script says; strings are whole answers."""
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(map(_step, script))
    searcher = cast(Any, shelf or Shelf())
    tutor = Tutor(
        ModelSettings(**settings),
        OpenAISettings(),  # pyright: ignore[reportCallIssue]  # from the environment
        searcher,
        judge,
        likeness=likeness,
        breaker=breaker,
        connect=lambda: model,
    )
    return _turns(searcher, tutor, probability), model


@asynccontextmanager
async def turns_over(
    url: str, *, shelf: Any = None, breaker: Breaker | None = None, **settings: Any
) -> AsyncGenerator[ChatTurns]:
    """Turns whose model is a server at `url`."""
    searcher = cast(Any, shelf or Shelf())
    openai = OpenAISettings(openai_base_url=url)  # pyright: ignore[reportCallIssue]  # by field name
    tutor = Tutor(ModelSettings(**settings), openai, searcher, None, breaker=breaker)
    try:
        yield _turns(searcher, tutor, 0.95)
    finally:
        await tutor.close()


def _turns(searcher: Any, tutor: Tutor, probability: float) -> ChatTurns:
    calibration = Calibration(fingerprint=None, features=(), weights=(), intercept=0.0, prior=0.5)
    confidence = ConfidenceSettings(answerable_prior=probability)  # pyright: ignore[reportCallIssue]  # by field name
    return ChatTurns(searcher, None, confidence, lambda _: calibration, tutor)


def search_for(query: str, call: str = "call_1", **more: Any) -> list[Any]:
    """A step in which the model asks for another search."""
    return [function_call("retrieve_documentation", {"query": query, **more}, call_id=call)]


async def events_of(turns: ChatTurns, query: SearchQuery = QUERY, **given: Any) -> list[TurnEvent]:
    return [event async for event in turns.stream(query, BOOK, **given)]


def _step(item: Any) -> Any:
    return [assistant_message(item)] if isinstance(item, str) else item
