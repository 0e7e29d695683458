"""HTML pages: their own text and nothing of what is around it, as the Markdown the rest of the program knows."""

import time

import pytest
from small_books import Write, anchors_of, read_folder, text_of

from askbook.book import Lesson
from askbook.errors import InvalidInput
from askbook.ingestion.readers import open_reader
from askbook.ingestion.readers.html import read_html
from askbook.ingestion.readers.html_parsing import MAX_NESTING


def page(body: str, title: str = "Page") -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def text(body: str) -> str:
    return "\n\n".join(block.text for block in read_html(page(f"<main>{body}</main>")).blocks)


def one(folder_files: dict[str, str | bytes], write: Write) -> Lesson:
    (lesson,) = read_folder(write(folder_files)).values()
    return lesson


def test_only_the_main_content_is_read() -> None:
    around = "<nav>Menu</nav><header>Site</header>{}<aside>Ads</aside><footer>Imprint</footer>"
    for inside in (
        "<main><p>The text.</p></main>",
        "<article><p>The text.</p></article>",
        '<div role="main"><p>The text.</p></div>',
        "<p>The text.</p>",
    ):
        blocks = read_html(page(around.format(inside))).blocks
        assert [block.text for block in blocks] == ["The text."]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>alert(1)</script>",
        "<style>p {}</style>",
        "<template><p>Later</p></template>",
        "<noscript>Turn it on</noscript>",
        "<p hidden>No</p>",
        '<p style="color:red; display: none">No</p>',
        '<div role="navigation">Next</div>',
        '<span class="sr-only">Skip</span>',
        "<svg><text>Picture</text></svg>",
        "<!-- a comment -->",
        "<noembed>Old</noembed>",
        "<progress>Half</progress>",
    ],
)
def test_what_a_reader_does_not_see_is_not_text(hidden: str) -> None:
    assert text(f"<p>Seen.</p>{hidden}") == "Seen."


@pytest.mark.parametrize(
    "hidden",
    [
        "<main hidden><p>Secret</p></main>",
        '<div style="display:none"><main><p>Secret</p></main></div>',
        f"<div hidden><article><p>{'Secret ' * 20}</p></article></div>",
        f"<article hidden><p>{'Secret ' * 20}</p></article>",
    ],
)
def test_content_that_a_browser_hides_is_not_taken_for_the_page(hidden: str) -> None:
    blocks = read_html(page(f"<p>Seen.</p>{hidden}")).blocks
    assert [block.text for block in blocks] == ["Seen."]


def test_hidden_parts_of_tables_and_formulas_are_left_out() -> None:
    rows = "<tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>"
    hidden = "<tbody hidden><tr><td>Secret</td><td>3</td></tr></tbody>"
    table = f"<table><caption hidden>Secret</caption><tbody>{rows}</tbody>{hidden}</table>"
    assert text(table) == text(f"<table>{rows}</table>")
    formula = "<math><mi>x</mi><annotation-xml>Secret</annotation-xml></math>"
    assert text(f"<p>Let {formula} be.</p>") == "Let x be."
    assert text("<p>So<sup><a href='#n' hidden>n</a></sup> it is.</p>") == "So it is."


def test_characters_that_hide_a_text_in_another_one_are_left_out() -> None:
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "Secret")
    assert text(f"<p>Seen{smuggled}\U000e0101.</p>") == "Seen."


def test_a_table_that_is_mostly_blank_takes_no_more_than_it_says() -> None:
    wide = "<tr>" + "<td>word</td>" * 3000
    assert len(text(f"<table>{wide}{'<tr><td>one</td>' * 3000}</table>")) < 50_000
    assert len(text(f"<table><tr>{'<td colspan=99>one</td>' * 3000}</table>")) < 50_000


def test_raised_text_is_looked_at_once_however_deep_it_is() -> None:
    deep = "<sup>" * 10_000
    start = time.perf_counter()
    assert text(f"<p>x{deep}{'a ' * 300_000}</p>").endswith("a a a")
    assert time.perf_counter() - start < 3


def test_headings_have_the_ids_of_the_page_and_no_permalink_signs() -> None:
    read = read_html(
        page(
            '<main><section id="intro"><h1>Intro<a class="headerlink" href="#intro">¶</a></h1></section>'
            '<h2 id="set-up"><a href="#set-up">#</a> Set <code>up</code></h2>'
            '<h3><a name="old"></a>Old</h3><h2>None</h2></main>'
        )
    )
    headings = [block.heading for block in read.blocks if block.heading]
    assert [(h.level, h.title, h.anchor) for h in headings] == [
        (1, "Intro", "intro"),
        (2, "Set up", "set-up"),
        (3, "Old", "old"),
        (2, "None", ""),
    ]
    assert read.blocks[1].text == "## Set `up`"


