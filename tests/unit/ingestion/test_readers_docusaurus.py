"""Docusaurus: what a reader of the built site sees, and where."""

import pytest
from small_books import Write, anchors_of, read_all, read_folder, text_of

from askbook.ingestion.readers import open_reader

CONFIG = "export default { title: 'x', baseUrl: '/', presets: [['classic', {docs: {sidebarPath: './s.js'}}]] };"


def page(write: Write, text: str, **others: str | bytes) -> str:
    files: dict[str, str | bytes] = {"docusaurus.config.js": CONFIG, "docs/page.mdx": text}
    return text_of(read_folder(write(files | others))["page.mdx"])


def test_imports_exports_comments_and_jsx_go_and_their_text_stays(write: Write) -> None:
    text = page(
        write,
        "---\ntitle: T\n---\n\nimport A from '@theme/A';\nimport {\n  B,\n  C,\n} from './c';\n\n"
        "export const Limit = () => (\n  <b>\n    {x}\n  </b>\n);\n\n"
        "{/* hidden */}\n<!-- hidden too -->\n\n"
        'Before <Badge color="red" on={() => 1 > 2}>inside</Badge> after{\' \'}end {"kept"} {props.gone}.\n',
    )
    assert text.split() == "Before inside after end kept .".split()


def test_code_is_never_touched(write: Write) -> None:
    body = "```jsx\nimport X from 'x';\n\n<Tabs>{value}</Tabs>\n    {/* stays */}\n```"
    text = page(
        write, f"Use `<Tabs>` and `{{x}}` here.\n\n{body}\n\n~~~js\nexport default {{}};\n~~~\n"
    )
    assert "Use `<Tabs>` and `{x}` here." in text
    assert body in text
    assert "~~~js\nexport default {};\n~~~" in text


def test_prose_that_only_looks_like_a_statement_stays(write: Write) -> None:
    text = page(
        write, "Goods we\nimport from abroad.\n\nimport duties are high.\n\nexport it all.\n"
    )
    assert "import from abroad." in text
    assert "import duties are high." in text
    assert "export it all." in text


def test_tabs_and_admonitions_become_readable_text(write: Write) -> None:
    text = page(
        write,
        '<Tabs>\n  <TabItem value="u" label="Ubuntu">\n\n    Use apt.\n\n    ```bash\n    sudo apt\n      x\n    ```\n\n'
        '  </TabItem>\n  <TabItem value="mac">\n    Use brew.\n  </TabItem>\n</Tabs>\n\n'
        ":::tip[Save time]\n\nCache it.\n\n:::\n\n:::warning Mind the gap\nCareful.\n:::\n\n::::note\nPlain.\n::::\n",
    )
    assert "**Ubuntu**" in text
    assert "**mac**" in text
    assert "Use apt.\n\n```bash\nsudo apt\n  x\n```" in text
    assert "Use brew." in text
    assert "**Tip:** Save time" in text
    assert "**Warning:** Mind the gap" in text
    assert "**Note:**" in text
    assert ":::" not in text


def test_partials_are_read_where_they_are_used(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "docs/a/page.mdx": "import Note from './_note.mdx';\nimport Part from '@site/docs/_shared/part.md';\n\n"
            "Start.\n\n<Note />\n\n## Same\n\nMiddle.\n\n<Part />\n",
            "docs/a/_note.mdx": "---\ntitle: no\n---\nimport Deep from './_deep.mdx';\n\n## Same\n\nNoted.\n\n<Deep/>\n",
            "docs/a/_deep.mdx": "Deepest <b>text</b>.\n",
            "docs/_shared/part.md": "Shared part.\n",
        }
    )
    lessons = read_folder(folder)
    assert list(lessons) == ["a/page.mdx"]
    lesson = lessons["a/page.mdx"]
    assert text_of(lesson).split() == (
        "Start. ## Same Noted. Deepest text . ## Same Middle. Shared part.".replace(
            " .", "."
        ).split()
    )
    assert lesson.includes == ("a/_note.mdx", "a/_deep.mdx", "_shared/part.md")
    # Each file counts its own headings on the built site.
    assert anchors_of(lesson) == ["same", "same"]


def test_partials_that_loop_leave_the_book_or_are_missing_are_refused(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "docs/page.mdx": "import A from './_a.mdx';\nimport Out from '../../secret.md';\nimport No from './_no.mdx';\n\n"
            "Text.\n\n<A />\n\n<Out />\n\n<No />\n",
            "docs/_a.mdx": "import A from './_a.mdx';\n\nOnce.\n\n<A />\n",
        }
    )
    (folder.parent / "secret.md").write_text("SECRET", encoding="utf-8")
    lesson = read_folder(folder)["page.mdx"]
    assert text_of(lesson) == "Text.\n\nOnce."
    assert len(lesson.warnings) == 3
    # A partial that is not there yet is remembered, so that the lesson is read again when it is.
    assert lesson.includes == ("_a.mdx", "_no.mdx")
    assert all(name in " ".join(lesson.warnings) for name in ("_a.mdx", "secret.md", "_no.mdx"))


