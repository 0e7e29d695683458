"""As much of JavaScript's syntax as is needed to step over it in an MDX file."""

import re
from dataclasses import dataclass

_TAG_NAME = re.compile(r"</?\s*([A-Za-z_$][\w$.:\-]*)?")
_DEFAULT_IMPORT = re.compile(
    r"import\s+(?:type\s+)?([A-Za-z_$][\w$]*)\s*(?:,\s*\{[^}]*\}\s*)?from\s*(['\"])(.+?)\2"
)
_QUOTED = (
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[{}()\[\]]"""
)
_SKIPPED = re.compile(_QUOTED, re.S)
_SKIPPED_OR_LINE = re.compile(_QUOTED + r"|\n", re.S)
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


def statement_end(text: str, start: int, reach: int) -> int | None:
    """The end of an import or export statement: brackets closed, and nothing left to come."""
    stack: list[str] = []
    limit = min(len(text), start + reach)
    for match in _SKIPPED_OR_LINE.finditer(text, start, limit):
        sign = match[0]
        if sign in ("{", "(", "["):
            stack.append(sign)
        elif sign in _PAIRS and stack and stack[-1] == _PAIRS[sign]:
            stack.pop()
        elif sign == "\n" and not stack and _is_complete(text, start, match.start()):
            return match.start()
    return limit if not stack and limit == len(text) else None


def _is_complete(text: str, start: int, end: int) -> bool:
    next_end = text.find("\n", end + 1)
    following = text[end + 1 : next_end if next_end >= 0 else len(text)]
    if not following.strip() or re.match(r"(?:import|export)\b", following):
        return True
    goes_on = re.match(r"\s*(?:from\b|[.?:&|+)\]},;=])", following)
    return text[start:end].rstrip().endswith((";", "'", '"', "}", ")")) and not goes_on


def default_imports(statements: str) -> list[tuple[str, str]]:
    """(local name, module specifier) of every default import."""
    return [(match[1], match[3]) for match in _DEFAULT_IMPORT.finditer(statements)]


def braces_end(text: str, start: int, reach: int) -> int | None:
    """The position after the `}` that closes the `{` at `start`, when it is within reach."""
    depth = 0
    for match in _SKIPPED.finditer(text, start, start + reach):
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


def read_tag(text: str, start: int, reach: int) -> Tag | None:
    """The JSX or HTML tag at `start`, or None when `<` is only a character."""
    limit = min(len(text), start + reach)
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
    while position < limit:
        char = text[position]
        if char == ">":
            attributes = text[attributes_start:position].strip()
            self_closing = attributes.endswith("/")
            return Tag(name, attributes.rstrip("/").strip(), closing, self_closing, position + 1)
        if char in "\"'":
            end = text.find(char, position + 1, limit)
            if end < 0:
                return None
            position = end + 1
        elif char == "{":
            after = braces_end(text, position, limit - position)
            if after is None:
                return None
            position = after
        elif char == "<" or text.startswith("\n\n", position):
            return None
        else:
            position += 1
    return None
