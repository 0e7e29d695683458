"""Plain folders, MDX of other kinds, and what no site needs: dirt in the files."""

import os
import sys
from pathlib import Path

import pytest
from small_books import Write, anchors_of, read_folder, text_of

from askbook.errors import InvalidInput
from askbook.ingestion.readers import open_reader


def test_only_visible_markdown_is_discovered_in_natural_order(write: Write) -> None:
    files = "b10.md b2.md a.mdx c.markdown readme.md z.txt .hidden.md .git/x.md node_modules/p/x.md build/x.md _part.md _partials/x.md sub/x.md"
    folder = write(dict.fromkeys(files.split(), "Some text here.\n"))
    assert open_reader(folder).discover().files == (
        "readme.md",
        "a.mdx",
        "b2.md",
        "b10.md",
        "c.markdown",
        "sub/x.md",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names")
def test_a_name_that_is_no_text_is_left_out_and_told(write: Write) -> None:
    folder = write({"fine.md": "Some text here.\n"})
    (folder / os.fsdecode(b"bad\xff.md")).write_text("Some text here.\n")
    found = open_reader(folder).discover()
    assert found.files == ("fine.md",)
    assert found.warnings == ("bad\\xff.md has a name that is not UTF-8; it was left out.",)


def test_docs_is_the_root_when_nothing_is_beside_it(write: Write) -> None:
    folder = write({"docs/a.md": "Some text here.\n", "LICENCE.txt": "x"})
    assert open_reader(folder).discover().files == ("a.md",)
    write({"README.md": "Some text here.\n"})
    assert open_reader(folder).discover().files == ("README.md", "docs/a.md")


def test_links_out_of_the_book_and_loops_are_left_out(write: Write, tmp_path: Path) -> None:
    folder = write({"a/x.md": "Some text here.\n"})
    (tmp_path / "secret.md").write_text("SECRET", encoding="utf-8")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "a" / "loop").symlink_to(folder)
    (folder / "nowhere.md").symlink_to(folder / "gone.md")
    found = open_reader(folder).discover()
    assert found.files == ("a/x.md",)
    assert sorted(warning.split(" ")[0] for warning in found.warnings) == [
        "a/loop",
        "nowhere.md",
        "out.md",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_reported(write: Write) -> None:
    folder = write({"a/x.md": "Some text here.\n", "b.md": "Some text here.\n"})
    (folder / "a").chmod(0)
    try:
        found = open_reader(folder).discover()
    finally:
        (folder / "a").chmod(0o755)
    assert found.files == ("b.md",)
    assert any(warning.startswith("a ") for warning in found.warnings)


def test_hugging_face_mdx_comes_out_clean(write: Write) -> None:
    folder = write(
        {
            "unit1/hands-on.mdx": '# Train it 🤖 [[hands-on]]\n\n      <CourseFloatingBanner classNames="absolute"\n      notebooks={[\n'
            '        {label: "Colab", value: "https://x.org"}\n        ]}\n        askForHelpUrl="http://hf.co" />\n\n'
            '<Tip>\n\nUse **this**.\n\n</Tip>\n\nThe value \\\\( V_{\\pi}(s) \\\\) matters.\n\n<iframe src="https://x">inner</iframe>\n\n'
            '<Question\n\tchoices={[\n\t\t{ text: "yes", correct: true }\n\t]}\n/>\n\n<Youtube id="x" />\n\nEnd of it.\n'
        }
    )
    lesson = read_folder(folder)["unit1/hands-on.mdx"]
    assert anchors_of(lesson) == ["hands-on"]
    assert lesson.page_title == "Train it 🤖"
    assert [block.text for block in lesson.blocks] == [
        "# Train it 🤖",
        "Use **this**.",
        "The value \\\\( V_{\\pi}(s) \\\\) matters.",
        "End of it.",
    ]


def test_frontmatter_byte_order_mark_and_carriage_returns(write: Write) -> None:
    folder = write(
        {
            "a.md": b'\xef\xbb\xbf---\r\ntitle: "A: b"\r\nhardware_tier: 3\r\n---\r\n\r\nLine one\r\nline two.\r\n',
            "b.md": "+++\ntitle = 'Toml'\nlayer = \"L3\"\n+++\nSome text here.\n",
            "c.md": "---\n\nA rule, then text.\n\n---\n\nMore text.\n",
        }
    )
    lessons = read_folder(folder)
    a, b, c = lessons["a.md"], lessons["b.md"], lessons["c.md"]
    assert (a.page_title, a.hardware_tier, text_of(a)) == ("A: b", 3, "Line one\nline two.")
    assert (b.page_title, b.layer, text_of(b)) == ("Toml", "L3", "Some text here.")
    assert text_of(c) == "A rule, then text.\n\nMore text."
    assert a.warnings == b.warnings == c.warnings == ()


def test_broken_frontmatter_warns_and_never_leaks(write: Write) -> None:
    folder = write(
        {
            "a.md": "---\ntitle: ok\ntags: [a, b\nlayer: L2\n---\n\nThe visible text.\n",
            "b.md": "---\n- just\n- a list\n---\n\nThe visible text.\n",
            "c.md": "+++\ntitle = \n+++\nThe visible text.\n",
        }
    )
    lessons = read_folder(folder)
    for name, lesson in lessons.items():
        assert text_of(lesson) == "The visible text."
        assert (lesson.hardware_tier, lesson.proficiency_level, lesson.layer) == (1, "A2", "L1")
        (warning,) = lesson.warnings
        assert name in warning
    assert "line 4" in lessons["a.md"].warnings[0]
    assert "line 2" in lessons["c.md"].warnings[0]


def test_bad_values_use_the_default_and_say_what_is_allowed(write: Write) -> None:
    folder = write(
        {
            "askbook.toml": "[defaults]\nhardware_tier = 2\n",
            "a.md": "---\nhardware_tier: 9\nproficiency_level: Z9\nlayer: [L1]\nchapter: two\nlesson: -1\n---\n\nThe visible text.\n",
            "b.md": "---\nhardware_tier: '3'\nproficiency_level: b1\nlayer: l4\n---\n\nThe visible text.\n",
        }
    )
    lessons = read_folder(folder)
    a, b = lessons["a.md"], lessons["b.md"]
    assert (a.hardware_tier, a.proficiency_level, a.layer) == (2, "A2", "L1")
    assert (b.hardware_tier, b.proficiency_level, b.layer, b.warnings) == (3, "B1", "L4", ())
    assert len(a.warnings) == 5
    tier = next(warning for warning in a.warnings if "hardware_tier" in warning)
    assert all(part in tier for part in ("a.md", "9", "1, 2, 3, 4"))


@pytest.mark.parametrize(
    ("data", "offset"), [(b"Some text \xff here", "10"), (b"PNG\x00\x01\x02", "3")]
)
def test_a_file_that_is_not_text_is_refused_by_name_and_offset(
    write: Write, data: bytes, offset: str
) -> None:
    reader = open_reader(write({"bad.md": data}))
    with pytest.raises(InvalidInput, match=rf"bad\.md.*offset {offset}"):
        reader.declare("bad.md", data)


def test_an_empty_file_has_no_blocks_and_a_warning(write: Write) -> None:
    lesson = read_folder(write({"a.md": "", "b.md": "Some text here.\n"}))["a.md"]
    assert lesson.blocks == ()
    assert "a.md" in lesson.warnings[0]


def test_titles_come_from_frontmatter_heading_or_name(write: Write) -> None:
    lessons = read_folder(
        write(
            {
                "a.md": "---\ntitle: Front\n---\n# Heading\n\nSome text here.\n",
                "b.md": "Intro\n\n```sh\n# not this\n```\n\n# The `real` *one* {#x}\n",
                "03-get-started.md": "Some text here.\n",
                "d.md": "Under\n=====\n\nSome text here.\n",
            }
        )
    )
    titles = {name: lesson.page_title for name, lesson in lessons.items()}
    assert titles == {
        "a.md": "Front",
        "b.md": "The real one",
        "03-get-started.md": "Get started",
        "d.md": "Under",
    }
    assert lessons["d.md"].blocks[0].text == "# Under"


def test_blocks_keep_code_lists_tables_and_line_breaks(write: Write) -> None:
    code = "```python\nclass A:\n\n    def f(self):\n        return {\n            'a': 1,\n        }\n```"
    table = "| a | b |\n|---|:-:|\n| 1 | ![x](y.png) |"
    text = f"# T\n\nline one  \nline two\n\n{code}\n\n{table}\n\n- one\n  - nested\n- two\n\n> quoted\n> more\n\n    indented code\n\nLast[^1].\n\n[^1]: Note.\n"
    lesson = read_folder(write({"a.md": text}))["a.md"]
    kinds = [block.kind for block in lesson.blocks]
    assert kinds == ["heading", "text", "code", "table", "text", "text", "code", "text", "text"]
    texts = [block.text for block in lesson.blocks]
    assert texts[1] == "line one  \nline two"
    assert texts[2] == code
    assert texts[3] == "| a | b |\n|---|:-:|\n| 1 | x |"
    assert texts[4] == "- one\n  - nested\n- two"
    assert texts[5] == "> quoted\n> more"
    assert texts[6] == "    indented code"


def test_a_fence_in_a_list_item_or_quote_is_a_block_of_its_own(write: Write) -> None:
    text = "1. First do:\n\n   ```sh\n   run\n     more\n   ```\n\n   then this.\n2. Second.\n\n> Note\n>\n> ```js\n> x()\n> ```\n"
    lesson = read_folder(write({"a.md": text}))["a.md"]
    assert [(block.kind, block.text) for block in lesson.blocks] == [
        ("text", "1. First do:"),
        ("code", "   ```sh\n   run\n     more\n   ```"),
        ("text", "   then this."),
        ("text", "2. Second."),
        ("text", "> Note\n>"),
        ("code", "> ```js\n> x()\n> ```"),
    ]


def test_markdown_html_is_stripped_and_text_kept(write: Write) -> None:
    text = (
        '<div align="center">\n  <h1>Big <b>Title</b></h1>\n  <p>Body text</p>\n</div>\n\n<script>\nalert(1)\n</script>\n\n'
        "Press <kbd>x</kbd><br>now <!-- no --> & see <https://x.org>.\n\n<unk> tokens and <T> stay.\n\n"
        "<table><tr><td>a</td><td>b</td></tr></table>\n"
    )
    lesson = read_folder(write({"a.md": text}))["a.md"]
    assert text_of(lesson).split() == (
        "Big Title Body text Press x now & see <https://x.org>. <unk> tokens and <T> stay. a b".split()
    )


def test_non_ascii_text_keeps_exact_spans(write: Write) -> None:
    text = "# Ünïcode 机器人\n\nAbsatz mit “Zeichen” — schön.\n\n- erstes\n- zweites 🤖\n\nEnde.\n"
    blocks = read_folder(write({"a.md": text}))["a.md"].blocks
    assert [text[block.start : block.end] for block in blocks] == [block.text for block in blocks]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a folder"):
        open_reader(tmp_path / "gone")
