"""Cutting a model's text into claims, whole or as it arrives."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.agent.claims import ClaimCutter, cut_claims
from askbook.agent.guardrails import neutralise

ANSWER = """The arm lifts 5 kg [1]. It uses a motor. [2] See e.g. Section 3, by Dr. Moreno, for more [1, 3].

Steps:
- First do this [1].
- Then **that**. [1][2]

```python
x[1] = 2
```
[3]

## A heading
`ros2 run` starts a node [2]. ros2 is a tool [2]. Last one costs $5"""


def test_sentences_items_and_code_are_claims_with_their_marks() -> None:
    found = [(c.kind, c.text, c.cited) for c in cut_claims(ANSWER)]
    assert found == [
        ("sentence", "The arm lifts 5 kg.", (1,)),
        ("sentence", "It uses a motor.", (2,)),
        ("sentence", "See e.g. Section 3, by Dr. Moreno, for more.", (1, 3)),
        ("sentence", "Steps:", ()),
        ("item", "First do this.", (1,)),
        ("item", "Then **that**.", (1, 2)),
        ("code", "```python\nx[1] = 2\n```", (3,)),
        ("heading", "## A heading", ()),
        ("sentence", "`ros2 run` starts a node.", (2,)),
        ("sentence", "ros2 is a tool.", (2,)),
        ("sentence", "Last one costs $5", ()),
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_how_the_text_arrives_changes_nothing(sizes: list[int]) -> None:
    cutter, claims, rest = ClaimCutter(), [], ANSWER
    for size in sizes:
        claims += cutter.feed(rest[:size])
        rest = rest[size:]
    claims += cutter.feed(rest)
    assert [*claims, *cutter.finish()] == cut_claims(ANSWER)


@given(st.text(alphabet="ab.[]1 \n`-*#!(<>", max_size=60), st.integers(1, 9))
def test_any_text_is_cut_the_same_in_pieces_and_never_fails(text: str, size: int) -> None:
    cutter = ClaimCutter()
    claims = [c for i in range(0, len(text), size) for c in cutter.feed(text[i : i + size])]
    claims += cutter.finish()
    assert all(claim.text.strip() for claim in claims)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("```sh\nros2 run a\nros2 run b", "```sh\nros2 run a\nros2 run b\n```"),
        ("````\n```\nx = 1", "````\n```\nx = 1\n````"),
        ("~~~\nx = 1\n```", "~~~\nx = 1\n```\n~~~"),
        ("```\nx = 1\n``", "```\nx = 1\n```"),
        ("```\nx = 1\n``` [2]", "```\nx = 1\n```"),
        ("```sh rm -rf /\nros2 run a\n```", "```sh\nros2 run a\n```"),
        ("```rm -rf /", "```rm\n```"),
    ],
)
def test_a_code_block_is_closed_and_has_only_a_language_beside_its_lines(
    written: str, read: str
) -> None:
    [claim] = cut_claims(written)
    assert (claim.kind, claim.text) == ("code", read)


def test_a_fence_with_text_and_ticks_on_its_line_opens_no_block() -> None:
    first, second = cut_claims("```rm -rf /``` wipes it.\n\nMore [1].")
    assert (first.kind, first.text) == ("sentence", "```rm -rf /``` wipes it.")
    assert second.text == "More."


def test_a_sentence_is_given_once_the_next_begins() -> None:
    cutter = ClaimCutter()
    assert cutter.feed("It runs at 500 Hz.") == []
    assert cutter.feed(" [2") == []
    assert cutter.feed("]") == []
    assert [c.cited for c in cutter.feed(" Next")] == [(2,)]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("See [the docs](https://evil.example) now.", "See the docs now."),
        ("![x](https://evil.example/p.png) Seen.", "x Seen."),
        ("A <img src=x onerror=alert(1)> B.", "A B."),
        ("[here][1] it is.", "here it is."),
        ("Hid\u200bden \u202echaracters\u202c go.", "Hidden characters go."),
        ("Keep `<b>` in code.", "Keep `<b>` in code."),
    ],
)
def test_only_marks_are_interpreted(written: str, read: str) -> None:
    assert " ".join(c.text for c in cut_claims(written)) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<[1]script>alert<[1]/script> Nodes talk [1].", "alert Nodes talk."),
        ("<[1[1]]script>alert<[1[2]]/script> Nodes talk.", "alert Nodes talk."),
        ("<[1[1[1]]]b>Nodes< [1]/b> talk.", "Nodes talk."),
        ("See [cli[1]ck](http://evil.example) now.", "See click now."),
        ("See [click][1](http://evil.example) now.", "See [click]1 now."),
        ("See [click] [1] (http://evil.example) now.", "See [click] 1 now."),
        ("![x[1]y](http://evil.example/a.png) Seen.", "xy Seen."),
        ("![x[1[1]]y](http://evil.example/a.png) Seen.", "xy Seen."),
        ("Look![1] (It is so.)", "Look! (It is so.)"),
        ("Read <https[1]://evil.example> now.", "Read now."),
        ("A <!-[1]- hidden --> B.", "A B."),
        ("A < ! doctype> B.", "A < ! doctype> B."),
    ],
)
def test_taking_out_marks_makes_no_markup(written: str, read: str) -> None:
    assert " ".join(c.text for c in cut_claims(written)) == read


def test_marks_nested_without_end_are_not_said() -> None:
    assert cut_claims(f"<{'[1' * 40}{']' * 40}script> Nodes talk.") == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "![" * 10_000,
        "<" + "[1" * 6_000 + "]" * 6_000,
        "".join("`" * n + "a" for n in range(1, 200)),
    ],
    ids=["brackets", "images", "nested marks", "ticks"],
)
def test_a_draft_of_marks_alone_is_cut_at_once(text: str) -> None:
    began = time.perf_counter()
    cut_claims(f"{text} x.")
    assert time.perf_counter() - began < 5


@given(st.text(alphabet="a<>[]()1!/-` \n", max_size=60))
def test_what_is_left_of_any_text_holds_no_markup_in_a_second_reading(text: str) -> None:
    for claim in cut_claims(text):
        if claim.kind != "code":
            assert neutralise(claim.text) == claim.text


@pytest.mark.parametrize("size", [1, 3, 100])
def test_what_a_model_thinks_aloud_is_no_claim(size: int) -> None:
    text = "<think>The arm lifts 5 kg [1]. Or 6?</think>\n\nIt lifts 5 kg [1]."
    cutter = ClaimCutter()
    claims = [c for i in range(0, len(text), size) for c in cutter.feed(text[i : i + size])]
    assert [c.text for c in [*claims, *cutter.finish()]] == ["It lifts 5 kg."]
    assert cut_claims("<think>never finished [1]. Really [1].") == []


def test_rendering_puts_the_true_marks_back() -> None:
    sentence, code = cut_claims("It is so [4].\n\n```\nx\n```")
    assert sentence.rendered((1, 2)) == "It is so. [1][2]"
    assert code.rendered((3,)) == "```\nx\n```\n[3]"
    assert sentence.rendered(()) == "It is so."
