"""HTML to blocks: the visible text of a page, walked without recursion, so that no nesting is too deep."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from askbook.book import Block
from askbook.ingestion.readers.cleaning import clean
from askbook.ingestion.readers.html_content import content_of, is_hidden, is_inside_unseen
from askbook.ingestion.readers.html_elements import (
    HEADINGS,
    ToDo,
    anchor_of,
    children,
    is_data_table,
    is_note_reference,
    language_of,
    preformatted,
)
from askbook.ingestion.readers.html_parsing import parse_html
from askbook.ingestion.readers.outline_writer import OutlineWriter
from askbook.ingestion.readers.writing import Run, shown

_SPACE = re.compile(r"[ \t\n\r\f]+")
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup option p "
    "pre search section summary table tbody td tfoot th thead tr ul".split()
)
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_TITLED = frozenset(("dt", "summary"))
_EMPHASIS = {"strong": "**", "b": "**", "em": "*", "i": "*"}
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_POWER = re.compile(r"[-−+]?(?!(?:st|nd|rd|th|tm|er|re|e)$)[\w.,]{1,8}", re.I)


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page, read: what its head calls it, its first heading of level 1, its first of any level, its text."""

    head_title: str
    main_heading: str
    first_heading: str
    blocks: tuple[Block, ...]


def read_html(markup: str, *, is_site: bool = True) -> HtmlPage:
    """The text of a page of a site, or of a document of an e-book."""
    tree = parse_html(markup)
    head = tree.css_first("head > title")
    title = " ".join(clean(head.text()).split()) if head is not None else ""
    content = content_of(tree, is_site=is_site)
    if content is None:
        return HtmlPage(title, "", "", ())
    blocks = tuple(_Walk().read(content))
    headings = [block.heading for block in blocks if block.heading is not None]
    main = next((each.title for each in headings if each.level == 1), "")
    return HtmlPage(title, main, headings[0].title if headings else "", blocks)