@pytest.mark.parametrize(
    ("source", "front", "route"),
    [
        ("intro.md", "", "/docs/intro"),
        ("01-intro.md", "", "/docs/intro"),
        ("01-guide/02-start.md", "", "/docs/guide/start"),
        ("2021-11-news.md", "", "/docs/2021-11-news"),
        ("7.0-foo.md", "", "/docs/7.0-foo"),
        ("guide/index.md", "", "/docs/guide/"),
        ("guide/README.md", "", "/docs/guide/"),
        ("guide/guide.md", "", "/docs/guide/"),
        ("index.md", "", "/docs/"),
        ("guide/page.md", "slug: /top", "/docs/top"),
        ("guide/page.md", "slug: other", "/docs/guide/other"),
        ("guide/page.md", "slug: ../up", "/docs/up"),
        ("guide/03-page.md", "id: named", "/docs/guide/named"),
    ],
)
def test_routes_are_those_of_the_built_site(
    write: Write, source: str, front: str, route: str
) -> None:
    text = f"---\n{front}\n---\n\nSome text here.\n" if front else "Some text here.\n"
    folder = write({"docusaurus.config.js": CONFIG, f"docs/{source}": text})
    assert read_folder(folder)[source].url == route


def test_the_configuration_decides_folder_and_prefix(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.ts": "const c = {\n  // baseUrl: '/no/',\n  url: 'https://x.org', baseUrl: '/book/',\n"
            "  trailingSlash: true,\n  presets: [['classic', { docs: { path: 'lessons', routeBasePath: '/' } }]],\n"
            "  themeConfig: { docs: { sidebar: { hideable: true } } } };",
            "askbook.toml": 'base_url = "https://x.org/book"\n',
            "lessons/a/b.md": "Some text here.\n",
            "docs/other.md": "Not read.\n",
        }
    )
    assert read_folder(folder)["a/b.md"].url == "https://x.org/book/a/b/"
    (folder / "askbook.toml").unlink()
    assert read_folder(folder)["a/b.md"].url == "/book/a/b/"


def test_the_docs_folder_alone_finds_its_configuration_above(write: Write) -> None:
    folder = write({"docusaurus.config.js": CONFIG, "docs/01-a.md": "Some text here.\n"})
    reader = open_reader(folder / "docs")
    assert read_all(reader)["01-a.md"].url == "/docs/a"


VERSIONED = "module.exports = {{ baseUrl: '/', presets: [['classic', {{ docs: {{ {} }} }}]] }};"


@pytest.mark.parametrize(
    ("options", "part", "route"),
    [
        ("sidebarPath: 's.js'", "docs", "/docs/next/a"),
        ("sidebarPath: 's.js'", "versioned_docs/version-2.0", "/docs/a"),
        ("sidebarPath: 's.js'", "versioned_docs/version-1.0", "/docs/1.0/a"),
        ("lastVersion: 'current', path: 'docs'", "docs", "/docs/a"),
        (
            "lastVersion: 'current', path: 'docs'",
            "versioned_docs/version-2.0",
            "/docs/2.0/a",
        ),
        ("disableVersioning: true, path: 'docs'", "docs", "/docs/a"),
        (
            "path: 'docs', versions: { current: { label: 'Edge', path: 'edge' }, '1.0': { path: 'old' } }",
            "docs",
            "/docs/edge/a",
        ),
        (
            "versions: { current: { path: 'edge' }, '1.0': { path: 'old' } }, routeBasePath: '/'",
            "versioned_docs/version-1.0",
            "/old/a",
        ),
        (
            "sidebarPath: 's.js'",
            "i18n/fr/docusaurus-plugin-content-docs/current",
            "/fr/docs/next/a",
        ),
        (
            "sidebarPath: 's.js'",
            "i18n/fr/docusaurus-plugin-content-docs/version-2.0",
            "/fr/docs/a",
        ),
    ],
)
def test_versions_and_languages_stand_in_the_address(
    write: Write, options: str, part: str, route: str
) -> None:
    folder = write(
        {
            "docusaurus.config.js": VERSIONED.format(options),
            "versions.json": '["2.0", "1.0"]',
            f"{part}/01-a.md": "Some text here.\n",
        }
    )
    assert read_all(open_reader(folder / part))["01-a.md"].url == route


@pytest.mark.parametrize("broken", ["{", '{"a": 1}', '"2.0"'])
def test_a_broken_list_of_versions_is_no_list(write: Write, broken: str) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "versions.json": broken,
            "docs/01-a.md": "Some text here.\n",
        }
    )
    assert read_folder(folder)["01-a.md"].url == "/docs/a"


