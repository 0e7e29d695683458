"""Answers are quotations, chosen by the real judge."""

import re
from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio

from askbook.agent.extractive import ExtractiveAnswer, answer_extractively
from askbook.agent.passages import cut_into_units
from askbook.agent.scoring import UNITS_JUDGED
from askbook.book import Book
from askbook.models.runtime import ModelRuntime
from askbook.retrieval.context import RetrievalContext
from askbook.retrieval.judging import BuiltinJudge, Judgement
from sample_chunks import make_context, make_result

BOOK = Book("robots", "Robots")
URDF = (
    "## Describing a robot\n\nA robot has a shape. URDF, the Unified Robot Description Format, is "
    "an XML format that describes a robot's links and joints. A link is a rigid part."
)
STEPS = (
    "Much can be said. To build the workspace, run these steps:\n\n"
    "- install the packages\n- run `colcon build`\n- source the setup file\n\nUnrelated words."
)
TABLE = (
    "A machine can be stopped in several ways.\n\n| Category | Meaning |\n|---|---|\n"
    "| 0 | power is removed at once |\n| 1 | the robot brakes, then power is removed |"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[BuiltinJudge]:
    judge = BuiltinJudge(ModelRuntime("judge", sessions=1))
    yield judge
    await judge.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def context(question: str, texts: Sequence[str]) -> RetrievalContext:
    return make_context([0.9 - 0.1 * n for n in range(len(texts))], texts=texts, query=question)


def check(answer: ExtractiveAnswer | None, found: RetrievalContext) -> ExtractiveAnswer:
    """Every quote is the chunk's own words, every number in the answer has its citation."""
    assert answer is not None
    texts = {result.chunk_id: result.text for result in found.results}
    assert [c.n for c in answer.citations] == list(range(1, len(answer.citations) + 1))
    for citation in answer.citations:
        text = texts[citation.chunk_id]
        assert citation.quote == text[citation.quote_start : citation.quote_end]
        assert citation.quote.strip()
    used = {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)}
    assert used == {citation.n for citation in answer.citations}
    assert {r.chunk_id for r in answer.cited} == {c.chunk_id for c in answer.citations}
    # Less its numbers, the answer holds nothing but words of the chunks.
    said = re.sub(r"\[\d+\]", " ", answer.text)
    words = {word for text in texts.values() for word in re.findall(r"\w+", text)}
    assert set(re.findall(r"\w+", said)) <= words
    return answer


@pytest.mark.parametrize("judged", [True, False])
async def test_quotes_the_sentence_that_answers(judge: BuiltinJudge, judged: bool) -> None:
    found = context("What is URDF?", [URDF, "Bread dough rises because yeast makes gas."])
    answer = check(await answer_extractively(found, BOOK, judge if judged else None), found)
    assert "URDF, the Unified Robot Description Format, is an XML format" in answer.text
    assert "[1]" in answer.text
    assert answer.cited[0].text == URDF


async def test_leaves_out_what_does_not_answer(judge: BuiltinJudge) -> None:
    beside_the_point = (
        "Paint comes in many colours.\n\nTea is drunk hot.\n\nBread dough rises slowly."
    )
    found = context("What is URDF?", [f"{URDF}\n\n{beside_the_point}"])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "Tea is drunk" not in answer.text
    assert "Bread dough" not in answer.text
    assert "Describing a robot" not in answer.text


async def test_a_sentence_that_announces_a_list_brings_it_along(judge: BuiltinJudge) -> None:
    found = context("How do I build the workspace?", [STEPS])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "run these steps:" in answer.text
    assert "run `colcon build`" in answer.text


async def test_a_sentence_that_announces_something_is_not_added_without_it() -> None:
    lead = "To estimate the state with a Kalman filter, do this:"
    texts = [
        "### Kalman Filter\n\nAn optimal linear estimate of the state.",
        f"{lead}\n\n```python\nrun()\n```",
    ]
    found = context("What is a Kalman filter?", texts)
    answer = check(await answer_extractively(found, BOOK, None), found)
    assert "An optimal linear estimate" in answer.text
    assert lead not in answer.text


