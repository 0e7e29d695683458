from types import SimpleNamespace
from typing import Any

import pytest

from askbook.evaluation.answers import read_answer
from askbook.evaluation.datasets import Question

QUESTION = Question(
    "1", "Why?", True, answers=("nodes exchange messages",), grades={"a": 1, "b": 1}
)


def response(answer: str, chunks: dict[int, tuple[str, str]], *, should_answer: bool = True) -> Any:
    """An answer citing chunks given as number → (id, text)."""
    return SimpleNamespace(
        answer=answer,
        should_answer=should_answer,
        citations=[SimpleNamespace(n=n, chunk_id=i) for n, (i, _) in chunks.items()],
        sources=[SimpleNamespace(chunk_id=i, text=text) for i, text in chunks.values()],
    )


def test_quoted_sentences_are_supported_and_others_are_not() -> None:
    given = response(
        "Nodes exchange\nmessages. [1]\n- They are invented. [2]\n\nNo mark here.",
        {1: ("c1", "First. Nodes exchange messages. Last."), 2: ("c2", "Something else.")},
    )
    found = read_answer(given, QUESTION, {"c1": "a", "c2": "x"}, "Careful.")
    assert (found.sentences, found.supported) == (3, 1)
    assert found.citation_precision == 0.5
    assert found.citation_recall == 0.5


def test_the_disclaimer_is_no_part_of_the_answer() -> None:
    given = response(
        "Nodes exchange messages. [1]\n\nCareful.", {1: ("c1", "Nodes exchange messages.")}
    )
    found = read_answer(given, QUESTION, {"c1": "a"}, "Careful.")
    assert (found.sentences, found.supported) == (1, 1)
    assert found.token_f1 == pytest.approx(1.0)


def test_a_refusal_cites_nothing() -> None:
    given = response("Not in the book.", {}, should_answer=False)
    found = read_answer(given, QUESTION, {}, "Careful.")
    assert (found.answered, found.sentences, found.token_f1) == (False, 0, 0.0)
    assert (found.citation_precision, found.citation_recall) == (None, 0.0)
