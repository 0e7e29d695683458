"""Messages of a dialogue."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from askbook.errors import InvalidInput
from askbook.retrieval.history import Message, newest_that_fit


@pytest.mark.spec("A1", "A3", "A6", "A8", "D36")
@pytest.mark.parametrize(
    "given",
    [
        {"role": "robot", "content": "x"},
        {"role": "user", "content": " "},
        {"role": "user", "content": 7},
        {"role": "user", "content": "x", "tool_calls": ({},)},
        {"role": "assistant", "content": "x", "tool_call_id": "c"},
        {"role": "user", "content": "x", "confidence": 0.5},
    ],
)
def test_an_invalid_message_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Message(**given)


@pytest.mark.spec("A2", "A4", "A5", "A7", "A9")
def test_a_message_has_its_defaults_and_never_changes() -> None:
    message = Message(role="assistant", content="")
    assert (message.tool_calls, message.tool_call_id) == (None, None)
    assert message.timestamp.tzinfo is not None
    with pytest.raises(FrozenInstanceError):
        message.content = "x"  # pyright: ignore[reportAttributeAccessIssue]  # that is the test


def test_the_newest_messages_that_fit_are_kept_in_order() -> None:
    history = [Message(role="user", content=f"{n}" * 40) for n in range(10)]
    history.append(Message(role="tool", content="t", tool_call_id="c"))
    kept = newest_that_fit(history, tokens=30)
    assert [m.content[0] for m in kept] == ["7", "8", "9"]
    assert [m.content[0] for m in newest_that_fit(history, turns=2)] == ["8", "9"]


def test_a_question_and_its_answer_are_kept_or_dropped_together() -> None:
    history = [
        Message(role="user", content="a" * 40),
        Message(role="assistant", content="b" * 40),
        Message(role="user", content="c" * 40),
        Message(role="assistant", content="d" * 40),
    ]
    for tokens in range(50):
        kept = newest_that_fit(history, tokens=tokens)
        assert kept in ([], history[2:], history)