def test_lists_are_nested_and_numbered() -> None:
    assert text(
        "<ol start=3><li>Three<ul><li>Inner <b>bold</b></li><li><p>Two</p><p>paragraphs</p></li></ul></li>"
        "<li>Four</li></ol>"
    ) == ("3. Three\n   - Inner **bold**\n   - Two\n\n     paragraphs\n4. Four")


def test_code_keeps_its_indentation_and_language() -> None:
    code = "def f():\n    if x &lt; 1:\n\n        return `y`\n"
    for wrapped in (
        f'<pre><code class="language-python">{code}</code></pre>',
        f'<div class="highlight-python notranslate"><div class="highlight"><pre>{code}</pre></div></div>',
        f'<pre class="sourceCode python"><code>{code}</code></pre>',
    ):
        assert text(wrapped) == "```python\ndef f():\n    if x < 1:\n\n        return `y`\n```"


def test_code_of_a_highlighter_is_put_together_again() -> None:
    lines = '<pre><code><span class="linenos">1</span><span>a = 1</span><br><span>b</span> = 2</code></pre>'
    assert text(lines) == "```\na = 1\nb = 2\n```"


def test_tables_are_markdown_tables() -> None:
    table = (
        "<table><caption>Robots</caption><thead><tr><th>Name<th>Weight</thead>"
        "<tr><td>A|B<td><p>89</p><p>kg</p><tr><td colspan=2>none</table>"
    )
    assert (
        text(table) == "Robots\n\n| Name | Weight |\n| --- | --- |\n| A\\|B | 89 kg |\n| none |  |"
    )


def test_a_table_that_arranges_a_page_is_no_table() -> None:
    assert text("<table><tr><td><h2>Left</h2><p>Words</p></td></tr></table>") == "## Left\n\nWords"


def test_terms_quotes_notes_and_summaries() -> None:
    assert text("<dl><dt>Node</dt><dd>A process.</dd></dl>") == "**Node**\n\nA process."
    assert text("<blockquote><p>One</p><p>Two</p></blockquote>") == "> One\n>\n> Two"
    assert text("<details><summary>More</summary><p>Words</p></details>") == "**More**\n\nWords"
    assert text("<p>Seen<sup><a href='#n'>1</a></sup>, 10<sup>6</sup>, 2<sup>nd</sup></p>") == (
        "Seen[1], 10^6, 2nd"
    )


def test_numbers_of_notes_and_ways_back() -> None:
    noted = '<p>Seen<a epub:type="noteref" href="#n">7</a>.</p><p>A note. <a role="doc-backlink">↩</a></p>'
    assert text(noted) == "Seen[7].\n\nA note."


def test_two_breaks_part_paragraphs() -> None:
    assert text("<p>One<br>line<br> <br>two</p>") == "One  \nline\n\ntwo"


def test_links_are_their_text_and_images_their_description() -> None:
    assert text('<p>See <a href="x.html">the guide</a> <img src=a alt="an arm">.</p>') == (
        "See the guide an arm ."
    )


def test_marks_are_escaped_only_where_they_would_be_read_as_marks() -> None:
    assert text("<p>snake_case_name and 2 * 3 * 4</p>") == "snake_case_name and 2 * 3 * 4"
    assert text("<p>*not* emphasis</p>") == "\\*not\\* emphasis"
    assert text("<p>Vec&lt;T&gt; &amp;amp;</p>") == "Vec\\<T\\> \\&amp;"
    assert text("<p># no heading</p>") == "\\# no heading"


def test_unseen_characters_are_left_out() -> None:
    assert text("<p>a\u200bb\u202ec\u00add\u0007&nbsp;e</p>") == "abcd e"


def test_titles_come_from_the_heading_then_the_head_then_the_name(write: Write) -> None:
    lessons = read_folder(
        write(
            {
                "a.html": page("<h1>Heading</h1><p>Some words here.</p>", "Head"),
                "b.htm": page("<p>Some words here.</p>", "Head"),
                "c-d.html": "<p>Some words here.</p>",
            }
        )
    )
    assert [lesson.page_title for lesson in lessons.values()] == ["Heading", "Head", "C d"]
    assert lessons["a.html"].url == "/a.html"


def test_anchors_join_the_address(write: Write) -> None:
    lesson = one({"x/y.html": page('<h2 id="ü">Ü</h2><p>Some words here.</p>')}, write)
    assert anchors_of(lesson) == ["ü"]
    assert lesson.url == "/x/y.html"


