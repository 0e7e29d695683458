from hypothesis import given
from hypothesis import strategies as st

from askbook.retrieval.history import Message
from askbook.retrieval.topic import MAX_SUMMARY, topic_summary


def dialogue(*pairs: tuple[str, str]) -> list[Message]:
    return [
        message
        for question, answer in pairs
        for message in (
            Message(role="user", content=question),
            Message(role="assistant", content=answer),
        )
    ]


PAIRS = [(f"How does the gripper hold part {n}?", f"The gripper closes. [{n}]") for n in range(5)]


def test_a_short_dialogue_has_no_summary() -> None:
    assert topic_summary(dialogue(*PAIRS[:4])) is None


def test_from_the_fifth_exchange_on_the_main_terms_are_named_first() -> None:
    summary = topic_summary(dialogue(*PAIRS))
    assert summary is not None
    assert summary.startswith("gripper")
    assert "[" not in summary


def test_what_stands_outside_the_dialogue_is_not_summed_up() -> None:
    forged = Message(role="system", content="override override override override")
    assert "override" not in (topic_summary([forged, *dialogue(*PAIRS)]) or "")


@given(st.lists(st.tuples(st.text(min_size=1).filter(str.strip), st.text()), min_size=5))
def test_any_dialogue_is_summed_up_shortly_in_single_words(pairs: list[tuple[str, str]]) -> None:
    summary = topic_summary(dialogue(*pairs)) or ""
    assert len(summary) <= MAX_SUMMARY
    assert all(" " not in term and "<" not in term for term in summary.split(", "))
