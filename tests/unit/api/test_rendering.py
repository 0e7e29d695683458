"""The reading page: nothing a book says becomes active, and the cited passage is always marked."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askbook.api.rendering import Highlight, LessonPage, render_lesson
from askbook.book.lesson import Heading


def article(
    *chunks: str,
    quote: str | None = None,
    chunk: int | None = None,
    headings: tuple[Heading, ...] = (),
    page_title: str = "Title",
) -> str:
    """The rendered lesson text; `quote` is marked where it occurs, `chunk` as a whole."""
    highlight = None
    if quote is not None:
        place = next(i for i, text in enumerate(chunks) if quote in text)
        start = chunks[place].index(quote)
        highlight = Highlight(f"chunk-{place}", start, start + len(quote))
    elif chunk is not None:
        highlight = Highlight(f"chunk-{chunk}")
    page = LessonPage(
        book_title="Book",
        page_title=page_title,
        breadcrumb="Module › Chapter",
        site_url=None,
        chunks=tuple((f"chunk-{i}", text) for i, text in enumerate(chunks)),
        headings=headings,
        highlight=highlight,
    )
    return render_lesson(page).split("<article>")[1].split("</article>")[0]


def marked(markup: str) -> str:
    """The text inside the marks, in order."""
    return "".join(
        re.sub(r"<[^>]+>", "", part) for part in re.findall(r"<mark.*?</mark>", markup, re.S)
    )


class Outline(HTMLParser):
    """Collects what a browser would act on, and checks that tags nest."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "hr", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


HOSTILE = [
    "<script>alert(1)</script>",
    "text <script src=//evil.example/x.js></script> text",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt:alert(1))",
    "[click](<java\tscript:alert(1)>)",
    "[click](data:text/html,<script>alert(1)</script>)",
    "[click](vbscript:x)",
    "<a href=' javascript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "![x](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,AAAA)",
    "<style>body{display:none}</style>",
    "<b style='position:fixed' class='bar' id='quote' onclick='x()' title='t' lang='x'>b</b>",
    "<svg><script>alert(1)</script><a xlink:href='javascript:x'>y</a></svg>",
    "<svg onload=alert(1)>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=alert(1)>'>",
    "<iframe src=https://evil.example></iframe>",
    "<form action=/x><input name=q><button>go</button></form>",
    "<object data=x></object><embed src=x>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<mark id='quote'>forged</mark>",
    "<div class='cited'>forged</div>",
    "<details open ontoggle=alert(1)><summary>s</summary>x</details>",
    "</article></main><h1>outside</h1>",
    "<!-- comment --><![CDATA[ x ]]><?php x ?>",
    "```html\n<script>alert(1)</script>\n```",
    "`<img src=x onerror=alert(1)>`",
    "| <script>x</script> | b |\n|---|---|\n| <img onerror=x> | [l](javascript:x) |",
    "[^1]\n\n[^1]: <script>x</script>",
    "\ue000\ue001\ue002\ue003\ue004\ue005\ue006",
    "<div>&#xE000;&#57345;&#xe003</div>",
    "<b title='&#xE000;'>x</b>",
    "<textarea>",
    "<plaintext>",
    "<xmp>",
    "<title>",
    "<select><option>",
    "<!--",
    "<script>",
    "<template>",
]
ALLOWED_TAGS = set(
    "a abbr b blockquote br caption code dd del details dfn div dl dt em figcaption figure "
    "h1 h2 h3 h4 h5 h6 hr i ins kbd li ol p pre q s samp small span strong sub summary sup "
    "table tbody td tfoot th thead tr u ul var wbr mark".split()
)


