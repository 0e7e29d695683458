"""Units are scored by signs that the text gives away, and by the judge."""

from dataclasses import replace

import pytest

from askbook.agent.scoring import (
    HEADED,
    LONGER,
    SIDE,
    WEIGHTS,
    judged_signs,
    place_units,
    score_units,
    signs_of,
    weigh,
)
from askbook.retrieval.judging import Judgement
from sample_chunks import make_chunk, make_context

TEXT = "A link is a rigid part. The battery lasts long. These are the parts:\n\nMenu of the page"


def signs(question: str) -> list[dict[str, float]]:
    context = make_context([0.9], texts=[TEXT], query=question)
    return signs_of(context, place_units(context))


def test_every_weight_has_its_sign_and_every_sign_its_weight() -> None:
    judged = judged_signs(Judgement(1.0, 2.0, 0, 4, 3.0))
    assert (signs("What is a link?")[0] | judged).keys() == WEIGHTS.keys()


def test_a_definition_and_the_question_s_words_are_signs() -> None:
    defining, other, _, _ = signs("What is a link?")
    assert (defining["definition"], other["definition"]) == (1.0, 0.0)
    assert defining["terms"] > other["terms"]
    assert weigh(defining) > weigh(other)


def definitions(question: str, *texts: str) -> list[float]:
    context = make_context([0.9] * len(texts), texts=texts, query=question)
    return [s["definition"] for s in signs_of(context, place_units(context))]


def test_the_very_term_goes_before_a_longer_one_that_contains_it() -> None:
    longer, very = "An extended Kalman filter is a wider one.", "A Kalman filter is an estimator."
    assert definitions("What is a Kalman filter?", longer, very) == [LONGER, 1.0]
    assert definitions("What is a Kalman filter?", longer) == [1.0]


def test_the_first_sentence_under_the_very_term_counts_a_little_as_its_definition() -> None:
    longer = "### Extended Kalman Filter\n\nFor other systems."
    text = "### Kalman Filter\n\nAn optimal estimate. It is linear.\n\n### Particle Filter\n\nMany guesses."
    assert definitions("What is a Kalman filter?", text) == [HEADED, 0.0, 0.0]
    assert definitions("What is a Kalman filter?", longer, text)[:2] == [-HEADED, HEADED]
    assert definitions("What is a Kalman filter?", longer) == [0.0]


def test_what_spells_an_abbreviation_out_defines_it() -> None:
    passing = "An IMU is not rendered and has a system of its own."
    spelled = "One such is an inertial measurement unit (IMU), which reports acceleration."
    assert definitions("What is an IMU?", passing, spelled) == [0.0, 1.0]
    assert definitions("what is an inertial measurement unit", passing, spelled) == [0.0, 1.0]


def test_a_unit_has_the_question_s_words_under_either_name() -> None:
    texts = [
        "The inertial measurement unit (IMU) is small.",
        "An inertial measurement unit drifts.",
    ]
    context = make_context([0.9, 0.8], texts=texts, query="Why does the IMU drift?")
    assert [s["terms"] for s in signs_of(context, place_units(context))][1] == pytest.approx(1.0)


def test_where_two_things_are_compared_what_each_is_counts_a_little() -> None:
    question = "What is the difference between a topic and a service?"
    texts = ("A **topic** is a channel.", "A **service** answers.", "A node is a program.")
    assert definitions(question, *texts) == [SIDE, SIDE, 0.0]
    assert definitions(question, texts[0], texts[2]) == [0.0, 0.0]


async def test_an_exercise_is_no_answer() -> None:
    task = "Explain why a lidar measures the distance to glass badly and what helps."
    told = "Glass reflects the light of a lidar away."
    context = make_context([0.9], texts=[f"{told} {task}"], query="Why is glass bad for a lidar?")
    for title, wanted in (("10. Challenge Problem", [told]), ("Lidars", [told, task])):
        chunk = make_chunk(f"{told} {task}", section_title=title)
        found = replace(context, results=(replace(context.results[0], chunk=chunk),))
        scored = await score_units(found, place_units(found), None)
        assert {s.placed.unit.text for s in scored} == set(wanted)


async def test_an_exercise_with_a_number_is_none_under_any_heading() -> None:
    told = "The lidar measures distance by the time that light takes."
    task = "**Exercise 8.1**: Simulate a lidar and compare its distance with the truth."
    context = make_context([0.9], texts=[f"{told}\n\n{task}"], query="What does a lidar measure?")
    scored = await score_units(context, place_units(context), None)
    assert [s.placed.unit.text for s in scored] == [told]


@pytest.mark.parametrize(
    ("unit", "question"),
    [
        ("Task 1 reads the lidar ten times per second.", "How often is the lidar read?"),
        ("**Challenge 2**: Rain scatters the light of a lidar.", "What does rain do?"),
        ("**Exercise 8.1**: Simulate a lidar in the rain.", "What is exercise 8.1 about?"),
    ],
)
async def test_a_number_alone_makes_no_exercise_nor_hides_one_that_is_asked_for(
    unit: str, question: str
) -> None:
    other = "The lidar measures distance by the time that light takes."
    context = make_context([0.9], texts=[f"{other}\n\n{unit}"], query=question)
    scored = await score_units(context, place_units(context), None)
    assert any(s.placed.unit.text in unit for s in scored)


@pytest.mark.parametrize("title", ["Common problems", "Problems and solutions", "In practice"])
async def test_what_to_try_where_problems_are_solved_is_no_exercise(title: str) -> None:
    advice, other = (
        "Try another domain id when no topic is listed.",
        "A topic carries messages from publishers to subscribers.",
    )
    question = "Why is no topic listed?"
    context = make_context([0.9, 0.8], texts=[advice, other], query=question)
    first, second = context.results
    chunk = make_chunk(advice, section_title=title)
    context = replace(context, results=(replace(first, chunk=chunk), second))
    scored = await score_units(context, place_units(context), None)
    assert advice in {s.placed.unit.text for s in scored}


@pytest.mark.parametrize(
    ("title", "question", "is_left_out"),
    [
        ("References", "What is a lidar?", True),
        ("12. Further Reading", "What is a lidar?", True),
        ("References", "Which book explains lidars?", False),
        ("References in Rust", "What is a lidar?", False),
    ],
)
async def test_a_list_of_works_answers_who_asks_for_works(
    title: str, question: str, is_left_out: bool
) -> None:
    work = "Lidars and their Optics (Ames), chapters two and three."
    other = "A lidar sends light out and waits for it."
    context = make_context([0.9, 0.8], texts=[work, other], query=question)
    first, second = context.results
    chunk = make_chunk(work, section_title=title)
    context = replace(context, results=(replace(first, chunk=chunk), second))
    scored = await score_units(context, place_units(context), None)
    assert (work not in {s.placed.unit.text for s in scored}) == is_left_out


def test_a_lead_in_and_a_line_without_a_full_stop_count_against_a_unit() -> None:
    found = signs("How long does the battery last?")
    assert [s["lead"] for s in found] == [0.0, 0.0, 1.0, 0.0]
    assert [s["fragment"] for s in found] == [0.0, 0.0, 0.0, 1.0]


def test_what_the_judge_says_is_weighed() -> None:
    better, worse = (
        weigh(judged_signs(Judgement(relevance, 0.0, 0, 0, 0.0))) for relevance in (4.0, -4.0)
    )
    assert better - worse == pytest.approx(8 * WEIGHTS["relevance"])
