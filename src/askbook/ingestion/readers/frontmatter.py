"""Frontmatter: the YAML or TOML block at the top of a lesson, read safely and value by value."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import yaml

from askbook.book import (
    HARDWARE_TIERS,
    PROFICIENCY_LEVELS,
    TEACHING_LAYERS,
    Book,
    HardwareTier,
    ProficiencyLevel,
    TeachingLayer,
)
from askbook.errors import InvalidInput
from askbook.ingestion.readers.bounded_yaml import load_yaml

_BLOCK = re.compile(
    r"\A\ufeff?\s*?(?P<fence>---|\+\+\+)[ \t]*\r?\n(?P<body>.*?)(?:(?<=\n))(?P=fence)[ \t]*(?:\r?\n|\Z)",
    re.S,
)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields of a lesson's frontmatter; `end` is where its text begins."""

    fields: dict[str, Any]
    end: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Audience:
    """For whom a lesson is, with a warning for every value that was not acceptable."""

    hardware_tier: HardwareTier
    proficiency_level: ProficiencyLevel
    layer: TeachingLayer
    warnings: tuple[str, ...] = ()


def decode(source_file: str, data: bytes) -> str:
    """The text of a lesson file; refuses bytes that are not UTF-8 text."""
    zero = data.find(b"\x00")
    if zero >= 0:
        raise InvalidInput(
            f"{source_file} is not a text file: it holds a NUL byte at offset {zero}.",
            "Remove the file from the book, or save it as UTF-8 text.",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{source_file} is not valid UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}.",
            "Save the file as UTF-8.",
        ) from error


def frontmatter_end(text: str) -> int:
    """Where the text of a lesson begins: after the byte order mark and the frontmatter."""
    match = _BLOCK.match(text) if text[:200].lstrip("\ufeff \t\r\n")[:3] in ("---", "+++") else None
    if match is not None and _is_block(match):
        return match.end()
    return 1 if text.startswith("\ufeff") else 0


def read_frontmatter(source_file: str, text: str) -> Frontmatter:
    """The fields at the top of `text`; a broken block is left out whole, with a warning."""
    end = frontmatter_end(text)
    match = _BLOCK.match(text) if end > 1 else None
    if match is None:
        return Frontmatter({}, end)
    body = match["body"].replace("\r\n", "\n")
    first_line = text.count("\n", 0, match.start("body")) + 1
    try:
        loaded: object = tomllib.loads(body) if match["fence"] == "+++" else load_yaml(body)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = first_line + (mark.line if mark is not None else 0)
        return Frontmatter({}, end, (_broken(source_file, line, body, first_line, error),))
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        line = first_line + (int(found[1]) - 1 if found else 0)
        return Frontmatter({}, end, (_broken(source_file, line, body, first_line, error),))
    if loaded is None:
        return Frontmatter({}, end)
    if not isinstance(loaded, dict):
        warning = (
            f"{source_file}: the frontmatter (line {first_line}) is not a list of `field: value` "
            "lines; it was ignored and the defaults are used."
        )
        return Frontmatter({}, end, (warning,))
    fields = cast(dict[object, Any], loaded)
    return Frontmatter({str(key): value for key, value in fields.items()}, end)


def read_audience(source_file: str, fields: dict[str, Any], book: Book) -> Audience:
    """Tier, proficiency and layer of a lesson, with the book's defaults for what is missing or bad."""
    warnings: list[str] = []
    tier: HardwareTier = _choice(
        source_file, fields, "hardware_tier", HARDWARE_TIERS, book.hardware_tier, warnings
    )
    level: ProficiencyLevel = _choice(
        source_file,
        fields,
        "proficiency_level",
        PROFICIENCY_LEVELS,
        book.proficiency_level,
        warnings,
    )
    layer: TeachingLayer = _choice(
        source_file, fields, "layer", TEACHING_LAYERS, book.layer, warnings
    )
    return Audience(tier, level, layer, tuple(warnings))


def read_number(
    source_file: str, fields: dict[str, Any], field: str, warnings: list[str]
) -> int | None:
    """A whole number from 0 up, or None with a warning when the field holds something else."""
    value = fields.get(field)
    if value is None:
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1_000_000:
        return value
    warnings.append(
        f"{source_file}: frontmatter `{field}: {value}` is not a whole number from 0 up; it was "
        "ignored and the number is taken from the file's place."
    )
    return None


def read_string(fields: dict[str, Any], field: str) -> str | None:
    """A non-empty one-line string, or None."""
    value = fields.get(field)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return " ".join(str(value).split()) or None


def _is_block(match: re.Match[str]) -> bool:
    # A rule `---` at the top, then prose, then another rule: not frontmatter unless a field is there.
    body = match["body"]
    if not body.strip():
        return True
    first = next(line for line in body.split("\n") if line.strip())
    return match["fence"] == "+++" or bool(
        re.match(r"\s*(?:#|-\s|[\[{]|[^\s:#][^:\n]*:(?:\s|$))", first) or "\n\n" not in body
    )


def _choice(
    source_file: str,
    fields: dict[str, Any],
    field: str,
    allowed: Sequence[_Value],
    default: _Value,
    warnings: list[str],
) -> _Value:
    value = fields.get(field)
    if value is None:
        return default
    wanted = str(value).strip().upper()
    for choice in allowed:
        if not isinstance(value, bool) and str(choice) == wanted:
            return choice
    listed = ", ".join(str(choice) for choice in allowed)
    warnings.append(
        f"{source_file}: frontmatter `{field}: {value}` is not one of {listed}; {default} is used."
    )
    return default


def _broken(source_file: str, line: int, body: str, first_line: int, error: Exception) -> str:
    lines = body.split("\n")
    index = min(max(0, line - first_line), len(lines) - 1)
    before = [text for text in lines[: index + 1] if re.match(r"[^\s:#][^:]*:", text)]
    field = before[-1].split(":", 1)[0].strip() if before else lines[index].strip()[:40]
    problem = getattr(error, "problem", None) or str(error).split("\n")[0]
    return (
        f"{source_file}: the frontmatter is broken at line {line}, field `{field}` ({problem}); "
        "it was ignored and the defaults are used."
    )
