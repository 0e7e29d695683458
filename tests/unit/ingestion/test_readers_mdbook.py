"""mdBook: SUMMARY.md decides, includes are resolved, hidden lines stay hidden."""

from small_books import Write, anchors_of, read_all, read_folder, text_of

from askbook.ingestion.readers import open_reader

SUMMARY = """# Summary

[Preface](preface.md)

# Basics

- [Ownership](own/README.md)
  - [What is *it*?](own/what.md)
  - [Draft]()
  - [Slices](own/slices.md)

- [Structs](structs.md)

# Advanced

- [Traits & `dyn`](traits.md)

---

[Appendix](appendix.md)
"""
PAGES: dict[str, str | bytes] = {
    "book.toml": '[book]\ntitle = "R"\n',
    "src/SUMMARY.md": SUMMARY,
    "src/preface.md": "A preface text.\n",
    "src/own/README.md": "# Ownership\n\nOverview text.\n",
    "src/own/what.md": "## What Is It?\n\nSome text here.\n",
    "src/own/slices.md": "Slices text here.\n",
    "src/structs.md": "Structs text here.\n",
    "src/traits.md": "Traits text here.\n",
    "src/appendix.md": "Appendix text here.\n",
    "src/unlisted.md": "Not part of the book.\n",
}


def test_summary_gives_order_titles_and_places(write: Write) -> None:
    reader = open_reader(write(PAGES))
    assert reader.discover().files == (
        "preface.md",
        "own/README.md",
        "own/what.md",
        "own/slices.md",
        "structs.md",
        "traits.md",
        "appendix.md",
    )
    lessons = read_all(reader)
    slots = {name: (s.slot.module, s.slot.chapter, s.slot.lesson) for name, s in lessons.items()}
    assert slots == {
        "preface.md": ("main", 0, 1),
        "own/README.md": ("basics", 1, 0),
        "own/what.md": ("basics", 1, 1),
        "own/slices.md": ("basics", 1, 3),
        "structs.md": ("basics", 2, 0),
        "traits.md": ("advanced", 3, 0),
        "appendix.md": ("advanced", 0, 1),
    }
    what = lessons["own/what.md"]
    assert (what.module_title, what.chapter_title, what.page_title) == (
        "Basics",
        "Ownership",
        "What is it?",
    )
    assert lessons["traits.md"].page_title == "Traits & dyn"


def test_addresses_end_in_html_and_readme_is_the_index(write: Write) -> None:
    lessons = read_folder(write(PAGES))
    assert lessons["own/README.md"].url == "/own/index.html"
    assert lessons["own/what.md"].url == "/own/what.html"
    write({"book.toml": '[output.html]\nsite-url = "/rust/"\n'})
    assert read_folder(write({}))["structs.md"].url == "/rust/structs.html"


