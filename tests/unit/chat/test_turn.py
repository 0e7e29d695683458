"""One exchange: its states, and how it ends."""

import itertools
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast, get_args

import pytest

from askbook.agent.events import AnswerEnded, AnswerEvent
from askbook.agent.prompting import Asked
from askbook.agent.rewriting import Rewriting
from askbook.book import Book
from askbook.chat import ChatTurns, Turn, TurnState
from askbook.config import ConfidenceSettings
from askbook.errors import IllegalTransition, ServiceUnavailable
from askbook.retrieval.calibration import Calibration
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.followups import FollowUp
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judgement
from askbook.retrieval.query import SearchQuery
from sample_chunks import make_context

STATES: tuple[TurnState, ...] = get_args(TurnState)
LEGAL: dict[str, set[str]] = {
    "pending": {"retrieving", "error"},
    "retrieving": {"generating", "no_results", "error"},
    "generating": {"completed", "low_confidence", "error"},
    "completed": set(),
    "low_confidence": set(),
    "no_results": set(),
    "error": set(),
}
BOOK = Book("robots", "Robots")
QUERY = SearchQuery(text="How do nodes exchange messages?", book_id="robots")


def turn_in(state: TurnState) -> Turn:
    turn = Turn()
    turn.state = state
    return turn


def test_a_turn_begins_pending_and_knows_all_states() -> None:
    assert Turn().state == "pending"
    assert set(STATES) == set(LEGAL)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATES, STATES)))
def test_only_the_documented_steps_are_allowed(before: TurnState, after: TurnState) -> None:
    turn = turn_in(before)
    if after in LEGAL[before]:
        turn.to(after)
        assert turn.state == after
        return
    with pytest.raises(IllegalTransition, match=f"from {before} to {after}"):
        turn.to(after)
    assert turn.state == before


@pytest.mark.parametrize("state", STATES)
def test_a_turn_is_over_where_nothing_follows(state: TurnState) -> None:
    assert turn_in(state).is_over == (not LEGAL[state])


# --- Answering, with a searcher that found what the test says ---


class Found:
    """A searcher with one answer, or one failure."""

    def __init__(self, found: RetrievalContext | Exception) -> None:
        self._found = found

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Counting:
    """A judge that only counts how often it is asked."""

    asked = 0

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        self.asked += 1
        return [Judgement(1.0, 1.0, 0, 5, 1.0) for _ in passages]

    async def close(self) -> None: ...


class Away:
    """A model that cannot be reached: what it would have said is quoted instead."""

    model_name = "away"

    async def complete(self, question: str, history: Sequence[Message]) -> Rewriting:
        return Rewriting()

    async def answer(self, asked: Asked) -> AsyncGenerator[AnswerEvent]:
        yield AnswerEnded(failed="The model is away.")

    async def close(self) -> None: ...


def turns(
    found: RetrievalContext | Exception,
    probability: float,
    judge: Any = None,
    tutor: Away | None = None,
) -> ChatTurns:
    calibration = Calibration(fingerprint=None, features=(), weights=(), intercept=0.0, prior=0.5)
    settings = ConfidenceSettings(answerable_prior=probability)  # pyright: ignore[reportCallIssue]  # by field name
    return ChatTurns(cast(Any, Found(found)), judge, settings, lambda _: calibration, tutor)


async def test_a_confident_turn_is_completed() -> None:
    response = await turns(make_context((0.9, 0.8)), 0.9).answer(QUERY, BOOK)
    assert (response.state, response.should_answer) == ("completed", True)
    assert response.citations
    assert response.retrieval_count == 2
    assert BOOK.disclaimer not in response.answer


async def test_a_doubtful_turn_answers_with_the_disclaimer() -> None:
    response = await turns(make_context((0.9, 0.8)), 0.65).answer(QUERY, BOOK)
    assert (response.state, response.confidence_level) == ("low_confidence", "low")
    assert response.should_answer is True
    assert response.answer.endswith(BOOK.disclaimer)
    assert response.citations


@pytest.mark.parametrize("scores", [(), (0.9, 0.8)])
async def test_a_turn_without_grounds_declines_and_asks_no_answerer(
    scores: tuple[float, ...],
) -> None:
    judge = Counting()
    response = await turns(make_context(scores), 0.2, judge).answer(QUERY, BOOK)
    assert (response.state, response.should_answer) == ("no_results", False)
    assert response.answer == BOOK.refusal
    assert (response.citations, response.sources) == ((), ())
    assert response.retrieval_count == len(scores)
    assert judge.asked == 0


async def test_chunks_without_a_quotable_passage_are_no_answer() -> None:
    found = make_context((0.9,), texts=["# Only a heading"])
    response = await turns(found, 0.9).answer(QUERY, BOOK)
    assert (response.answer, response.should_answer) == (BOOK.refusal, False)
    assert response.confidence_level == "insufficient"
    assert response.citations == ()


async def test_words_that_point_at_nothing_are_told_unless_a_model_may_know() -> None:
    pointing = SearchQuery(text="Tell me about the second one.", book_id="robots")
    history = (
        Message(role="user", content="How do nodes talk?"),
        Message(role="assistant", content="In many ways. [1]"),
    )
    found = make_context((0.9,), query=pointing.text)
    response = await turns(found, 0.9).answer(pointing, BOOK, history=history)
    assert (response.state, response.should_answer) == ("no_results", False)
    assert response.answer.startswith("It is not clear what “the second one” is")
    assert (response.confidence, response.nearest) == (0.0, ())
    with_model = turns(found, 0.9, tutor=Away())
    assert (await with_model.answer(pointing, BOOK, history=history)).should_answer is True
    thanks = SearchQuery(text="ok, thanks", book_id="robots")
    assert (await turns(found, 0.9).answer(thanks, BOOK)).answer.startswith("Nothing was asked")
    for nothing in (thanks, pointing):
        # Nothing was asked that the book lacks.
        answer = (await turns(found, 0.9).answer(nothing, BOOK)).answer
        assert BOOK.refusal not in answer
    # Without anything said before there is nothing a model could know.
    assert (await with_model.answer(pointing, BOOK)).should_answer is False


async def test_a_failure_reaches_the_caller() -> None:
    with pytest.raises(ServiceUnavailable, match="gone"):
        await turns(ServiceUnavailable("gone"), 0.9).answer(QUERY, BOOK)


async def test_times_are_told() -> None:
    response = await turns(make_context((0.9,)), 0.9).answer(QUERY, BOOK)
    assert response.retrieval_time_ms == 1.5
    assert 0 <= response.generation_time_ms <= response.total_time_ms
