"""What routes need of `docusaurus.config.*`, found by pattern: the file is never executed."""

import re
from collections.abc import Iterator
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
    last_version: str = ""
    version_paths: tuple[tuple[str, str], ...] = ()
    is_unversioned: bool = False
    default_locale: str = "en"


def read_site_config(file: Path) -> SiteConfig:
    """The settings in a configuration file, with Docusaurus's defaults for what is not written out."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return SiteConfig()
    text = _COMMENTS.sub(lambda match: match[1] or "", text)
    docs, versions = _without_versions(_docs_options(text))
    slash = re.search(r"\btrailingSlash\s*:\s*(true|false)\b", text)
    return SiteConfig(
        path=(_string(docs, "path") or "docs").strip("/").removeprefix("./") or ".",
        route_base_path=_string(docs, "routeBasePath", "docs").strip("/"),
        base_url=_string(text, "baseUrl", "/") or "/",
        trailing_slash=None if slash is None else slash[1] == "true",
        last_version=_string(docs, "lastVersion"),
        version_paths=tuple(_version_paths(versions)),
        is_unversioned=re.search(r"\bdisableVersioning\s*:\s*true\b", docs) is not None,
        default_locale=_string(text, "defaultLocale", "en"),
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


def _without_versions(docs: str) -> tuple[str, str]:
    """The options without those of single versions, which have a `path` of their own; and these."""
    match = re.search(r"\bversions\s*:\s*\{", docs)
    if match is None:
        return docs, ""
    versions = _object(docs, match.end() - 1)
    return docs.replace(versions, "{}", 1), versions


def _version_paths(versions: str) -> Iterator[tuple[str, str]]:
    """The path of every version that sets one."""
    for match in re.finditer(r"""(?:(['"])([^'"]+)\1|\b([\w$]+))\s*:\s*\{""", versions):
        options = _object(versions, match.end() - 1)
        if re.search(r"\bpath['\"]?\s*:", options):
            yield match[2] or match[3], _string(options, "path")


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
