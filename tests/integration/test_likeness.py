"""Single words of a sentence weighed with the built-in models: what says something else, and what only rephrases."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from askbook.agent.grounding import check_support
from askbook.agent.verifying import settle
from askbook.bootstrap.parts import make_likeness
from askbook.embedding.builtin import BuiltinEmbedder

PASSAGE = (
    "The control system of the spacecraft consists of four gyros, two star trackers and hydrazine thrusters. "
    "California law allows part-time employees to file a claim. "
    "Regular physical activity helps children to perform better in school. "
    "Misdemeanors include driving with a suspended license."
)
REPHRASED = [
    "The control system of the spacecraft includes four gyros, two star trackers and hydrazine thrusters.",
    "California law permits part-time employees to file a claim.",
    "Regular physical activity helps kids to perform better in school.",
]
ALTERED = [
    "The control system of the spacecraft consists of four violins, two star trackers and hydrazine thrusters.",
    "California law allows part-time employees to file a harbour.",
    "Regular physical turbine helps children to perform better in school.",
    "Misdemeanors include driving with a suspended law.",
    "California law forces part-time glaciers to file a claim.",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def likeness() -> AsyncGenerator[BuiltinEmbedder]:
    embedder = BuiltinEmbedder()
    yield embedder
    await embedder.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("sentence", REPHRASED)
async def test_a_word_of_the_same_sense_is_let_through(
    sentence: str, likeness: BuiltinEmbedder
) -> None:
    support = check_support(sentence, PASSAGE)
    assert support.suspects
    settled = await settle(support, sentence, PASSAGE, None, likeness)
    assert settled.verdict == "supported", settled


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("sentence", ALTERED)
async def test_a_word_of_another_sense_is_refused(sentence: str, likeness: BuiltinEmbedder) -> None:
    support = check_support(sentence, PASSAGE)
    settled = await settle(support, sentence, PASSAGE, None, likeness)
    assert settled.verdict == "unsupported", settled
    assert "“" in settled.reasons[0]


@pytest.mark.asyncio(loop_scope="module")
async def test_without_a_model_a_replaced_word_counts_against_the_sentence() -> None:
    sentence = REPHRASED[1]
    settled = await settle(check_support(sentence, PASSAGE), sentence, PASSAGE, None)
    assert settled.verdict == "unsupported"
    assert settled.reasons[0] == "It says “permits” where the passage says “allows”."


def test_another_embedder_leaves_the_check_to_the_built_in_one() -> None:
    builtin = BuiltinEmbedder()
    assert make_likeness(builtin) is builtin
    other: Any = object()
    assert isinstance(make_likeness(other), BuiltinEmbedder)
