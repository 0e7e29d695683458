from dataclasses import replace
from pathlib import Path

from askbook.evaluation.answers import AnswerOutcome
from askbook.evaluation.asking import Outcome
from askbook.evaluation.keeping import Kept

OUTCOME = Outcome("1", ["bees", "tides"], [("bees", 0, 9)], 0.8, True, 12.5)


def kept_again(folder: Path, outcome: Outcome, *, with_answer: bool, timed: bool) -> Outcome | None:
    Kept(folder, "hybrid").put(outcome)
    return Kept(folder, "hybrid").get("1", with_answer=with_answer, timed=timed)


def test_an_outcome_is_found_again_as_it_was(tmp_path: Path) -> None:
    floor = AnswerOutcome(True, 0.2, 1.0, 1.0, 2, 2)
    answer = AnswerOutcome(True, 0.5, 1.0, 0.5, 3, 3, floor)
    whole = replace(OUTCOME, answer=answer)
    assert kept_again(tmp_path, whole, with_answer=True, timed=True) == whole
    assert Kept(tmp_path, "dense").get("1", with_answer=False, timed=False) is None
    assert Kept(None, "hybrid").get("1", with_answer=False, timed=False) is None


def test_what_lacks_an_answer_or_a_time_is_asked_again_where_one_is_wanted(tmp_path: Path) -> None:
    bare = replace(OUTCOME, latency_ms=None)
    assert kept_again(tmp_path, bare, with_answer=False, timed=False) == bare
    assert kept_again(tmp_path, bare, with_answer=True, timed=False) is None
    assert kept_again(tmp_path, bare, with_answer=False, timed=True) is None
    assert kept_again(tmp_path, OUTCOME, with_answer=False, timed=True) == OUTCOME
