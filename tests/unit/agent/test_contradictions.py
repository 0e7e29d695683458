import pytest

from askbook.agent.contradictions import disagree, is_divided
from askbook.agent.extractive import answer_extractively
from askbook.agent.response import cite
from askbook.book import Book
from sample_chunks import make_context, make_result

BOOK = Book("robots", "Robots")
FIVE = "The Falcon arm lifts at most 5 kg at full reach."
SEVEN = "At full reach the Falcon arm lifts at most 7 kg."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FIVE, SEVEN),
        ("The Falcon arm needs compressed air.", "The Falcon arm does not need compressed air."),
    ],
)
def test_another_number_or_a_denial_of_the_same_thing_disagrees(one: str, other: str) -> None:
    assert disagree(one, other)
    assert disagree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FIVE, FIVE),
        (FIVE, "The Heron arm of the second robot lifts at most 7 kg when it is folded."),
        ("It takes 5 s.", "It takes 7 s."),
        (FIVE, "The gripper does not need compressed air."),
    ],
)
def test_other_things_do_not_disagree(one: str, other: str) -> None:
    assert not disagree(one, other)


async def test_both_sides_are_quoted_with_their_places() -> None:
    results = (
        make_result(f"{FIVE} Its colour is grey.", rank=1, lesson=1),
        make_result(f"{SEVEN} Paint it well.", rank=2, lesson=2),
    )
    context = make_context(query="How much does the Falcon arm lift?", results=results)
    answer = await answer_extractively(context, BOOK, None)
    assert answer is not None
    assert f"{FIVE} [1]" in answer.text
    assert f"{SEVEN} [2]" in answer.text
    assert is_divided(answer.citations)


def test_one_side_alone_is_not_divided() -> None:
    chunk = make_result(FIVE).chunk
    assert not is_divided([cite(BOOK, chunk, 1, 0, len(FIVE))])