@pytest.mark.parametrize(
    ("data", "warns"),
    [
        ("<p>Grüße aus Köln</p>".encode(), False),
        ("\ufeff<p>Grüße aus Köln</p>".encode(), False),
        ("\ufeff<p>Grüße aus Köln</p>".encode("utf-16-le"), False),
        ('<meta charset="iso-8859-1"><p>Grüße aus Köln</p>'.encode("latin-1"), False),
        ('<?xml version="1.0" encoding="utf-8"?><p>Grüße aus Köln</p>'.encode(), False),
        ("<p>Grüße aus Köln</p>".encode("latin-1"), True),
        ('<meta charset="klingon"><p>Grüße aus Köln</p>'.encode(), True),
        ('<meta charset="utf-8"><p>Grüße aus Köln</p>'.encode("latin-1"), True),
    ],
)
def test_encodings(data: bytes, warns: bool, write: Write) -> None:
    lesson = one({"a.html": data}, write)
    assert text_of(lesson) == "Grüße aus Köln"
    assert bool(lesson.warnings) is warns


def test_a_page_that_leads_on_is_left_out_with_a_warning(write: Write) -> None:
    folder = write(
        {
            "old.html": '<meta http-equiv="refresh" content="0; url=new.html"><p>Moved.</p>',
            "new.html": page("<p>Some words here.</p>"),
        }
    )
    found = open_reader(folder).discover()
    assert found.files == ("new.html",)
    assert found.warnings == ("old.html only leads on to new.html; it was left out.",)


def test_pages_that_a_generator_made_for_finding_are_left_out(write: Write) -> None:
    words = page("<p>Some words here.</p>")
    folder = write({"search.html": words, "print.html": words, "one.html": words})
    assert len(open_reader(folder).discover().files) == 3
    write({"objects.inv": "", "book-1a2b.js": ""})
    found = open_reader(folder).discover()
    assert found.files == ("one.html",)
    assert found.warnings[0].startswith("print.html was made by a site generator")


def test_a_page_without_text_is_told(write: Write) -> None:
    lesson = one({"a.html": page('<main><img src="x.png"></main>')}, write)
    assert lesson.blocks == ()
    assert "fewer than 10 visible characters" in lesson.warnings[0]


def test_binary_data_is_refused(write: Write) -> None:
    reader = open_reader(write({"x.html": b"\x89PNG\x00\x01"}))
    with pytest.raises(InvalidInput, match="not a text file: it holds a NUL byte at offset 4"):
        reader.declare("x.html", reader.load("x.html"))


def test_deep_nesting_is_read_and_the_absurd_refused() -> None:
    deep = 10_000
    started = time.monotonic()
    for name in ("div", "blockquote", "ul><li", "b", "span"):
        closing = "".join(f"</{part}>" for part in reversed(name.split("><")))
        made = f"<{name}>" * deep + "The text." + closing * deep
        blocks = read_html(page(made)).blocks
        assert "".join(block.text for block in blocks).strip("> -*") == "The text."
    assert time.monotonic() - started < 60
    with pytest.raises(InvalidInput, match="stand inside each other"):
        read_html("<div>" * (MAX_NESTING + 1))


def test_broken_markup_leaks_no_tags() -> None:
    broken = '<p>One <b>two</p><p>three</i> <a href=\'x>four</a><p title="<b>">five &lt <div>six</p'
    read = "\n".join(block.text for block in read_html(broken).blocks)
    assert "<b>" not in read
    assert "</" not in read
    assert read.startswith("One **two**")


def test_a_site_of_a_generator_keeps_to_its_markdown(write: Write) -> None:
    for marker in ("mkdocs.yml", "book.toml", "docusaurus.config.js"):
        content = "site_name: x" if marker == "mkdocs.yml" else ""
        source = "src/SUMMARY.md" if marker == "book.toml" else "docs/index.md"
        folder = write(
            {
                marker: content,
                source: "# Summary\n\n- [One](one.md)\n",
                "src/one.md": "# One\n\nSome words.",
                "docs/one.md": "# One\n\nSome words.",
                "docs/stray.html": "<p>Stray words here.</p>",
                "src/stray.pdf": b"%PDF-1.4",
            }
        )
        files = open_reader(folder).discover().files
        assert files
        assert all(name.endswith(".md") for name in files), marker
        (folder / marker).unlink()
        (folder / source).unlink()


def test_formats_stand_side_by_side(write: Write) -> None:
    folder = write(
        {
            "01-start.md": "# Start\n\nSome words here.",
            "02-next.html": page("<h1>Next</h1><p>Some words here.</p>"),
            "notes.txt": "not read",
        }
    )
    lessons = read_folder(folder)
    assert [(name, lesson.slot.lesson) for name, lesson in lessons.items()] == [
        ("01-start.md", 1),
        ("02-next.html", 2),
    ]
