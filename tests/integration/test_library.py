"""askbook as a library: the synchronous front door."""

from pathlib import Path

from askbook import ask_sync
from askbook.config import Settings, load_settings

QUESTION = "Which stop categories may an emergency stop have?"


def settings_for(data_dir: Path) -> Settings:
    return load_settings(data_dir=data_dir, judge=False)


def test_a_question_from_code_that_is_not_asynchronous(data_dir: Path) -> None:
    answer = ask_sync(QUESTION, settings=settings_for(data_dir))
    assert "category 0 or 1" in answer.answer
    assert answer.citations


async def test_also_where_an_event_loop_runs_already(data_dir: Path) -> None:
    answer = ask_sync(QUESTION, book_id="physical-ai-robotics", settings=settings_for(data_dir))
    assert answer.should_answer
