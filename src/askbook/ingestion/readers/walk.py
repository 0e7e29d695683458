"""Which files of a folder are lessons: a walk that is safe against loops, foreign links and build output."""

import os
import re
from functools import lru_cache
from pathlib import Path

from askbook.book import is_text
from askbook.ingestion.readers.base import Discovery

SUFFIXES = (".md", ".mdx", ".markdown")
_DIGITS = re.compile(r"(\d+)")
_SKIPPED_FOLDERS = frozenset(("node_modules", "build", "__pycache__"))


def walk(root: Path, partial_prefix: str | None, suffixes: tuple[str, ...] = SUFFIXES) -> Discovery:
    """The files with these suffixes below `root` in natural order; names with the prefix are no lessons."""
    files: list[str] = []
    warnings: list[str] = []
    boundary = root.resolve()

    def is_partial(name: str) -> bool:
        return partial_prefix is not None and name.startswith(partial_prefix)

    def visit(folder: Path, relative: str, ancestors: tuple[Path, ...]) -> None:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            warnings.append(
                f"{relative or '.'} cannot be read ({error.strerror}); it was left out."
            )
            return
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            if entry.name.startswith("."):
                continue
            if not is_text(entry.name):
                warnings.append(f"{_shown(path)} has a name that is not UTF-8; it was left out.")
                continue
            try:
                target = Path(entry.path).resolve(strict=True) if entry.is_symlink() else None
                is_folder, is_file = entry.is_dir(), entry.is_file()
            except (OSError, RuntimeError):
                warnings.append(f"{path} is a link that leads nowhere; it was left out.")
                continue
            if target is not None and not target.is_relative_to(boundary):
                if is_folder or entry.name.lower().endswith(suffixes):
                    warnings.append(f"{path} is a link out of the book; it was left out.")
                continue
            if is_folder:
                if entry.name in _SKIPPED_FOLDERS or is_partial(entry.name):
                    if entry.name == "build" and any(Path(entry.path).glob("*.md*")):
                        warnings.append(f"{path} was taken for build output; it was left out.")
                    continue
                real = target or Path(entry.path).resolve()
                if real in ancestors:
                    warnings.append(f"{path} is a link to a folder above it; it was left out.")
                    continue
                visit(Path(entry.path), path, (*ancestors, real))
            elif is_file and entry.name.lower().endswith(suffixes) and not is_partial(entry.name):
                files.append(path)

    visit(root, "", (boundary,))
    return Discovery(tuple(sorted(files, key=path_key)), tuple(warnings))


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `2-b` before `10-a`, without regard to case; equal names fall back to their exact form."""
    parts = _DIGITS.split(name.casefold())
    keys = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)
    return (*keys, (2, 0, name))


def path_key(path: str) -> tuple[tuple[int, int, tuple[tuple[int, int, str], ...]], ...]:
    """Natural order of paths: within a folder the index page, then files and folders by name."""
    folder, _, name = path.rpartition("/")
    stem = name.rsplit(".", 1)[0].lower()
    is_index = stem in ("index", "readme", "_index")
    return (*_folder_key(folder), (0, 0 if is_index else 1, natural_key(name)))


@lru_cache(maxsize=1024)
def _folder_key(folder: str) -> tuple[tuple[int, int, tuple[tuple[int, int, str], ...]], ...]:
    """Kept, because all files of a folder share it."""
    return tuple((0, 1, natural_key(name)) for name in folder.split("/")) if folder else ()


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
