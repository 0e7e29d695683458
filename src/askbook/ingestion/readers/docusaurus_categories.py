"""`_category_.json` and `_category_.yml`: what Docusaurus calls a folder and where it stands."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from askbook.ingestion.readers.bounded_yaml import load_yaml

CATEGORY_FILES = ("_category_.json", "_category_.yml", "_category_.yaml")


@dataclass(frozen=True, slots=True)
class Categories:
    """The categories of a site by folder, relative to its docs."""

    files: tuple[Path, ...]
    fields: dict[str, dict[str, Any]]
    warnings: tuple[str, ...]

    def label(self, folder: str) -> str | None:
        label = self.fields.get(folder, {}).get("label")
        return str(label) if label else None

    def position(self, folder: str) -> int | None:
        value = self.fields.get(folder, {}).get("position")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if value >= 0 and float(value).is_integer() else None

    def linked_doc(self, folder: str) -> str | None:
        """The id of the doc that is the category's own page."""
        link = self.fields.get(folder, {}).get("link")
        if not isinstance(link, dict):
            return None
        link = cast(dict[str, Any], link)
        return str(link.get("id", "")) or None if link.get("type") == "doc" else None


def load_categories(docs_root: Path) -> Categories:
    """All categories below `docs_root`; files that cannot be read are reported and ignored."""
    files = sorted(path for name in CATEGORY_FILES for path in docs_root.rglob(name))
    fields: dict[str, dict[str, Any]] = {}
    warnings: list[str] = []
    for path in files:
        shown = path.relative_to(docs_root)
        try:
            text = path.read_text(encoding="utf-8-sig")
            data: object = json.loads(text) if path.suffix == ".json" else load_yaml(text)
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            reason = str(error).splitlines()[0]
            warnings.append(f"{shown.as_posix()} cannot be read ({reason}); it was ignored.")
            continue
        if isinstance(data, dict):
            folder = shown.parent.as_posix()
            fields["" if folder == "." else folder] = cast(dict[str, Any], data)
        elif data is not None:
            warnings.append(f"{shown.as_posix()} holds no fields; it was ignored.")
    return Categories(tuple(files), fields, tuple(warnings))