async def test_a_row_comes_with_the_head_of_its_table(judge: BuiltinJudge) -> None:
    found = context("What does stop category 1 mean?", [TABLE])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "| Category | Meaning |" in answer.text
    assert "| 1 | the robot brakes, then power is removed [" in answer.text
    assert "| 0 |" not in answer.text


async def test_all_rows_that_a_question_names_are_quoted(judge: BuiltinJudge) -> None:
    found = context("What do the stop categories 0 and 1 mean?", [TABLE])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "| 0 | power is removed at once" in answer.text
    assert "| 1 | the robot brakes, then power is removed" in answer.text


SENSORS = (
    "Sensors differ in what they look at.\n\n| Sensor | Looks at | Rate |\n|---|---|---|\n"
    "| camera | the surroundings | 30 Hz |\n| encoder | the robot itself | 1000 Hz |\n"
    "| lidar | the surroundings | 10 Hz |\n| gyroscope | the robot itself | 400 Hz |"
)
CHECKS = (
    "## Start\n\nGo through this list whenever the robot was moved.\n\n"
    "1. Clear the area around the robot before you switch it on.\n"
    "2. Charge the battery.\n"
    "3. Press the red button and let it go again.\n"
    "4. Tell bystanders before you switch on the robot.\n\nPaint dries slowly."
)


@pytest.mark.parametrize(
    "question",
    ["What are the sensors?", "Which sensors are there?", "List all sensors.", "Name the sensors."],
)
@pytest.mark.parametrize("judged", [True, False])
async def test_who_asks_for_several_things_gets_the_whole_table(
    judge: BuiltinJudge, question: str, judged: bool
) -> None:
    rows = SENSORS.partition("\n\n")[2]
    found = context(question, [rows])
    answer = check(await answer_extractively(found, BOOK, judge if judged else None), found)
    assert answer.text.replace(" [1]", "") == rows
    assert [citation.n for citation in answer.citations] == [1]


async def test_of_a_table_the_rows_that_have_what_is_named_are_quoted(judge: BuiltinJudge) -> None:
    found = context("Which sensors look at the surroundings?", [SENSORS])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "| camera |" in answer.text
    assert "| lidar |" in answer.text
    assert "robot itself" not in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "What is the rate of the lidar?",
        "Which sensor has a rate of 10 Hz?",
        "What are the rates of the lidar?",
    ],
)
async def test_who_asks_for_one_thing_gets_its_row_alone(
    judge: BuiltinJudge, question: str
) -> None:
    found = context(question, [SENSORS])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert re.findall(r"\b(?:camera|encoder|lidar|gyroscope)\b", answer.text) == ["lidar"]


async def test_a_table_that_is_announced_comes_with_its_announcement(judge: BuiltinJudge) -> None:
    text = TABLE.replace("in several ways", "in these two ways")
    found = context("What are the ways in which a machine can be stopped?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text.replace(" [1]", "") == text


async def test_a_table_that_is_too_long_shows_that_it_goes_on(judge: BuiltinJudge) -> None:
    rows = "".join(f"| part {n} | {n} mm |\n" for n in range(10, 50))
    found = context("What are the parts?", [f"| Part | Length |\n|---|---|\n{rows}"])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    quoted = re.findall(r"\| part (\d+) ", answer.text)
    assert quoted == [str(n) for n in range(10, 22)]
    assert answer.text.endswith(" |\n\n… [1]")


async def test_a_list_is_not_quoted_with_gaps(judge: BuiltinJudge) -> None:
    found = context("What should I do before I switch on the robot?", [CHECKS])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text.replace(" [1]", "").startswith(
        "Go through this list whenever the robot was moved.\n\n1. Clear the area"
    )
    assert re.findall(r"^\d\.", answer.text, re.MULTILINE) == ["1.", "2.", "3.", "4."]
    assert "Paint" not in answer.text
    [citation] = answer.citations
    assert citation.quote in CHECKS


async def test_who_asks_for_several_things_gets_the_whole_list(judge: BuiltinJudge) -> None:
    text = (
        "A base can be driven in many ways.\n\n- **Differential** drives are bases that turn on the "
        "spot.\n- **Ackermann** steers like a car.\n\n  It cannot turn on the spot.\n"
        "- **Mecanum** drives sideways.\n\n## Paint\n\n- red\n- blue"
    )
    found = context("Which drives are there for bases?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    for words in ("many ways.", "Differential", "Ackermann", "It cannot turn", "Mecanum"):
        assert words in answer.text
    assert "red" not in answer.text
    one = context("What are the abilities of mecanum?", [text])
    answer = check(await answer_extractively(one, BOOK, judge), one)
    assert "Mecanum" in answer.text
    assert "Ackermann" not in answer.text


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("```sh\nros2 run demo talker", "```sh\nros2 run demo talker\n```\n[1]"),
        ("~~~~sh\nros2 run demo talker\n~~~", "~~~~sh\nros2 run demo talker\n~~~\n~~~~\n[1]"),
        ("  ```sh\n  ros2 run demo talker", "  ```sh\n  ros2 run demo talker\n  ```\n[1]"),
        ("ros2 run demo talker\n```", "```\nros2 run demo talker\n```\n[1]"),
        ("> ```sh\n> ros2 run demo talker\n> ```", "```sh\nros2 run demo talker\n```\n[1]"),
    ],
)
async def test_code_of_which_a_fence_is_elsewhere_is_shown_between_two(
    judge: BuiltinJudge, code: str, shown: str
) -> None:
    found = context("How do I run the talker?", [code])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text == shown
    [citation] = answer.citations
    assert citation.quote in code
    assert citation.quote.endswith(code.splitlines()[-1])


