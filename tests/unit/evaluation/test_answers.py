from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from askbook.agent.extractive import MODEL
from askbook.agent.likeness import Likeness
from askbook.book import Vector
from askbook.evaluation.answers import read_answer, read_floor
from askbook.evaluation.datasets import Question
from sample_chunks import make_result

QUESTION = Question(
    "1", "Why?", True, answers=("nodes exchange messages",), grades={"a": 1, "b": 1}
)


def response(
    answer: str,
    chunks: dict[int, tuple[str, str]],
    *,
    should_answer: bool = True,
    model: str = MODEL,
) -> Any:
    """An answer citing chunks given as number → (id, text)."""
    metadata = SimpleNamespace(breadcrumb="Nodes")
    return SimpleNamespace(
        answer=answer,
        model=model,
        should_answer=should_answer,
        citations=[SimpleNamespace(n=n, chunk_id=i) for n, (i, _) in chunks.items()],
        sources=[
            SimpleNamespace(chunk_id=i, text=text, chunk=SimpleNamespace(metadata=metadata))
            for i, text in chunks.values()
        ],
    )


async def test_quoted_sentences_are_supported_and_others_are_not() -> None:
    given = response(
        "Nodes exchange\nmessages. [1]\n- They are invented. [2]\n\nNo mark here.",
        {1: ("c1", "First. Nodes exchange messages. Last."), 2: ("c2", "Something else.")},
    )
    found = await read_answer(given, QUESTION, {"c1": "a", "c2": "x"}, "Careful.")
    assert (found.sentences, found.supported) == (3, 1)
    assert found.citation_precision == 0.5
    assert found.citation_recall == 0.5


async def test_a_row_is_quoted_under_the_head_of_its_table() -> None:
    table = (
        "| Limit | Value |\n|---|---|\n| reach | 850 mm |\n| speed | 0.25 m/s |\n| load | 5 kg |"
    )
    answer = "| Limit | Value |\n|---|---|\n| speed | 0.25 m/s [1] |\n| load | 5 kg [1] |"
    found = await read_answer(
        response(answer, {1: ("c1", table)}), QUESTION, {"c1": "a"}, "Careful."
    )
    assert (found.sentences, found.supported) == (2, 2)
    false = answer.replace("0.25", "0.5")
    found = await read_answer(
        response(false, {1: ("c1", table)}), QUESTION, {"c1": "a"}, "Careful."
    )
    assert (found.sentences, found.supported) == (2, 1)


async def test_fences_and_the_sign_of_an_omission_are_no_words_of_their_own() -> None:
    text = "Run it:\n\n```sh\nros2 run demo talker"
    answer = "Run it: [1]\n\n```sh\nros2 run demo talker\n```\n[1]\n\n… [1]"
    found = await read_answer(
        response(answer, {1: ("c1", text)}), QUESTION, {"c1": "a"}, "Careful."
    )
    assert (found.sentences, found.supported) == (2, 2)


async def test_numbered_steps_are_quoted_with_their_numbers() -> None:
    answer = "Do this. [1]\n\n1. Look. [1]\n2. Leap. [1]"
    given = response(answer, {1: ("c1", "Do this.\n\n1. Look.\n2. Leap.")})
    found = await read_answer(given, QUESTION, {"c1": "a"}, "Careful.")
    assert (found.sentences, found.supported) == (3, 3)


async def test_the_disclaimer_is_no_part_of_the_answer() -> None:
    given = response(
        "Nodes exchange messages. [1]\n\nCareful.", {1: ("c1", "Nodes exchange messages.")}
    )
    found = await read_answer(given, QUESTION, {"c1": "a"}, "Careful.")
    assert (found.sentences, found.supported) == (1, 1)
    assert found.token_f1 == pytest.approx(1.0)


async def test_a_refusal_cites_nothing() -> None:
    given = response("Not in the book.", {}, should_answer=False)
    found = await read_answer(given, QUESTION, {}, "Careful.")
    assert (found.answered, found.sentences, found.token_f1) == (False, 0, 0.0)
    assert (found.citation_precision, found.citation_recall) == (None, 0.0)


@pytest.mark.parametrize(("model", "supported"), [("gpt", 1), (MODEL, 0)])
async def test_only_a_model_may_use_words_of_its_own(model: str, supported: int) -> None:
    chunk = "Nodes exchange messages over topics. A topic carries one type of message."
    written = "Nodes exchange their messages over topics. [1] Nodes exchange 7 messages. [1]"
    given = response(written, {1: ("c1", chunk)}, model=model)
    found = await read_answer(given, QUESTION, {"c1": "a"}, "Careful.")
    assert (found.sentences, found.supported) == (2, supported)


class Alike:
    """Finds all texts alike."""

    async def embed_query(self, text: str) -> Vector:
        return np.ones(1, dtype=np.float32)


@pytest.mark.parametrize(("likeness", "supported"), [(None, 0), (Alike(), 1)])
async def test_a_word_of_its_own_is_weighed_as_it_was_when_sent_out(
    likeness: Likeness | None, supported: int
) -> None:
    given = response(
        "Nodes exchange messages over channels. [1]",
        {1: ("c1", "Nodes exchange messages over topics. A topic carries one type.")},
        model="gpt",
    )
    found = await read_answer(given, QUESTION, {"c1": "a"}, "Careful.", likeness=likeness)
    assert (found.sentences, found.supported) == (1, supported)


def test_the_floor_is_the_opening_of_the_first_chunk() -> None:
    first = make_result("# Nodes\n\nNodes exchange messages. They have names. They live long.")
    floor = read_floor(first, QUESTION, {first.chunk_id: "a"}, answered=True)
    assert (floor.sentences, floor.supported) == (2, 2)
    assert floor.token_f1 == pytest.approx(2 * 3 / (6 + 3))
    assert (floor.citation_precision, floor.citation_recall) == (1.0, 0.5)


@pytest.mark.parametrize("answered", [True, False])
def test_the_floor_declines_where_the_answer_does(answered: bool) -> None:
    first = None if answered else make_result()
    floor = read_floor(first, QUESTION, {}, answered=answered)
    assert (floor.answered, floor.token_f1, floor.citation_precision) == (False, 0.0, None)
