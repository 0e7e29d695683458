import pytest

from askbook.evaluation.answers import AnswerOutcome
from askbook.evaluation.asking import Outcome
from askbook.evaluation.datasets import GoldSpan, Question
from askbook.evaluation.report import as_html, as_lines
from askbook.evaluation.run import Evaluated, compare
from askbook.evaluation.summary import shortfalls, summarise

SECTIONS = ("retrieval", "refusal", "answers")


def asked(
    qid: str, *, answerable: bool | None = True, gold: str | None = None, **more: object
) -> Question:
    return Question(qid, f"Question {qid}?", answerable, grades={gold: 1} if gold else {}, **more)  # pyright: ignore[reportArgumentType]


def outcome(qid: str, ranked: list[str], confidence: float = 0.9, **more: object) -> Outcome:
    return Outcome(qid, ranked, [("a", 0, 50)], confidence, confidence >= 0.6, 10.0, **more)  # pyright: ignore[reportArgumentType]


PAIRS = [
    (
        asked("1", gold="a", groups=("kind=plain",), spans=(GoldSpan("a", 40, 60),)),
        outcome("1", ["a", "b"]),
    ),
    (
        asked("2", gold="a", history=("Before?",)),
        outcome("2", ["b", "a"], 0.3, last_turn_only=["b", "c", "a"]),
    ),
    (asked("3", answerable=False, groups=("kind=foreign",)), outcome("3", ["b"], 0.2)),
    (asked("4", answerable=False), outcome("4", ["b"], 0.8)),
    (asked("5", answerable=None, gold="z"), outcome("5", ["b"])),
]


def test_retrieval_counts_every_row_with_gold() -> None:
    retrieval = summarise(PAIRS, SECTIONS, 0.85)["retrieval"]
    assert retrieval["n"] == 3
    assert retrieval["hit@5"] == pytest.approx(2 / 3)
    assert retrieval["mrr@10"] == pytest.approx(1.5 / 3)
    assert retrieval["span_recall"] == 0.5


def test_refusal_counts_rows_that_say_whether_they_are_answerable() -> None:
    refusal = summarise(PAIRS, SECTIONS, 0.85)["refusal"]
    assert (refusal["n"], refusal["n_answerable"]) == (4, 2)
    assert refusal["auroc"] == 0.75
    assert refusal["accuracy"] == 0.5
    assert refusal["refused_answerable"] == refusal["answered_unanswerable"] == 0.5
    assert 0 < refusal["ece"] < 1


def test_groups_and_later_turns_are_reported_apart() -> None:
    summary = summarise(PAIRS, SECTIONS, 0.85)
    assert set(summary["by"]) == {"kind=foreign", "kind=plain"}
    assert summary["by"]["kind=foreign"]["refusal"]["answered_unanswerable"] == 0.0
    assert summary["multi_turn"]["with_history"]["n"] == 1
    assert summary["multi_turn"]["first_turns"]["n"] == 2


def test_later_turns_are_scored_with_and_without_what_was_said_before() -> None:
    turns = summarise(PAIRS, SECTIONS, 0.85)["multi_turn"]
    assert turns["with_history"]["mrr@10"] == 1 / 2
    assert turns["last_turn_only"]["mrr@10"] == 1 / 3
    assert turns["last_turn_only"]["n"] == 1


def test_only_the_sections_asked_for_are_there() -> None:
    summary = summarise(PAIRS, ("retrieval",), 0.85)
    assert "refusal" not in summary
    assert "answers" not in summary


FLOOR = AnswerOutcome(True, 0.2, 1.0, 1.0, 2, 2)


def test_a_refused_answer_counts_as_nothing_found() -> None:
    answers = [
        (
            asked("1", gold="a"),
            outcome("1", ["a"], answer=AnswerOutcome(True, 0.8, 1.0, 1.0, 4, 3, FLOOR)),
        ),
        (
            asked("2", gold="a"),
            outcome("2", ["a"], answer=AnswerOutcome(False, 0.0, None, 0.0, 0, 0)),
        ),
    ]
    numbers = summarise(answers, ("answers",), 0.85)["answers"]
    assert numbers["token_f1"] == 0.4
    assert numbers["citation_precision"] == 1.0
    assert numbers["citation_recall"] == 0.5
    assert numbers["supported_sentences"] == 0.75
    assert numbers["answered"] == 0.5
    assert numbers["floor_token_f1"] == 0.2


def test_limits_read_errors_the_other_way_round() -> None:
    summary = summarise(PAIRS, SECTIONS, 0.85)
    assert shortfalls(summary, {"hit@5": 0.5, "refused_answerable": 0.5}) == []
    assert shortfalls(summary, {"hit@5": 0.7}) == ["hit@5 is 0.667, under 0.7"]
    assert shortfalls(summary, {"refusal.refused_answerable": 0.4}) == [
        "refusal.refused_answerable is 0.500, above 0.4"
    ]
    assert shortfalls(summary, {"beauty": 1.0}) == ["beauty was not measured"]


def test_the_comparison_names_the_worse_configuration() -> None:
    questions = tuple(asked(str(i), gold="a") for i in range(20))
    good = [outcome(q.qid, ["a", "b"]) for q in questions]
    bad = [outcome(q.qid, ["b", "a"]) for q in questions]
    assert compare(questions, {"hybrid": good, "worse": bad})["ndcg@10"].verdict == "worse"
    assert compare(questions, {"hybrid": good, "same": good})["ndcg@10"].verdict == "equal"
    assert compare(questions, {"hybrid": good}) == {}


def test_the_report_shows_numbers_plots_and_escapes_names() -> None:
    questions, outcomes = [q for q, _ in PAIRS], [o for _, o in PAIRS]
    evaluated = Evaluated(
        "<set>",
        {"hybrid": summarise(PAIRS, SECTIONS, 0.85)},
        {"hybrid": outcomes},
        tuple(questions),
    )
    page = as_html(evaluated, 0.85)
    assert "&lt;set&gt;" in page
    assert page.count("<svg") == 4
    assert "Our confidence" in page
    assert "Fixed thresholds" in page
    assert any("ndcg@10" in line for line in as_lines(evaluated))
    assert any("last_turn_only" in line for line in as_lines(evaluated))
    assert evaluated.to_json()["retrieval"]["n"] == 3