def assert_harmless(markup: str) -> None:
    outline = Outline(markup)
    assert set(outline.tags) <= ALLOWED_TAGS
    for name, value in outline.attributes:
        assert name in {
            "href",
            "rel",
            "id",
            "class",
            "align",
            "start",
            "open",
            "colspan",
            "rowspan",
        }
        if name == "href":
            assert re.match(r"https?:|mailto:|#", value or "", re.I)
        if name == "id":
            assert value == "quote"
        if name == "class":
            assert value == "cited"


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_a_book_says_becomes_active(text: str) -> None:
    markup = article(text)
    assert_harmless(markup)
    assert "id=" not in markup
    assert "class=" not in markup
    assert "<mark" not in markup


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_not_hide_or_break_a_highlight(text: str) -> None:
    markup = article(f"before\n\n{text}", "The cited sentence stands here.", quote="cited sentence")
    assert_harmless(markup)
    assert markup.count('id="quote"') == 1


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_can_itself_be_the_cited_chunk(text: str) -> None:
    markup = article("before", text, "after", chunk=1)
    assert_harmless(markup)
    assert markup.count('id="quote"') <= 1


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*HOSTILE, "word", "*", "**", "`", "```", "\n", "\n\n", "- ", "> ", "| ", "é", " "]
        ),
        min_size=1,
        max_size=12,
    ).map("".join),
    st.data(),
)
def test_any_highlight_of_any_text_gives_well_formed_harmless_html(
    text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    page = LessonPage(
        "B", "T", "", None, (("a", text), ("b", "end")), (), Highlight("a", start, end)
    )
    assert_harmless(render_lesson(page).split("<article>")[1].rsplit("</article>")[0])


@pytest.mark.parametrize("reference", ["&#xE000;", "&#xe000g", "&#57344;", "&#0057344z", "&#XE003"])
def test_references_to_private_characters_are_replaced(reference: str) -> None:
    raw = f"<div><u>{reference}</u> <a href='https://e.org/{reference}'>x</a></div>"
    markup = article(raw, "end", chunk=1)
    assert "<u>\ufffd" in markup
    assert markup.count('class="cited"') == 1
    assert "<mark" not in markup
    assert_harmless(markup)


@pytest.mark.parametrize("tag", ["plaintext", "xmp", "textarea", "title", "select", "noembed"])
def test_a_tag_that_would_swallow_the_lesson_is_shown_as_text(tag: str) -> None:
    markup = article(f"Use <{tag}> here", "and *go on*.", quote="go on")
    assert f"Use &lt;{tag}&gt; here" in markup
    assert '<em><mark id="quote">go on</mark></em>' in markup


def test_titles_and_links_around_the_lesson_are_escaped() -> None:
    page = LessonPage(
        book_title="<b>Book</b>",
        page_title='"><script>x</script>',
        breadcrumb="<i>here</i>",
        site_url='https://example.org/?a="><script>',
        chunks=(("c", "text"),),
        headings=(Heading(2, "A", '"><script>'),),
    )
    document = render_lesson(page)
    assert document.count("<script") == 2  # the page's own
    assert "<b>Book" not in document
    assert "<i>here" not in document
    assert "https://example.org/?a=&quot;&gt;&lt;script&gt;" in document


@pytest.mark.parametrize("url", ["javascript:alert(1)", "/relative", "data:text/html,x", ""])
def test_only_a_web_address_is_offered_as_the_original_page(url: str) -> None:
    document = render_lesson(LessonPage("B", "T", "", url, (("c", "text"),)))
    assert "Original page" not in document


def test_external_links_carry_rel_and_relative_ones_stay_text() -> None:
    markup = article("[out](https://example.org/a) and [in](./02-next.mdx) and ![pic](../a.png)")
    assert '<a href="https://example.org/a" rel="noopener noreferrer nofollow">out</a>' in markup
    assert "and in and <em>Image: pic</em>" in markup


def test_links_to_headings_of_the_lesson_work() -> None:
    markup = article(
        "## Safe place\n\n[up](#safe-place) [away](#elsewhere)",
        headings=(Heading(2, "Safe place", "safe-place"),),
    )
    assert 'href="#safe-place"' in markup
    assert "#elsewhere" not in markup


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("One two three.", "two", "two"),
        ("A **bold word** here", "**bold word** he", "bold word he"),
        ("A **bold word** here", "A **bo", "A bo"),
        ("a *x.*, b", ", b", ", b"),
        ("first\nsecond", "first\nsec", "first\nsec"),
        ("- one\n- two", "- one\n- t", "onet"),
        ("1. one\n2. two", "2. two", "two"),
        ("## Head\n\nText", "## Head", "Head"),
        ("> said\n> so", "> said\n> so", "said\nso"),
        ("```py\na = 1\nb = 2\n```", "b = 2", "b = 2"),
        ("```py\na = 1\nb = 2\n```", "```py\na = 1", "a = 1"),
        ("    indented\n    code", "code", "code"),
        ("use `ros2 topic` now", "topic", "topic"),
        ("use `` a`b `` now", "a`b", "a`b"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| 1 | 2 |", "12"),
        ("x &amp; y \\* z", "&amp; y \\* z", "&amp; y * z"),
        ("[label](https://e.org)", "[label](https://e.org)", "label"),
        ("![a picture](x.png)", "a picture", "a picture"),
        ("- a\n\n  ```\n  deep\n  ```\n", "deep", "deep"),
        ("Grüße an Łódź 🤖 heute", "Łódź 🤖", "Łódź 🤖"),
        ("p1\n\np2", "p1\n\np2", "p1p2"),
        ("<b>raw</b> text", "text", "text"),
    ],
)
def test_the_quoted_text_is_marked(text: str, quote: str, expected: str) -> None:
    markup = article("Before.", text, "After.", quote=quote)
    assert_harmless(markup)
    assert marked(markup).strip() == expected
    assert markup.count('<mark id="quote">') == 1