class _Walk:
    """One pass over a tree. Things to do stand on a stack: nodes to visit, and what to do after them."""

    def __init__(self) -> None:
        self._writer = OutlineWriter()
        self._runs: list[Run] = []
        self._emphasis: list[str] = []
        self._is_flat = False  # inside a heading or a cell, where everything is one line
        self._is_raised = False

    def read(self, root: LexborNode) -> list[Block]:
        self._visit_all(root)
        self._end_paragraph()
        return self._writer.blocks()

    def _visit_all(self, root: LexborNode) -> None:
        stack: list[ToDo] = children(root)
        while stack:
            item = stack.pop()
            if not isinstance(item, LexborNode):
                item()
            elif item.is_text_node:
                self._text(item.text_content or "")
            elif item.is_element_node:
                stack.extend(self._element(item))

    def _element(self, node: LexborNode) -> list[ToDo]:
        """What is still to be done for an element, last things first."""
        tag = node.tag or ""
        if is_hidden(node, tag):
            return []
        if tag in _BLOCKS:
            return self._block(node, tag)
        if tag == "br":
            self._runs.append(Run("text", " ") if self._is_flat else Run("break"))
        elif tag == "img":
            self._image(node)
        elif tag == "input":
            if node.attributes.get("type") == "checkbox":
                self._text("☑ " if "checked" in node.attributes else "☐ ")
        elif tag in _CODE:
            self._runs.append(Run("code", preformatted(node)))
        elif tag == "math":
            self._math(node)
        elif tag in _EMPHASIS:
            return self._emphasised(node, _EMPHASIS[tag])
        elif tag == "q":
            self._text("“")
            return [lambda: self._text("”"), *children(node)]
        elif tag == "sup":
            return self._raised(node)
        elif tag == "a" and is_note_reference(node):
            self._text(f"[{node.text().strip(' []')}]")
        else:
            return children(node)
        return []

    def _block(self, node: LexborNode, tag: str) -> list[ToDo]:
        if self._is_flat:
            self._text(" ")
            return [lambda: self._text(" "), *children(node)]
        self._end_paragraph()
        if tag in HEADINGS:
            self._heading(node, int(tag[1]))
            return []
        if tag == "pre":
            self._writer.code(clean(preformatted(node), keeps_lines=True), language_of(node))
            return []
        if tag == "table" and is_data_table(node):
            self._table(node)
            return []
        if tag in _TITLED:
            return self._titled(node)
        if self._opens_container(node, tag):
            return [self._close_container, *children(node)]
        return [self._end_paragraph, *children(node)]

    def _opens_container(self, node: LexborNode, tag: str) -> bool:
        if self._writer.is_deep:
            return False
        if tag == "blockquote":
            self._writer.open_quote()
        elif tag in _LISTS:
            start = node.attributes.get("start") or "1"
            number = int(start) if re.fullmatch(r"\d{1,6}", start) else 1
            self._writer.open_list(is_ordered=tag == "ol", start=number)
        elif tag == "li":
            self._writer.open_item()
        else:
            return False
        return True

    def _close_container(self) -> None:
        self._end_paragraph()
        self._writer.close()

    def _end_paragraph(self) -> None:
        runs, self._runs = self._runs, []
        for paragraph in _divided(runs):
            self._writer.paragraph(paragraph)

    def _text(self, text: str) -> None:
        text = _SPACE.sub(" ", clean(text))
        if text:
            self._runs.append(Run("text", text))

    def _image(self, node: LexborNode) -> None:
        alternative = " ".join((node.attributes.get("alt") or "").split())
        if alternative:
            self._text(f" {alternative} ")

    def _math(self, node: LexborNode) -> None:
        source = node.css_first('annotation[encoding="application/x-tex"]')
        self._text(preformatted(source or node))

    def _emphasised(self, node: LexborNode, mark: str) -> list[ToDo]:
        if mark in self._emphasis:
            return children(node)
        self._emphasis.append(mark)
        self._runs.append(Run("open", mark))

        def end() -> None:
            self._emphasis.remove(mark)
            self._runs.append(Run("close", mark))

        return [end, *children(node)]

    def _raised(self, node: LexborNode) -> list[ToDo]:
        """The number of a note in brackets; a power after `^`, so that 10⁶ is not read as 106.

        What is raised within it is read as it stands: looking into each would take the square of how many there are.
        """
        if self._is_raised:
            return children(node)
        text = preformatted(node).strip()
        before = shown(self._runs[-1:])
        if node.css_first("a[href]") is not None or _is_inside_link(node):
            if re.fullmatch(r"[\w*†‡§]{1,4}", text):
                self._text(f"[{text}]")
                return []
        elif _POWER.fullmatch(text) and before and before[-1].isalnum():
            self._text("^")
        self._is_raised = True
        return [self._end_raised, *children(node)]

    def _end_raised(self) -> None:
        self._is_raised = False

    def _titled(self, node: LexborNode) -> list[ToDo]:
        """A term or a summary: a line of its own, in bold."""
        return [self._end_paragraph, *self._emphasised(node, "**")]

    def _heading(self, node: LexborNode, level: int) -> None:
        runs = self._line_of(node)
        if self._writer.is_nested:
            self._writer.paragraph([Run("open", "**"), *runs, Run("close", "**")])
        else:
            self._writer.heading(level, runs, clean(anchor_of(node)).strip())

    def _table(self, node: LexborNode) -> None:
        for caption in node.css("caption"):
            if not is_hidden(caption, "caption"):
                self._writer.paragraph(self._line_of(caption))
        rows: list[list[list[Run]]] = []
        blank: list[Run] = []
        for row in node.css("tr"):
            if is_hidden(row, "tr") or is_inside_unseen(row, node):
                continue
            cells: list[list[Run]] = []
            for cell in row.iter():
                if cell.tag in ("td", "th") and not is_hidden(cell, cell.tag):
                    cells.append(self._line_of(cell))
                    span = cell.attributes.get("colspan") or "1"
                    wide = int(span) if re.fullmatch(r"\d{1,2}", span) else 1
                    cells.extend([blank] * (wide - 1))
            if cells:
                rows.append(cells)
        self._writer.table(rows)

    def _line_of(self, node: LexborNode) -> list[Run]:
        """An element's text as one line."""
        before, self._runs = self._runs, []
        emphasis, self._emphasis = self._emphasis, []
        self._is_flat = True
        self._visit_all(node)
        self._is_flat = False
        self._emphasis = emphasis
        runs, self._runs = self._runs, before
        return runs


def _divided(runs: list[Run]) -> Iterator[list[Run]]:
    """Paragraphs as people made them who pressed enter twice."""
    paragraph: list[Run] = []
    follows_break = False
    for run in runs:
        is_break = run.kind == "break"
        if is_break and follows_break:
            yield paragraph
            paragraph = []
        else:
            paragraph.append(run)
        if is_break or run.kind != "text" or run.text.strip():
            follows_break = is_break
    yield paragraph


def _is_inside_link(node: LexborNode) -> bool:
    above = node.parent
    return above is not None and above.tag == "a" and "href" in above.attributes
