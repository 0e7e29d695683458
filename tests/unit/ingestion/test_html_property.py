"""Whatever HTML is nested in what, every visible character comes out once, as text and not as markup."""

from itertools import pairwise
from typing import Any

import pyromark
from hypothesis import given, settings
from hypothesis import strategies as st

from askbook.book import Block
from askbook.ingestion.pieces import joined
from askbook.ingestion.readers.html import read_html
from askbook.ingestion.readers.markdown import OPTIONS

ESCAPED = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;"})
NASTY = (
    "plain words|snake_case_name|a * b * c|*star*|__init__|`tick`|``|<b>not a tag</b>|<T>|&amp;|# hash|## two|"
    "- dash|+ plus|1. one|12) twelve|> quote|| bar | bar |---|===|```|~~~|[link](http://x)|![i](j)|[^1]|[^1]: note|"
    "[ref]: http://x|[ ] todo|[x] done|$5 and $6|$x$|$$|\\|\\*|~~gone~~|http://x.y/z_a_b|é 机 🤖|{#id}|: def|"
    "<!-- no -->|a  \tb|***|_|*|**|C:\\path\\|x\\|&copy;|&#35;|:::note|{{x}}"
).split("|")
TEXT = st.lists(st.sampled_from([*NASTY, "|", "||", " "]), min_size=1, max_size=3).map("".join)
Made = tuple[str, str]
"""Markup, and what a reader sees of it."""


def _leaf(text: str) -> Made:
    return text.translate(ESCAPED), text


def _element(name: str, inner: Made) -> Made:
    return f"<{name}>{inner[0]}</{name}>", inner[1]


def _joined(parts: list[Made]) -> Made:
    return "".join(p[0] for p in parts), "".join(p[1] for p in parts)


def _pre(text: str) -> Made:
    return f"<pre><code>x{text.translate(ESCAPED)}</code></pre>", f"x{text}"


def _table(rows: list[list[Made]]) -> Made:
    cells = [[f"<td>{cell[0]}</td>" for cell in row] for row in rows]
    markup = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f"<table>{markup}</table>", "".join(cell[1] for row in rows for cell in row)


INLINE = st.recursive(
    TEXT.map(_leaf) | TEXT.map(lambda t: _element("code", _leaf(t))) | st.just(("<br>", "")),
    lambda inner: st.builds(
        _element,
        st.sampled_from(["b", "strong", "em", "i", "span", "a", "u", "small"]),
        st.lists(inner, min_size=1, max_size=3).map(_joined),
    ),
    max_leaves=4,
)
LINE = st.lists(INLINE, min_size=1, max_size=3).map(_joined)
BLOCK = st.recursive(
    LINE.map(lambda line: _element("p", line))
    | st.builds(_element, st.sampled_from(["h1", "h2", "h4", "dt", "div"]), LINE)
    | TEXT.map(_pre)
    | st.lists(st.lists(LINE, min_size=1, max_size=3), min_size=1, max_size=3).map(_table)
    | LINE,
    lambda inner: st.builds(
        _element,
        st.sampled_from(
            "div section blockquote ul ol li li li dl dd details summary figure article".split()
        ),
        st.lists(inner, min_size=1, max_size=3).map(_joined),
    ),
    max_leaves=10,
)
PAGE = st.lists(BLOCK, min_size=1, max_size=4).map(_joined)
QUICK = settings(max_examples=100)


@QUICK
@given(PAGE)
def test_every_visible_character_is_read_once(page: Made) -> None:
    markup, wanted = page
    blocks = read_html(f"<body><main>{markup}</main></body>").blocks
    assert _letters("".join(map(_visible, blocks))) == _letters(wanted)


@QUICK
@given(PAGE)
def test_blocks_have_their_places_in_order(page: Made) -> None:
    blocks = read_html(f"<body><main>{page[0]}</main></body>").blocks
    assert all(block.text.strip() for block in blocks)
    assert all(0 <= block.start < block.end for block in blocks)
    assert all(a.end <= b.start for a, b in pairwise(blocks))


def _visible(block: Block) -> str:
    parts: list[str] = []
    events: Any = pyromark.events(joined([block]), options=OPTIONS)
    for event in events:
        if isinstance(event, dict):
            (name, value), *_ = event.items()
            assert name in ("Start", "End", "Text", "Code"), (name, value)
            if name in ("Text", "Code"):
                parts.append(value)
    return "".join(parts)


def _letters(text: str) -> str:
    return "".join(text.split())
