"""What is missing is said, and what is left still serves."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from askbook.bootstrap import Askbook
from askbook.config import load_settings
from askbook.errors import ConfigurationError
from askbook.retrieval.history import Message
from askbook.retrieval.judging import Judgement

pytestmark = pytest.mark.asyncio

IN_THE_BOOK = "Which stop categories may an emergency stop have?"
NOT_IN_THE_BOOK = "What is the capital of Australia?"


class DamagedJudge:
    """A judge whose weights cannot be read."""

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        raise ConfigurationError("The built-in model file judge/model_int8.onnx is missing.")

    async def close(self) -> None:
        pass


async def test_without_the_judges_weights_the_fused_order_serves(data_dir: Path) -> None:
    settings = load_settings(data_dir=data_dir, judge=False)
    async with Askbook(settings) as unjudged:
        _, fused = await unjudged.search(IN_THE_BOOK)
    async with Askbook(load_settings(data_dir=data_dir), judge=DamagedJudge()) as askbook:
        _, context = await askbook.search(IN_THE_BOOK)
        assert [r.chunk_id for r in context.results] == [r.chunk_id for r in fused.results]
        [said] = context.info
        assert "fused order" in said
        assert "judge/model_int8.onnx is missing" in said


async def test_answers_and_refusals_go_on_without_the_judges_weights(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir), judge=DamagedJudge()) as askbook:
        answer = await askbook.ask(IN_THE_BOOK)
        assert answer.should_answer
        assert "category 0 or 1" in answer.answer
        assert any("fused order" in line for line in answer.info)
        marked = await askbook.ask("Explain this", selected_text=answer.sources[0].text[:300])
        assert marked.should_answer
        refusal = await askbook.ask(NOT_IN_THE_BOOK)
        assert not refusal.should_answer


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_a_book_without_text_finds_nothing_and_fails_nowhere(
    tmp_path: Path, mode: str
) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "one.md").write_text("# A\n", encoding="utf-8")
    async with Askbook(load_settings(data_dir=tmp_path / "data")) as askbook:
        async for _ in askbook.ingest(book):
            pass
        history = [Message(role="user", content="What is rclpy.spin?")]
        _, context = await askbook.search(IN_THE_BOOK, mode=mode, history=history)  # pyright: ignore[reportArgumentType]  # parametrised
        assert context.results == ()
        answer = await askbook.ask(IN_THE_BOOK)
        assert not answer.should_answer
        assert answer.metrics.confidence == 0.0
