"""Which version and language of a Docusaurus site a folder holds, and what that puts into its addresses."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from askbook.ingestion.readers.docusaurus_config import SiteConfig

CURRENT = "current"
LIST = "versions.json"
LEVELS_UP = 4
"""From `i18n/<locale>/docusaurus-plugin-content-docs/current` to the site."""
_VERSIONED = re.compile(r"versioned_docs/version-(?P<version>[^/]+)")
_TRANSLATED = re.compile(
    r"i18n/(?P<locale>[^/]+)/docusaurus-plugin-content-docs/(?:current|version-(?P<version>[^/]+))"
)


@dataclass(frozen=True, slots=True)
class Edition:
    """One version of the docs in one language; no locale means the site's own."""

    version: str = CURRENT
    locale: str | None = None


def edition_of(site: Path, folder: Path, config: SiteConfig) -> Edition | None:
    """The edition in `folder`, if it is one of this site's."""
    if folder.resolve() == (site / config.path).resolve():
        return Edition()
    try:
        inside = folder.resolve().relative_to(site.resolve()).as_posix()
    except ValueError:
        return None
    match = _VERSIONED.fullmatch(inside) or _TRANSLATED.fullmatch(inside)
    if match is None:
        return None
    found = match.groupdict()
    return Edition(found["version"] or CURRENT, found.get("locale"))


def route_prefix(site: Path, edition: Edition, config: SiteConfig) -> str:
    """What stands before a page's own path: base URL, language, docs and version."""
    locale = "" if edition.locale in (None, config.default_locale) else f"{edition.locale}/"
    version = _version_path(site, edition.version, config)
    return f"/{config.base_url}/{locale}{config.route_base_path}/{version}/"


def _version_path(site: Path, version: str, config: SiteConfig) -> str:
    """The last version, which readers meet first, has no name in its address."""
    chosen = dict(config.version_paths).get(version)
    if chosen is not None:
        return chosen.strip("/")
    released = () if config.is_unversioned else _released(site / LIST)
    last = config.last_version or (released[0] if released else CURRENT)
    if version == last:
        return ""
    return "next" if version == CURRENT else version


def _released(file: Path) -> tuple[str, ...]:
    """The released versions, the newest first."""
    try:
        names = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # outside data