async def test_only_code_is_quoted_as_code(judge: BuiltinJudge) -> None:
    code = "```sh\nros2 run demo_nodes_cpp talker\n```"
    found = context("How do I run the talker?", [code])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert code in answer.text


@pytest.mark.parametrize("judged", [True, False])
async def test_nothing_to_quote_is_no_answer(judge: BuiltinJudge, judged: bool) -> None:
    used = judge if judged else None
    assert await answer_extractively(make_context(), BOOK, used) is None
    empty = context("What is URDF?", ["# Only a heading"])
    assert await answer_extractively(empty, BOOK, used) is None


async def test_answers_stay_short(judge: BuiltinJudge) -> None:
    long = " ".join(f"URDF is described in sentence number {n} of this page." for n in range(60))
    found = context("What is URDF?", [long])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert len(answer.text) < 1200


async def test_a_fact_is_answered_with_its_sentence_alone(judge: BuiltinJudge) -> None:
    text = "The battery holds 48 Wh. It is charged overnight. It was made in a small factory."
    found = context("How much energy does the battery hold?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text == "The battery holds 48 Wh. [1]"


async def test_a_sentence_that_points_back_brings_what_it_points_to(judge: BuiltinJudge) -> None:
    text = (
        "Paint is dry.\n\nA watchdog counts the time since the last command. "
        "It stops the motors when no command came for half a second."
    )
    found = context("When does it stop the motors without a command?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text.startswith("A watchdog counts")
    assert "Paint" not in answer.text


async def test_the_question_s_own_words_are_no_answer(judge: BuiltinJudge) -> None:
    text = (
        "- What does `colcon build --symlink-install` change?\n"
        "- Build with `colcon build --symlink-install`\n\n"
        "With `--symlink-install`, links to the sources are placed in `install` instead of copies."
    )
    found = context("What does colcon build --symlink-install change?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "links to the sources" in answer.text
    assert "change?" not in answer.text


async def test_a_how_to_comes_with_the_code_it_leads_to(judge: BuiltinJudge) -> None:
    text = (
        "A new workspace is created with colcon, in the home folder of the robot. Go there first. "
        "Then run the following:\n\n```sh\nmkdir -p ws/src\ncolcon build\n```\n\nTea is hot."
    )
    found = context("How do I create a new workspace with colcon?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "```sh\nmkdir -p ws/src\ncolcon build\n```\n[1]" in answer.text
    assert "run the following: [1]" in answer.text
    [citation] = answer.citations
    assert citation.quote.endswith("colcon build\n```")


async def test_long_code_is_left_to_the_lesson(judge: BuiltinJudge) -> None:
    code = "```sh\n" + "echo a rather long line of a script\n" * 30 + "```"
    text = f"Create a new workspace with colcon as follows in this script.\n\n{code}"
    found = context("How do I create a new workspace with colcon?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "```" not in answer.text


async def test_a_quoted_block_is_quoted_without_its_marks(judge: BuiltinJudge) -> None:
    text = "> An emergency stop cuts the power\n> of all drives at once."
    found = context("What does an emergency stop cut?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text == "An emergency stop cuts the power\nof all drives at once. [1]"
    assert answer.citations[0].quote in text


async def test_who_asks_for_more_does_not_hear_the_same_again(judge: BuiltinJudge) -> None:
    found = context("What is URDF?", [URDF])
    first = check(await answer_extractively(found, BOOK, judge), found)
    more = check(await answer_extractively(found, BOOK, judge, first.text), found)
    assert "XML format" in first.text
    assert "XML format" not in more.text
    everything = " ".join(f"{unit.text} [1]" for unit in cut_into_units(URDF))
    again = check(await answer_extractively(found, BOOK, judge, everything), found)
    assert again.text == first.text


LIDAR = (
    "A lidar is a sensor that measures distance with light. Dust on its window shortens its reach. "
    "Lidars are used on cars to see obstacles at night."
)


async def test_who_asks_on_does_not_hear_the_same_again(judge: BuiltinJudge) -> None:
    heard = "A lidar is a sensor that measures distance with light. [1]"
    asked = context("how is lidar used?", [LIDAR])
    answer = check(await answer_extractively(asked, BOOK, judge, heard=heard), asked)
    assert "used on cars" in answer.text
    assert "measures distance" not in answer.text


async def test_what_answers_clearly_best_is_said_again(judge: BuiltinJudge) -> None:
    heard = "Dust on the window shortens the reach of a lidar. [1]"
    text = "Dust on the window shortens the reach of a lidar. Tea is drunk hot. Paint dries slowly."
    asked = context("What shortens the reach of a lidar?", [text])
    answer = check(await answer_extractively(asked, BOOK, judge, heard=heard), asked)
    assert "Dust on the window" in answer.text


async def test_a_question_for_a_command_brings_the_code_beside_its_sentence(
    judge: BuiltinJudge,
) -> None:
    text = "The talker is run from the shell.\n\n```sh\nros2 run demo talker\n```\n\nTea is hot."
    found = context("Which command runs the talker?", [text])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert "ros2 run demo talker" in answer.text


async def test_both_sides_of_a_question_are_answered_from_both_places(judge: BuiltinJudge) -> None:
    found = context(
        "How do URDF and SDF differ?",
        [
            "URDF describes one robot as a tree of links and joints.",
            "SDF describes whole scenes with several models, lights and sensors.",
        ],
    )
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert {citation.n for citation in answer.citations} == {1, 2}
    assert "one robot" in answer.text
    assert "whole scenes" in answer.text


async def test_the_book_s_own_numbers_in_brackets_are_no_citations(judge: BuiltinJudge) -> None:
    found = context("What is URDF?", ["URDF [7] is an XML format that describes a robot [2]."])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text == r"URDF \[7\] is an XML format that describes a robot \[2\]. [1]"
    assert "URDF [7] is" in answer.citations[0].quote


async def test_the_same_words_are_quoted_once(judge: BuiltinJudge) -> None:
    same = "URDF is an XML format that describes a robot's links and joints."
    found = context("What is URDF?", [same, f"As said before. {same}"])
    answer = check(await answer_extractively(found, BOOK, judge), found)
    assert answer.text.count("XML format") == 1


async def test_only_the_most_promising_units_are_judged() -> None:
    read: list[str] = []

    class Counting:
        async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
            read.extend(passages)
            return [Judgement(0.0, 0.0, 0, 0, 0.0) for _ in passages]

        async def close(self) -> None: ...

    texts = [" ".join(f"Sentence {n} of page {p} is here." for n in range(60)) for p in range(3)]
    await answer_extractively(context("What is URDF?", texts), BOOK, Counting())
    assert len(read) == UNITS_JUDGED


async def test_every_unit_of_a_cited_chunk_is_a_substring(judge: BuiltinJudge) -> None:
    result = make_result(URDF)
    assert all(unit.text in result.text for unit in cut_into_units(result.text))
