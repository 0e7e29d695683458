"""What routes need of `docusaurus.config.*`, found by pattern: the file is never executed."""

import re
from dataclasses import dataclass
from pathlib import Path

_COMMENTS = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?\*/""", re.S)
_OPENING = re.compile(r"[{}]")


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """The settings that decide where docs live and how their addresses look."""

    path: str = "docs"
    route_base_path: str = "docs"
    base_url: str = "/"
    trailing_slash: bool | None = None


def read_site_config(file: Path) -> SiteConfig:
    """The settings in a configuration file, with Docusaurus's defaults for what is not written out."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return SiteConfig()
    text = _COMMENTS.sub(lambda match: match[1] or "", text)
    docs = _docs_options(text)
    slash = re.search(r"\btrailingSlash\s*:\s*(true|false)\b", text)
    return SiteConfig(
        path=(_string(docs, "path") or "docs").strip("/").removeprefix("./") or ".",
        route_base_path=_string(docs, "routeBasePath", "docs").strip("/"),
        base_url=_string(text, "baseUrl", "/") or "/",
        trailing_slash=None if slash is None else slash[1] == "true",
    )


def _docs_options(text: str) -> str:
    """The object after `docs:`, or the options of the docs plugin when it stands alone."""
    for pattern in (r"\bdocs\s*:\s*\{", r"plugin-content-docs['\"]\s*,\s*\{"):
        for match in re.finditer(pattern, text):
            body = _object(text, match.end() - 1)
            # The navbar and other places also have `docs: {…}`; options name at least one of these.
            if re.search(r"\b(?:path|routeBasePath|sidebarPath|editUrl|id)\b", body):
                return body
    return ""


def _object(text: str, start: int) -> str:
    depth = 0
    for match in _OPENING.finditer(text, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return text[start : match.end()]
    return text[start:]


def _string(text: str, key: str, default: str = "") -> str:
    match = re.search(rf"""\b{key}['"]?\s*:\s*(['"`])([^'"`$]*)\1""", text)
    return match[2] if match else default
