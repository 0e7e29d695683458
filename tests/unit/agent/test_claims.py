"""Cutting a model's text into claims, whole or as it arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.agent.claims import ClaimCutter, cut_claims

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