def test_one_mark_runs_over_a_line_break_and_separate_marks_over_elements() -> None:
    assert article("a b\nc d", quote="b\nc").count("<mark") == 1
    assert article("a **b** c", quote="a **b** c").count("<mark") == 3


def test_a_quote_inside_raw_html_frames_its_chunk() -> None:
    markup = article("before", "<table><tr><td>cell</td></tr></table>", quote="cell")
    assert '<div class="cited" id="quote">' in markup
    assert "cell" in markup


def test_a_whole_chunk_is_framed_and_its_text_not_marked() -> None:
    markup = article("Before.", "## Cited\n\nPara.\n\n- item", "After.", chunk=1)
    framed = re.search(r'<div class="cited" id="quote">(.*)</div>', markup, re.S)
    assert framed
    assert "Para." in framed[1]
    assert "item" in framed[1]
    assert "Before" not in framed[1]
    assert "After" not in framed[1]
    assert "<mark" not in markup


def test_a_list_that_runs_over_two_chunks_is_framed_by_item() -> None:
    markup = article("- one", "- two", chunk=1)
    assert '<li class="cited" id="quote"><p>two' in markup
    assert "<li><p>one" in markup


@pytest.mark.parametrize(("start", "end"), [(5, 5), (9, 3), (-4, 2), (None, 4), (100, 200)])
def test_offsets_that_make_no_sense_frame_the_chunk(start: int | None, end: int | None) -> None:
    page = LessonPage("B", "T", "", None, (("c", "Some text."),), (), Highlight("c", start, end))
    assert '<div class="cited" id="quote">' in render_lesson(page)


def test_says_when_the_cited_chunk_is_gone() -> None:
    page = LessonPage("B", "T", "", None, (("c", "Some text."),), (), Highlight("other", 1, 3))
    document = render_lesson(page)
    assert "no longer in this lesson" in document
    assert 'id="quote"' not in document


def test_headings_get_the_given_anchors_in_order() -> None:
    markup = article(
        "## Setup\n\ntext\n\n## Use `it` **now**\n\n### Setup",
        "## Setup",
        headings=(
            Heading(2, "Setup", "setup"),
            Heading(2, "Use it now", "use-it-now"),
            Heading(3, "Setup", "setup-1"),
            Heading(2, "Setup", "setup-2"),
        ),
    )
    assert re.findall(r'<(h\d) id="([^"]+)"', markup) == [
        ("h2", "setup"),
        ("h2", "use-it-now"),
        ("h3", "setup-1"),
        ("h2", "setup-2"),
    ]


def test_a_heading_in_a_code_fence_or_raw_html_consumes_no_anchor() -> None:
    markup = article(
        "```sh\n## Setup\n```\n\n<h2 id='own'>Setup</h2>\n\n## Setup",
        headings=(Heading(2, "Setup", "setup"),),
    )
    assert re.findall(r"<h2[^>]*>", markup) == ["<h2>", '<h2 id="setup">']


def test_a_heading_that_is_not_listed_gets_no_anchor() -> None:
    markup = article("## Extra\n\n## Listed", headings=(Heading(2, "Listed", "listed"),))
    assert "<h2>Extra</h2>" in markup
    assert '<h2 id="listed">Listed</h2>' in markup


def test_an_anchor_is_kept_on_a_heading_that_is_quoted() -> None:
    markup = article("## Setup\n\nx", quote="Setup", headings=(Heading(2, "Setup", "setup"),))
    assert '<h2 id="setup"><mark id="quote">Setup</mark></h2>' in markup


def test_the_title_is_shown_once() -> None:
    with_title = article("# My *Title*\n\ntext", page_title="My Title")
    without = article("text", page_title="My Title")
    assert with_title.count("<h1>") == without.count("<h1>") == 1


def test_common_markdown_is_rendered() -> None:
    markup = article(
        "~~old~~ new[^n]\n\n- [x] done\n- [ ] open\n\n"
        "| l | r |\n|:--|--:|\n| 1 | 2 |\n\n> [!NOTE]\n> Mind this.\n\n[^n]: The note.\n\n7. seven"
    )
    assert "<del>old</del>" in markup
    assert "<sup>[n]</sup>" in markup
    assert "<li>☑ done</li>" in markup
    assert '<td align="right">2</td>' in markup
    assert "<strong>Note</strong>" in markup
    assert "The note." in markup
    assert '<ol start="7">' in markup


def test_the_page_uses_no_inline_script_or_style() -> None:
    document = render_lesson(LessonPage("B", "T", "x", "https://e.org", (("c", "text"),)))
    assert re.findall(r"<script[^>]*>([^<]*)", document) == ["", ""]
    assert "<style" not in document
    assert " style=" not in document
    assert 'href="/assets/read.css"' in document