def test_anchors_are_those_of_the_built_site(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "docs/page.mdx": "# Page title\n\n## Use `ros2 run` & *more*\n\n## Use [a link](./x.md)!\n\n## Same\n\n## Same\n\n"
            "### Given {#my-id}\n\n### Commented {/* #other-id */}\n\n## Größe der Räder\n\n## 🤖 Robot\n\n## a_b c-d\n",
        }
    )
    lesson = read_folder(folder)["page.mdx"]
    assert anchors_of(lesson) == [
        "",
        "use-ros2-run--more",
        "use-a-link",
        "same",
        "same-1",
        "my-id",
        "other-id",
        "größe-der-räder",
        "-robot",
        "a_b-c-d",
    ]
    assert "### Given\n" in text_of(lesson)
    assert "### Commented\n" in text_of(lesson)


def test_categories_name_folders_and_drafts_are_left_out(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "docs/02-ros2/_category_.json": '{"label": "ROS 2", "position": 2}',
            "docs/02-ros2/basics/_category_.yml": "label: The basics\nposition: 4\n",
            "docs/02-ros2/basics/nodes.mdx": "Nodes and topics.\n",
            "docs/02-ros2/draft.mdx": "---\ndraft: true\n---\nNot yet here.\n",
            "docs/02-ros2/bad/_category_.json": "{",
        }
    )
    reader = open_reader(folder)
    found = reader.discover()
    assert found.files == ("02-ros2/basics/nodes.mdx",)
    assert any("draft.mdx" in warning for warning in found.warnings)
    assert any("bad/_category_.json" in warning for warning in found.warnings)
    lesson = read_all(reader)["02-ros2/basics/nodes.mdx"]
    assert (lesson.module_title, lesson.chapter_title) == ("ROS 2", "The basics")
    assert (lesson.slot.module, lesson.slot.chapter, lesson.slot.lesson) == ("ros2", 4, 1)


def test_a_linked_doc_is_the_overview_of_its_category(write: Write) -> None:
    folder = write(
        {
            "docusaurus.config.js": CONFIG,
            "docs/m/c/_category_.json": '{"label": "C", "link": {"type": "doc", "id": "m/c/start"}}',
            "docs/m/c/start.md": "Start here please.\n",
            "docs/m/c/a.md": "Another page here.\n",
        }
    )
    lessons = read_folder(folder)
    assert lessons["m/c/start.md"].slot.lesson == 0
    assert lessons["m/c/a.md"].slot.lesson == 1


def test_code_block_titles_stay_and_highlight_marks_go(write: Write) -> None:
    text = page(
        write,
        '```python title="talker.py" {1,3} showLineNumbers\nimport rclpy\n# highlight-next-line\nnode = 1\n```\n',
    )
    assert text == '```python title="talker.py"\nimport rclpy\nnode = 1\n```'


def test_math_keeps_its_braces(write: Write) -> None:
    text = page(write, "The value $\\frac{a}{b}$ and\n\n$$\nx_{1} < y_{2}\n$$\n")
    assert "$\\frac{a}{b}$" in text
    assert "x_{1} < y_{2}" in text


def test_a_code_component_becomes_a_fenced_block(write: Write) -> None:
    text = page(
        write, '<CodeBlock language="py" title="a.py">{`def f():\n    return 1`}</CodeBlock>\n'
    )
    assert text == '```py title="a.py"\ndef f():\n    return 1\n```'


def test_details_and_images_keep_their_words(write: Write) -> None:
    text = page(
        write,
        '<details>\n<summary>More</summary>\n\nHidden **text**.\n\n</details>\n\n![A robot arm](arm.png)\n\n<img src={url} alt="Lidar" />\n',
    )
    assert text.split() == "More Hidden **text**. A robot arm Lidar".split()


def test_a_comparison_is_not_a_tag(write: Write) -> None:
    text = page(write, "If a < b and Vec<T> holds, then 3 <4 and <your name>.\n")
    assert text == "If a < b and Vec<T> holds, then 3 <4 and <your name>."


def test_spans_point_into_the_source(write: Write) -> None:
    source = "---\ntitle: T\n---\n\nimport A from 'a';\n\nÜber **uns** <A>hier</A>.\n\n## Kopf {#k}\n\nEnde gut.\n"
    folder = write({"docusaurus.config.js": CONFIG, "docs/page.mdx": source})
    blocks = read_folder(folder)["page.mdx"].blocks
    assert [source[block.start : block.end] for block in blocks] == [
        "Über **uns** <A>hier</A>.",
        "## Kopf {#k}",
        "Ende gut.",
    ]


def test_settings_hash_follows_configuration_and_categories(write: Write) -> None:
    files: dict[str, str | bytes] = {
        "docusaurus.config.js": CONFIG,
        "docs/a/_category_.json": '{"label": "A"}',
        "docs/a/x.md": "Some text here.\n",
    }
    folder = write(files)
    first = open_reader(folder).settings_hash()
    assert open_reader(folder).settings_hash() == first
    write({"docs/a/_category_.json": '{"label": "B"}'})
    second = open_reader(folder).settings_hash()
    write({"docusaurus.config.js": CONFIG.replace("'/'", "'/x/'")})
    assert len({first, second, open_reader(folder).settings_hash()}) == 3
