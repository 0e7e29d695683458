"""As much of JavaScript's syntax as is needed to step over it in an MDX file."""

import re
from dataclasses import dataclass

_TAG_NAME = re.compile(r"</?\s*([A-Za-z_$][\w$.:\-]*)?")
_DEFAULT_IMPORT = re.compile(
    r"import\s+(?:type\s+)?([A-Za-z_$][\w$]*)\s*(?:,\s*\{[^}]*\}\s*)?from\s*(['\"])(.+?)\2"
)
_SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[{}()\[\]]""",
    re.S,
)
_STRING = re.compile(
    r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\$]|\\.|\$(?!\{))*)`)\s*""", re.S
)
_PAIRS = {"}": "{", ")": "(", "]": "["}


@dataclass(frozen=True, slots=True)
class Tag:
    """A JSX tag; a fragment has no name."""

    name: str
    attributes: str
    closing: bool
    self_closing: bool
    end: int


def statement_end(text: str, start: int) -> int:
    """The end of an import or export statement: brackets closed, and nothing left to come."""
    position = start
    while True:
        line_end = text.find("\n", position)
        line_end = len(text) if line_end < 0 else line_end
        closed = _balanced(text[start:line_end])
        if line_end == len(text):
            return line_end
        if closed:
            following = text[line_end + 1 : line_end + 400]
            next_line = following.split("\n", 1)[0]
            done = text[start:line_end].rstrip()
            complete = done.endswith((";", "'", '"', "}", ")")) and not re.match(
                r"\s*(?:from\b|[.?:&|+)\]},;=])", next_line
            )
            if complete or not next_line.strip() or re.match(r"(?:import|export)\b", next_line):
                return line_end
        elif text.startswith("\n\n", line_end) and line_end - start > 20_000:
            return line_end
        position = line_end + 1


def default_imports(statements: str) -> list[tuple[str, str]]:
    """(local name, module specifier) of every default import."""
    return [(match[1], match[3]) for match in _DEFAULT_IMPORT.finditer(statements)]


def braces_end(text: str, start: int) -> int | None:
    """The position after the `}` that closes the `{` at `start`."""
    depth = 0
    for match in _SKIPPED.finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def literal(expression: str) -> str:
    """What an expression in prose shows: the text of a string, nothing for anything else."""
    match = _STRING.fullmatch(expression)
    if match is None:
        return ""
    content = next(group for group in match.groups() if group is not None)
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), content, flags=re.S)


def read_tag(text: str, start: int) -> Tag | None:
    """The JSX or HTML tag at `start`, or None when `<` is only a character."""
    opening = _TAG_NAME.match(text, start)
    if opening is None:
        return None
    name, closing = opening[1] or "", text.startswith("</", start)
    position = opening.end()
    if not name:
        return Tag("", "", closing, False, position + 1) if text.startswith(">", position) else None
    if position < len(text) and text[position] not in " \t\r\n/>":
        return None
    attributes_start = position
    while position < len(text):
        char = text[position]
        if char == ">":
            attributes = text[attributes_start:position].strip()
            self_closing = attributes.endswith("/")
            return Tag(name, attributes.rstrip("/").strip(), closing, self_closing, position + 1)
        if char in "\"'":
            end = text.find(char, position + 1)
            if end < 0:
                return None
            position = end + 1
        elif char == "{":
            after = braces_end(text, position)
            if after is None:
                return None
            position = after
        elif char == "<" or text.startswith("\n\n", position):
            return None
        else:
            position += 1
    return None


def _balanced(text: str) -> bool:
    stack: list[str] = []
    for match in _SKIPPED.finditer(text):
        char = match[0]
        if char in "{([":
            stack.append(char)
        elif char in _PAIRS and stack and stack[-1] == _PAIRS[char]:
            stack.pop()
    tail = _SKIPPED.sub("", text)
    return not stack and "`" not in tail
