"""mdBook's `{{#include …}}` family: the text of other files, by lines or by anchor."""

import os
import re
from pathlib import Path

from askbook.ingestion.readers.traced import Edit, TracedText

_DIRECTIVE = re.compile(r"\\?\{\{\s*#(?P<name>[\w-]+)(?P<argument>[^}]*)\}\}")
_ANCHOR = re.compile(r"^.*ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+).*$")
_INCLUDES = frozenset(("include", "rustdoc_include", "playground", "playpen"))
_MAX_DEPTH = 10


def expand_includes(
    source: TracedText,
    docs_root: Path,
    folder: Path,
    source_file: str,
    includes: list[str],
    warnings: list[str],
) -> TracedText:
    """`source` with every directive replaced by what the site shows for it."""
    if "{{" not in source.text:
        return source
    expansion = _Expansion(docs_root, folder, source_file, includes, warnings)
    return source.edited(expansion.edits(source.text, docs_root / source_file, 0))


class _Expansion:
    def __init__(
        self,
        docs_root: Path,
        folder: Path,
        source_file: str,
        includes: list[str],
        warnings: list[str],
    ) -> None:
        self._docs_root, folder = docs_root.resolve(), folder.resolve()
        above = self._docs_root.parent
        # An mdBook keeps its listings beside `src`, never above the book's own folder.
        self._boundary = above if folder in (self._docs_root, above) else folder
        self._source_file = source_file
        self._includes = includes
        self._warnings = warnings

    def edits(self, text: str, path: Path, depth: int) -> list[Edit]:
        edits: list[Edit] = []
        for match in _DIRECTIVE.finditer(text):
            if match[0].startswith("\\"):
                edits.append(Edit(match.start(), match.start() + 1))
                continue
            shown = self._shown(match["name"], match["argument"].strip(), path, depth)
            edits.append(Edit(match.start(), match.end(), shown))
        return edits

    def _shown(self, name: str, argument: str, path: Path, depth: int) -> str:
        if name == "title":
            return ""
        if name not in _INCLUDES:
            self._warn(f"directive {{{{#{name}}}}} ({argument}) is not known; it was left out")
            return ""
        words = argument.split()
        location = words[0] if words else ""
        file, _, part = location.partition(":")
        target = (path.parent / file).resolve()
        if not target.is_relative_to(self._boundary):
            self._warn(f"{{{{#{name}}}}} of {file} leads out of the book; it was left out")
            return ""
        if depth >= _MAX_DEPTH:
            self._warn(f"{{{{#{name}}}}} of {file} includes itself; it was left out")
            return ""
        self._includes.append(_relative(target, self._docs_root))  # missing ones may appear later
        try:
            text = target.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
            self._warn(f"{{{{#{name}}}}} of {file} was left out: {reason}")
            return ""
        chosen = _select(text.replace("\r\n", "\n"), part)
        if chosen is None:
            self._warn(f"{file} has no anchor {part!r}; the include was left out")
            return ""
        inner = self.edits(chosen, target, depth + 1)
        return TracedText(chosen).edited(inner).text.rstrip("\n")

    def _warn(self, message: str) -> None:
        self._warnings.append(f"{self._source_file}: {message}.")


def _select(text: str, part: str) -> str | None:
    """The lines `part` asks for: all, `3`, `2:5`, `:5`, `2:` or an anchor's name."""
    lines = text.split("\n")
    if not part:
        return "\n".join(line for line in lines if not _ANCHOR.match(line))
    numbers = part.split(":")
    if all(number == "" or number.isdecimal() for number in numbers[:2]):
        first = int(numbers[0]) if numbers[0] else 1
        last = first if len(numbers) == 1 else int(numbers[1]) if numbers[1] else len(lines)
        return "\n".join(lines[max(0, first - 1) : last])
    chosen: list[str] = []
    inside = found = False
    for line in lines:
        marker = _ANCHOR.match(line)
        if marker is None:
            if inside:
                chosen.append(line)
        elif marker["name"] == numbers[0]:
            inside = not marker["end"]
            found = True
    return "\n".join(chosen) if found else None


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()
