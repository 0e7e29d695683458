"""Which lines may stand before a list without a source of their own."""

import pytest

from askbook.agent.lead_ins import leads_in, states

OPEN = "How do I start the arm, which three modes does it have and what makes it fast?"
YES_OR_NO = "Does the arm have three modes, and is the emergency stop required to start it?"


@pytest.mark.parametrize(
    "line",
    [
        "The steps are:",
        "Steps:",
        "In short:",
        "For example:",
        "Follow these steps:",
        "You can follow these steps:",
        "The steps are as follows:",
        "Here are the steps:",
        "To start the arm:",
        "In order to start the arm:",
        "To start the arm, follow these steps:",
    ],
)
@pytest.mark.parametrize("question", [OPEN, YES_OR_NO])
def test_a_line_that_announces_a_list_leads_in(line: str, question: str) -> None:
    assert leads_in(line, question)
    assert not states(line, question)


@pytest.mark.parametrize(
    "line",
    [
        "It has three modes:",
        "There are three modes:",
        "The three modes of the arm are:",
        "The arm's modes are as follows:",
        "Here are the three modes of the arm:",
    ],
)
def test_a_line_that_the_list_completes_leads_in_unless_it_is_the_answer(line: str) -> None:
    assert leads_in(line, OPEN)
    assert not states(line, OPEN)
    assert states(line, YES_OR_NO)


@pytest.mark.parametrize(
    "line",
    [
        "No:",
        "No, the steps are:",
        "It is not:",
        "The arm is not fast:",
        "The arm isn't fast:",
        "The arm can’t start:",
        "The arm cannot start:",
        "To start the arm without modes:",
        "It never has three modes:",
    ],
)
def test_a_line_that_denies_something_does_not_lead_in(line: str) -> None:
    assert not leads_in(line, f"{OPEN} Is it without modes, or never so?")


@pytest.mark.parametrize(
    "line",
    [
        "The arm is fast:",
        "The arm is fast, as follows:",
        "The arm is fast and the modes are:",
        "The arm starts fast:",
        "Fast modes start the arm:",
        "To start the arm is fast:",
        "To start, the arm has three modes:",
        "It has fast modes:",
        "They are the same:",
        "It does:",
    ],
)
def test_a_whole_statement_in_the_words_of_the_question_is_seen(line: str) -> None:
    assert states(line, OPEN)


@pytest.mark.parametrize(
    "line",
    [
        "The emergency stop is required:",
        "The emergency stop is required for these modes:",
        "It is:",
        "It has three modes:",
        "The arm has:",
    ],
)
def test_a_question_for_yes_or_no_is_not_answered_by_a_lead_in(line: str) -> None:
    assert states(line, YES_OR_NO)


@pytest.mark.parametrize("line", ["The arm weighs:", "The steps are 3:", "Steps.", "The gripper:"])
def test_a_line_that_says_something_new_does_not_lead_in(line: str) -> None:
    assert not leads_in(line, OPEN)
