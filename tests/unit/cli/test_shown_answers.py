"""A declined answer at a terminal says why, once."""

import pytest

from askbook.cli.answers import ShownAnswer, show_answer

REASON = "The nearest passage says nothing about “bread”."


def declined(answer: str, reason: str) -> ShownAnswer:
    return ShownAnswer(
        {
            "answer": answer,
            "should_answer": False,
            "citations": [],
            "metrics": {"reason": reason},
        }
    )


@pytest.mark.parametrize(
    ("answer", "reason", "shown"),
    [
        ("Not in the book.", REASON, f"Not in the book.\n{REASON}\n"),
        ("Nothing was asked here.", "Nothing was asked here.", "Nothing was asked here.\n"),
    ],
)
def test_the_reason_is_told_where_the_answer_does_not(
    capsys: pytest.CaptureFixture[str], answer: str, reason: str, shown: str
) -> None:
    show_answer(declined(answer, reason))
    assert capsys.readouterr().out == shown
