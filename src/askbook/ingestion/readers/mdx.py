"""The MDX pre-pass: imports, exports, JSX and expressions go, their visible text stays, code is not touched."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from askbook.ingestion.readers import javascript
from askbook.ingestion.readers.markup import attribute, closing_names, component_label
from askbook.ingestion.readers.traced import Edit, TracedText

Partial = Callable[[str, str], str | None]
"""(component name, module specifier it is imported from) → its Markdown, if it is a partial."""

_FENCE = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})", re.M
)
_ADMONITION = re.compile(
    r"[ \t]*:{3,}(?P<kind>[A-Za-z][\w-]*)?[ \t]*(?:\[(?P<bracket>[^\n]*?)\])?(?P<title>[^\n\[{]*)(?:\{[^\n}]*\})?[ \t]*$",
    re.M,
)
_STATEMENT = re.compile(
    r"import\s*(?:[\w$*{][^'\";]{0,2000}?from\s*)?['\"]|"
    r"export\s+(?:default\b|const\b|let\b|var\b|(?:async\s+)?function\b|class\b|type\b|\{|\*)"
)
_INTERESTING = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,})|^(?:import|export)\b|^[ \t]*:::|[<{`$\\]",
    re.M,
)
_LINE_START = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,})|[ \t]*:::")
_INDENT = re.compile(r"[ \t]*")
_MATH_CLOSE = {"\\\\(": "\\\\)", "\\\\[": "\\\\]", "$$": "$$"}
_HEADING_COMMENT = re.compile(r"\{/\*\s*#([\w.:-]+)\s*\*/\}[ \t]*$", re.M)
_REACH, _SHORT_REACH = 200_000, 500  # characters in which an expression must end
_VOID = frozenset(("br", "hr", "img", "input", "wbr", "source", "track", "link", "meta"))
_NO_TEXT = frozenset(("script", "style", "iframe", "svg", "video", "audio", "noscript", "head"))


def strip_mdx(source: TracedText, partial: Partial | None = None) -> TracedText:
    """`source` as plain Markdown; admonition titles and tab labels become lines of text."""
    return source.edited(_Scanner(source.text, partial).scan())


@dataclass(slots=True)
class _Scanner:
    text: str
    partial: Partial | None
    edits: list[Edit] = field(default_factory=list[Edit])
    imports: dict[str, str] = field(default_factory=dict[str, str])
    # One entry per open element that began a line: (name, columns its content is indented by).
    open: list[tuple[str, int | None]] = field(default_factory=list[tuple[str, int | None]])
    closed: frozenset[str] = frozenset()
    failures: int = 0
    reach: int = _REACH

    def scan(self) -> list[Edit]:
        text, position = self.text, 0
        self.closed = closing_names(text)
        while position < len(text):
            if self.open and (position == 0 or text[position - 1] == "\n"):
                position = self._dedent(position)
                if (opening := _LINE_START.match(text, position)) is not None:
                    position = self._token(opening)
                    continue
            match = _INTERESTING.search(text, position)
            if match is None:
                break
            if self.open:
                # Inside an element every line is visited, to take its indentation away.
                line_end = text.find("\n", position)
                if 0 <= line_end < match.start():
                    position = line_end + 1
                    continue
            position = self._token(match)
        if self.open:
            while 0 <= (line_end := text.find("\n", position)) < len(text) - 1:
                position = self._dedent(line_end + 1)
        return self.edits

    def _token(self, match: re.Match[str]) -> int:
        text, start = self.text, match.start()
        found = match[0]
        if found[-3:] in ("```", "~~~"):
            return self._fence(start)
        if found in ("import", "export"):
            return self._statement(start)
        if found.endswith(":::"):
            return self._admonition(start)
        if found == "`":
            return self._code_span(start)
        if found == "\\":
            return self._escape(start)
        if found == "$":
            return self._math(start)
        if found == "{":
            return self._expression(start)
        return self._tag(start) if text.startswith("<", start) else start + 1

    def _fence(self, start: int) -> int:
        match = _FENCE.match(self.text, start)
        if match is None:
            return self._code_span(self.text.index("`", start))
        mark = match["mark"]
        closing = re.compile(
            r"^[ \t>]*" + re.escape(mark[0]) + "{" + str(len(mark)) + r",}[ \t]*$", re.M
        )
        line_end = self.text.find("\n", match.end())
        if line_end < 0:
            return len(self.text)
        closed = closing.search(self.text, line_end)
        end = closed.end() if closed else len(self.text)
        while self.open and 0 <= line_end < end:
            self._dedent(line_end + 1)
            line_end = self.text.find("\n", line_end + 1)
        return end

    def _statement(self, start: int) -> int:
        """An import or export at the start of a block, over as many lines as it takes."""
        line_before = self.text[self.text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
        if line_before.strip() and not self._joins(start):
            return start + 6
        if not _STATEMENT.match(self.text, start):
            return start + 6
        end = javascript.statement_end(self.text, start, self.reach)
        if end is None:
            # Brackets that never close: at least the line is no prose.
            self._spend()
            line_end = self.text.find("\n", start)
            end = len(self.text) if line_end < 0 else line_end
        for name, specifier in javascript.default_imports(self.text[start:end]):
            self.imports[name] = specifier
        self._replace(start, end)
        return end

    def _joins(self, start: int) -> bool:
        # Directly below another statement.
        if not self.edits or self.text[self.edits[-1].end : start].strip():
            return False
        return self.text.startswith(("import", "export"), self.edits[-1].start)

    def _admonition(self, start: int) -> int:
        match = _ADMONITION.match(self.text, start)
        if match is None:
            return self.text.index(":::", start) + 3
        kind, title = match["kind"], (match["bracket"] or match["title"]).strip()
        label = f"**{kind[0].upper()}{kind[1:]}:** {title}".rstrip() if kind else ""
        indent = _INDENT.match(self.text, start)
        self._replace(
            indent.end() if indent else start, match.end(), label + "\n" if label else "\n"
        )
        return match.end()

    def _code_span(self, start: int) -> int:
        run = re.compile("`+").match(self.text, start)
        if run is None:
            return start + 1
        blank = self.text.find("\n\n", run.end())
        stop = len(self.text) if blank < 0 else blank
        closing = re.compile(f"(?<!`){run[0]}(?!`)").search(self.text, run.end(), stop)
        return closing.end() if closing else run.end()

    def _escape(self, start: int) -> int:
        opening = self.text[start : start + 3]
        if opening in _MATH_CLOSE:
            end = self.text.find(_MATH_CLOSE[opening], start + 3)
            if end >= 0:
                return end + 3
        if self.text.startswith(("\\{", "\\<"), start) and not self.text.startswith("\\<", start):
            self._replace(start, start + 1)
        return start + 2

    def _math(self, start: int) -> int:
        if self.text.startswith("$$", start):
            end = self.text.find("$$", start + 2)
            return end + 2 if end >= 0 else start + 2
        match = re.compile(r"\$(?!\s)(?:[^$\n\\]|\\.|\n(?!\n))*?(?<!\s)\$(?!\d)").match(
            self.text, start
        )
        return match.end() if match else start + 1

    def _expression(self, start: int) -> int:
        if self.text.startswith("{#", start):
            end = self.text.find("}", start)
            return end + 1 if end >= 0 else start + 2
        heading_id = _HEADING_COMMENT.match(self.text, start)
        if heading_id is not None and self._in_heading(start):
            self._replace(start, heading_id.end(), f"{{#{heading_id[1]}}}")
            return heading_id.end()
        end = javascript.braces_end(self.text, start, self.reach)
        if end is None:
            self._spend()
            return start + 1
        self._replace(start, end, javascript.literal(self.text[start + 1 : end - 1]))
        return end

    def _in_heading(self, start: int) -> bool:
        line = self.text.rfind("\n", 0, start) + 1
        return bool(re.match(r"[ \t]{0,3}#{1,6}[ \t]", self.text[line : line + 12]))

    def _tag(self, start: int) -> int:
        if self.text.startswith("<!--", start):
            end = self.text.find("-->", start + 4)
            end = len(self.text) if end < 0 else end + 3
            self._replace(start, end)
            return end
        tag = javascript.read_tag(self.text, start, self.reach)
        if tag is None:
            self._spend()
            return start + 1
        if not self._is_markup(tag):
            return tag.end
        flow = not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()
        if tag.closing:
            self._close(tag.name)
            self._replace(start, tag.end, "\n" if flow else "")
            return tag.end
        if tag.name in _NO_TEXT and not tag.self_closing:
            closing = re.compile(rf"</{tag.name}\s*>").search(self.text, tag.end)
            end = closing.end() if closing else tag.end
            self._replace(start, end)
            return end
        if tag.name == "CodeBlock" and not tag.self_closing:
            return self._code_component(start, tag)
        specifier = self.imports.get(tag.name)
        if specifier is not None and self.partial is not None:
            included = self.partial(tag.name, specifier)
            if included is not None:
                scope = f"{specifier}@{start}"
                self.edits.append(Edit(start, tag.end, f"\n\n{included.strip()}\n\n", scope))
                return tag.end
        if not tag.self_closing and flow and tag.name.lower() not in _VOID:
            self.open.append((tag.name, None))
        self._replace(start, tag.end, self._tag_text(tag, flow))
        return tag.end

    def _is_markup(self, tag: javascript.Tag) -> bool:
        """Text such as `Vec<T>` or `<your name>` is no tag: nothing closes it, it has no values."""
        return (
            tag.closing
            or tag.self_closing
            or not tag.name
            or tag.name in self.closed
            or any(mark in tag.attributes for mark in "={")
            or tag.name.lower() in _VOID
        )

    def _tag_text(self, tag: javascript.Tag, flow: bool) -> str:
        lowered = tag.name.lower()
        if lowered == "img" or tag.name == "Image":
            return attribute(tag.attributes, "alt") or ""
        if lowered == "br":
            return " "
        label = component_label(tag.name, tag.attributes) if tag.name else ""
        return label if label else ("\n" if flow and not tag.self_closing else "")

    def _code_component(self, start: int, tag: javascript.Tag) -> int:
        closing = self.text.find("</CodeBlock>", tag.end)
        if closing < 0:
            return tag.end
        body = self.text[tag.end : closing].strip()
        if body.startswith("{"):
            body = javascript.literal(body[1:-1])
        language = attribute(tag.attributes, "language") or ""
        title = attribute(tag.attributes, "title")
        info = language + (f' title="{title}"' if title else "")
        end = closing + len("</CodeBlock>")
        fence = f"\n\n```{info}\n{body.strip(chr(10))}\n```\n\n" if body.strip() else ""
        self._replace(start, end, fence)
        return end

    def _close(self, name: str) -> None:
        for index in range(len(self.open) - 1, -1, -1):
            if self.open[index][0] == name:
                del self.open[index:]
                return

    def _dedent(self, line: int) -> int:
        """Take an element's indentation off one line; MDX does not read it as indented code."""
        indent = _INDENT.match(self.text, line)
        end = indent.end() if indent else line
        if end >= len(self.text) or self.text[end] == "\n":
            return end
        width = end - line
        name, column = self.open[-1]
        if column is None:
            # A first line that only closes the element says nothing about its content.
            column = width
            self.open[-1] = (name, column)
        remove = min(width, column)
        if remove:
            self._replace(line, line + remove)
        return line + remove

    def _spend(self) -> None:
        # A search that found no end may have gone far; a file full of them must not take for ever.
        self.failures += 1
        self.reach = max(_SHORT_REACH, _REACH // self.failures)

    def _replace(self, start: int, end: int, text: str = "") -> None:
        self.edits.append(Edit(start, end, text))
