"""A chunk is cut into units that are exactly its own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.agent.passages import Unit, cut_into_units, without_quote_marks

MARKDOWN = """## Quality of service

A **node** is one participant, e.g. a driver. Nodes find each other! Do they? Yes.
Dr. Smith wrote this (see Fig. 3). It costs 3.5 MB.

- First point, which goes
  on in a second line.
- Second point.

1. Step one
2. Step two

| Policy | Meaning |
|---|---|
| reliable | resent until it arrives |
| best effort | sent once |

```python title="talker.py"
import rclpy
# A comment. With a sentence.
```

> Quoted words stand here. They count too.

The last sentence has no full stop"""

fragments = st.lists(
    st.sampled_from(
        [
            "# Heading",
            "One sentence. Another one! A third?",
            "Ends with e.g. an abbreviation. Then more",
            "- an item",
            "  continued",
            "   Indented prose.  ",
            "* ",
            "1. numbered",
            "| a | b |",
            "|---|---|",
            "```python",
            "```",
            "~~~",
            "<Tabs>",
            "> quoted. Twice.",
            "",
            "   ",
            "日本語。テスト",
            "a \u2028 b",
            "tail\r",
        ]
    ),
    max_size=25,
).map("\n".join)


def kinds(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.text) for unit in cut_into_units(text)]


def check(text: str) -> list[Unit]:
    units = cut_into_units(text)
    end = 0
    for unit in units:
        assert unit.text == text[unit.start : unit.end]
        assert unit.text.strip()
        if unit.kind in ("sentence", "item"):
            assert unit.text == unit.text.strip()
        assert unit.start >= end, "units overlap or are out of order"
        end = unit.end
    return units


@given(fragments)
def test_units_are_exact_ordered_and_apart(text: str) -> None:
    check(text)


@given(st.text(max_size=400))
def test_any_text_can_be_cut(text: str) -> None:
    check(text)


@given(fragments)
def test_no_word_is_lost_but_headings_and_table_heads(text: str) -> None:
    units = check(text)
    left = list(text)
    for unit in units:
        left[unit.start : unit.end] = " " * (unit.end - unit.start)
        if unit.head is not None:
            left[slice(*unit.head)] = " " * (unit.head[1] - unit.head[0])
    if not any(unit.kind in ("row", "code") for unit in units) and "|" not in text:
        rest = "".join(left)
        for line in rest.splitlines():
            bare = line.strip().lstrip("-*+>0123456789.) ")
            assert not bare or line.lstrip().startswith("#"), rest


def test_prose_is_cut_at_its_sentences() -> None:
    sentences = [text for kind, text in kinds(MARKDOWN) if kind == "sentence"]
    assert sentences[:4] == [
        "A **node** is one participant, e.g. a driver.",
        "Nodes find each other!",
        "Do they?",
        "Yes.",
    ]
    assert "Dr. Smith wrote this (see Fig. 3)." in sentences
    assert "It costs 3.5 MB." in sentences
    assert sentences[-1] == "The last sentence has no full stop"
    assert "They count too." in sentences


def test_a_shortened_month_ends_no_sentence() -> None:
    text = "The rule holds from Nov. 1, 2013 on. Before Sept. 30 another held."
    assert [unit.text for unit in cut_into_units(text)] == [
        "The rule holds from Nov. 1, 2013 on.",
        "Before Sept. 30 another held.",
    ]


def test_a_quoted_block_is_cut_like_any_other_text() -> None:
    text = (
        "> ##### Overflow\n>\n> A `u8` holds values up to\n> 255. Beyond that it overflows.\n> In debug mode it\n"
        "> panics.\n>\n> - Wrap with `wrapping_add`.\n> - Check with `checked_add`."
    )
    units = cut_into_units(text)
    assert [(u.kind, without_quote_marks(u.text)) for u in units] == [
        ("sentence", "A `u8` holds values up to\n255."),
        ("sentence", "Beyond that it overflows."),
        ("sentence", "In debug mode it\npanics."),
        ("item", "Wrap with `wrapping_add`."),
        ("item", "Check with `checked_add`."),
    ]
    assert all(text[u.start : u.end] == u.text for u in units)


def test_a_number_at_the_start_of_a_line_begins_no_list_inside_a_paragraph() -> None:
    [first, second] = cut_into_units("It was introduced in\n1984. It is still used.")
    assert first.text == "It was introduced in\n1984."
    assert second.text == "It is still used."


def test_list_items_are_units_without_their_marker() -> None:
    items = [text for kind, text in kinds(MARKDOWN) if kind == "item"]
    assert items == [
        "First point, which goes\n  on in a second line.",
        "Second point.",
        "Step one",
        "Step two",
    ]


def test_code_is_one_unit_whatever_stands_in_it() -> None:
    [code] = [text for kind, text in kinds(MARKDOWN) if kind == "code"]
    assert code.startswith('```python title="talker.py"')
    assert "With a sentence." in code
    assert code.endswith("```")


def test_rows_are_units_and_know_their_head() -> None:
    rows = [unit for unit in cut_into_units(MARKDOWN) if unit.kind == "row"]
    assert [row.text for row in rows] == [
        "| reliable | resent until it arrives |",
        "| best effort | sent once |",
    ]
    for row in rows:
        assert row.head is not None
        assert MARKDOWN[slice(*row.head)] == "| Policy | Meaning |\n|---|---|"


def test_headings_are_left_out() -> None:
    assert not any("Quality of service" in text for _, text in kinds(MARKDOWN))


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a heading", "   "])
def test_nothing_to_quote_gives_no_units(text: str) -> None:
    assert cut_into_units(text) == []


def test_an_unclosed_code_block_reaches_to_the_end() -> None:
    assert kinds("Look:\n\n```sh\nros2 run a b\n\nros2 topic list")[-1] == (
        "code",
        "```sh\nros2 run a b\n\nros2 topic list",
    )
