"""What becomes of a sentence that the exact checks leave in doubt."""

from collections.abc import Sequence

import pytest

from askbook.agent.grounding import Support
from askbook.agent.verifying import settle
from askbook.errors import ConfigurationError
from askbook.retrieval.judging import Judgement

DOUBTFUL = Support("doubtful", ("Not in the passage: x.",), 0.5, 0, 4, is_thin=True)


class DamagedJudge:
    """A judge whose weights cannot be read."""

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        raise ConfigurationError("The built-in model file judge/model_int8.onnx is damaged.")

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("judge", [None, DamagedJudge()])
async def test_doubt_counts_against_a_sentence_where_no_judge_can_be_used(
    judge: DamagedJudge | None,
) -> None:
    settled = await settle(DOUBTFUL, "A sentence.", "Text", judge)
    assert (settled.verdict, settled.reasons) == ("unsupported", DOUBTFUL.reasons)