def one_page(
    write: Write, text: str, **files: str | bytes
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    summary = "# Summary\n\n- [Page](page.md)\n"
    folder = write({"book.toml": "[book]\n", "src/SUMMARY.md": summary, "src/page.md": text})
    for name, content in files.items():
        write({name.replace("__", "/").replace("_DOT_", "."): content})
    lesson = read_folder(folder)["page.md"]
    return text_of(lesson), lesson.warnings, lesson.includes


def test_includes_by_file_lines_and_anchor(write: Write) -> None:
    code = "fn one() {}\n// ANCHOR: here\nfn two() {}\n// ANCHOR_END: here\nfn three() {}\n"
    text, warnings, includes = one_page(
        write,
        "```rust\n{{#include ../listings/a.rs:here}}\n```\n\n```rust\n{{#rustdoc_include ../listings/a.rs:1}}\n```\n\n"
        "```rust\n{{#include ../listings/a.rs}}\n```\n\n{{#title New title}}\n\n{{#include part.md}}\n",
        listings__a_DOT_rs=code,
        src__part_DOT_md="Included **prose**.\n",
    )
    assert "```rust\nfn two() {}\n```" in text
    assert "```rust\nfn one() {}\n```" in text
    assert "```rust\nfn one() {}\nfn two() {}\nfn three() {}\n```" in text
    assert "Included **prose**." in text
    assert "{{" not in text
    assert "ANCHOR" not in text
    assert warnings == ()
    assert set(includes) == {"../listings/a.rs", "part.md"}


def test_what_cannot_be_included_is_left_out_with_a_warning(write: Write) -> None:
    text, warnings, _ = one_page(
        write,
        "Start of page.\n\n```rust\n{{#include missing.rs}}\n```\n\n{{#quiz ../quizzes/q.toml}}\n\n{{#include ../../outside.md}}\n\n"
        "{{#include a.rs:gone}}\n\nA literal \\{{#include x}} here.\n",
        src__a_DOT_rs="fn a() {}\n",
    )
    assert text == "Start of page.\n\nA literal {{#include x}} here."
    assert len(warnings) == 4
    for part in ("missing.rs", "quiz", "outside.md", "gone"):
        assert any(part in warning for warning in warnings)


def test_an_include_that_includes_itself_ends(write: Write) -> None:
    text, warnings, _ = one_page(
        write,
        "Some text here.\n\n{{#include loop.md}}\n",
        src__loop_DOT_md="Loop.\n\n{{#include loop.md}}\n",
    )
    assert "{{" not in text
    assert any("includes itself" in warning for warning in warnings)


def test_hidden_lines_are_hidden_in_rust_only(write: Write) -> None:
    text, _, _ = one_page(
        write,
        "```rust,ignore\n# fn main() {\n#[derive(Debug)]\nlet x = 1;\n#\n## escaped\n# }\n```\n\n```python\n# a comment\nx = 1\n```\n",
    )
    assert "```rust\n#[derive(Debug)]\nlet x = 1;\n# escaped\n```" in text
    assert "```python\n# a comment\nx = 1\n```" in text


def test_generics_and_html(write: Write) -> None:
    text, _, _ = one_page(
        write,
        "A Vec<T> and Option<String> and `Vec<u8>` and <kbd>ctrl</kbd>.\n\n"
        '<Listing number="1-1" file-name="src/main.rs" caption="A program">\n\n```rust\nlet x: Vec<T>;\n```\n\n</Listing>\n\n'
        '<img alt="A crab" src="x.svg">\n\n<!-- hidden -->\n\n<pre><code>let a = &lt;b&gt;;\n    c</code></pre>\n',
    )
    assert "A Vec<T> and Option<String> and `Vec<u8>` and ctrl." in text
    assert "Filename: src/main.rs" in text
    assert "Listing 1-1: A program" in text
    assert "```rust\nlet x: Vec<T>;\n```" in text
    assert "A crab" in text
    assert "hidden" not in text
    assert "```\nlet a = <b>;\n    c\n```" in text


def test_anchors_follow_mdbooks_rule(write: Write) -> None:
    folder = write(
        {
            "SUMMARY.md": "- [Page](page.md)\n",
            "page.md": "# The `match` Flow!\n\n## A_b -- c\n\n## Same\n\n## Same\n\n## Mine {#own}\n\n## Größe\n",
        }
    )
    lesson = read_folder(folder)["page.md"]
    assert anchors_of(lesson) == ["the-match-flow", "a_b--c", "same", "same-1", "own", "größe"]


def test_missing_and_foreign_entries_are_reported(write: Write) -> None:
    folder = write(
        {
            "SUMMARY.md": "- [A](a.md)\n- [B](b.md)\n- [C](../c.md)\n- [A](a.md)\n",
            "a.md": "Some text here.\n",
        }
    )
    found = open_reader(folder).discover()
    assert found.files == ("a.md",)
    assert len(found.warnings) == 3


def test_reference_links_are_written_out(write: Write) -> None:
    text, _, _ = one_page(write, "See [the docs][d], [d] and [d][].\n\n[d]: https://x.org/d\n")
    assert text == "See [the docs](https://x.org/d), [d](https://x.org/d) and [d](https://x.org/d)."
