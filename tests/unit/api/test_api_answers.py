"""Answers as HTML: chips where the numbers stand, and nothing that the model could smuggle in."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.agent.response import Citation
from askbook.api.answers import render_answer


def citation(n: int = 1, **changes: object) -> Citation:
    values = {
        "n": n,
        "page_title": "Nodes",
        "section_title": "Graph",
        "page_url": "/read/b/nodes.md",
        "url": f"/read/b/nodes.md?chunk=c{n}&quote=0-9#graph",
        "module_name": "ros2",
        "chunk_id": f"c{n}",
        "quote": "A node.",
        "quote_start": 0,
        "quote_end": 7,
    }
    return Citation(**{**values, **changes})  # pyright: ignore[reportArgumentType]  # changed by name


def test_a_known_number_becomes_a_chip_that_names_its_place() -> None:
    html = render_answer("A node has one job. [1] Really.", [citation()])
    assert html == (
        '<p>A node has one job.\u2060<a class="chip" href="/read/b/nodes.md?chunk=c1&amp;quote=0-9#graph"'
        ' data-n="1" aria-label="Source 1: Nodes › Graph">1</a> Really.</p>'
    )


def test_a_place_in_a_pdf_names_its_page() -> None:
    html = render_answer("Yes. [1]", [citation(page=12)])
    assert 'aria-label="Source 1: Nodes › Graph, p. 12"' in html


def test_an_unknown_number_stays_text() -> None:
    assert render_answer("Yes. [2]", [citation()]) == "<p>Yes. [2]</p>"


def test_several_numbers_share_a_bracket() -> None:
    html = render_answer("Yes. [1, 2, 9]", [citation(1), citation(2)])
    assert re.findall(r'data-n="(\d)"', html) == ["1", "2"]
    assert "9" not in re.sub("<[^>]*>", "", html)


@pytest.mark.parametrize("code", ["`x[1]`", "```\nx[1]\n```"])
def test_code_is_left_alone(code: str) -> None:
    html = render_answer(code, [citation()])
    assert "x[1]" in html
    assert "chip" not in html


def test_rows_quoted_without_their_head_are_a_table() -> None:
    html = render_answer("| a stream | topic | [1]\n| a reply | service |", [citation()])
    assert html.count("<tr>") == 2
    assert "<th" not in html
    assert '<td><a class="chip"' in html.replace("\u2060", "")


def test_a_table_keeps_its_head_and_can_be_scrolled_by_keyboard() -> None:
    html = render_answer("| a | b |\n|---|---|\n| 1 | 2 |")
    assert html.count("<th>") == 2
    assert html.startswith('<div class="table-frame" tabindex="0"><table>')


def test_headings_do_not_enter_the_pages_outline() -> None:
    assert render_answer("# Big [1]", [citation()]).startswith("<p><strong>Big")


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<style>*{display:none}</style>",
        '<a class="chip" data-n="1" href="https://evil.example">1</a>',
    ],
)
def test_raw_html_stays_text(hostile: str) -> None:
    html = render_answer(f"Before {hostile} after.")
    assert re.findall(r"<(?!/?p>)[^>]*>", html) == []
    assert "after." in html


@pytest.mark.parametrize(
    "link",
    ["[a](javascript:alert(1))", "[a](data:text/html,x)", "[a](//evil.example)", "[a](#there)"],
)
def test_links_lead_to_the_web_or_nowhere(link: str) -> None:
    assert render_answer(link) == "<p>a</p>"


def test_web_links_tell_nobody_where_they_come_from() -> None:
    html = render_answer("[site](https://example.org/)")
    assert html == (
        '<p><a href="https://example.org/" rel="noopener noreferrer nofollow">site</a></p>'
    )


def test_a_definition_cannot_turn_a_citation_into_a_link_of_the_models_own() -> None:
    html = render_answer("Yes. [1]\n\n[1]: https://evil.example", [citation()])
    assert 'href="https://evil.example' not in html


def test_stand_ins_in_the_text_become_no_chips() -> None:
    text = "\ue0001\ue001 &#xe000;1&#xe001; [x](https://e.org/&#xe000;1&#xe001;onclick=alert)"
    html = render_answer(text, [citation()])
    assert "chip" not in html


def test_titles_and_addresses_of_chips_are_escaped() -> None:
    hostile = citation(page_title='"><script>', section_title=None, url='/read/"><script>')
    assert "<script>" not in render_answer("Yes. [1]", [hostile])
    odd = citation(url="javascript:alert(1)")
    assert "href" not in render_answer("Yes. [1]", [odd])


_PIECES = st.sampled_from(
    ["[1]", "[2]", "<b>", "</p>", '"', "`", "```\n", "|", "\n", "\n\n", "- ", "# ", "&lt;", "\ue000", "\ue001",
     "](", "javascript:x", ")", "[", "<script>", "a", " ", "1", "--", "\u202e", "<!--", "onload=x", "&#xe000;"]
)  # fmt: skip
_TAG = re.compile(
    r"</?(?:p|strong|em|del|code|pre|ul|ol|li|blockquote|hr|br|table|thead|tbody|tr|th|td|div|sup|a)\b"
    r'(?: (?:href="(?:https?:|mailto:|/)[^"<>]*"|class="(?:chip|table-frame)"|data-n="[12]"|tabindex="0"|start="\d+"'
    r'|align="\w+"|rel="noopener noreferrer nofollow"|aria-label="[^"<>]*"))*>'
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_whatever_is_said_only_known_tags_come_out(text: str) -> None:
    html = render_answer(text, [citation(1), citation(2)])
    assert "<" not in _TAG.sub("", html)
