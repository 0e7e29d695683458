"""A book and its optional manifest, `askbook.toml`."""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from askbook.book.types import HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.errors import ConfigurationError

MANIFEST = "askbook.toml"
REFUSAL = "I couldn't find that information in the book."
DISCLAIMER = "I am not certain the book fully answers this; please check the cited passages."


@dataclass(frozen=True, slots=True)
class Module:
    """A first-level part of a book; `aliases` are other names it may be asked for by."""

    name: str
    title: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Book:
    """A folder of lessons, with what its manifest says of it."""

    book_id: str
    title: str
    base_url: str | None = None
    docs: str = ""
    modules: tuple[Module, ...] = ()
    max_chapter: int | None = None
    max_lesson: int | None = None
    reader_tier: HardwareTier | None = None
    hardware_tier: HardwareTier = 1
    proficiency_level: ProficiencyLevel = "A2"
    layer: TeachingLayer = "L1"
    refusal: str = REFUSAL
    disclaimer: str = DISCLAIMER
    examples: tuple[str, ...] = ()

    def module_named(self, name: str) -> Module | None:
        """The module with this name or alias, if the manifest lists one."""
        wanted = name.casefold()
        for module in self.modules:
            if wanted in (module.name.casefold(), *(alias.casefold() for alias in module.aliases)):
                return module
        return None


def load_book(folder: Path, book_id: str | None = None) -> Book:
    """The book in `folder`, from its manifest or from the folder's name."""
    path = folder / MANIFEST
    raw = _read_manifest(path) if path.is_file() else _Manifest()
    identifier = book_id or raw.id or slugify(folder.resolve().name)
    if not identifier:
        raise ConfigurationError(
            f"No book id can be made from the folder name {folder.name!r}.",
            "Pass --book ID, or set `id` in askbook.toml.",
        )
    return Book(
        book_id=identifier,
        title=raw.title or _title_from(folder.resolve().name),
        base_url=raw.base_url.rstrip("/") if raw.base_url else None,
        docs=raw.docs or "",
        modules=tuple(
            Module(m.name, m.title or _title_from(m.name), tuple(m.aliases)) for m in raw.modules
        ),
        max_chapter=raw.max_chapter,
        max_lesson=raw.max_lesson,
        reader_tier=raw.reader_tier,
        hardware_tier=raw.defaults.hardware_tier,
        proficiency_level=raw.defaults.proficiency_level,
        layer=raw.defaults.layer,
        refusal=raw.refusal or REFUSAL,
        disclaimer=raw.disclaimer or DISCLAIMER,
        examples=tuple(raw.examples),
    )


def book_of_file(path: Path, book_id: str | None = None) -> Book:
    """The book that is one file; a manifest belongs to a folder, and so has no say in it."""
    identifier = book_id or slugify(path.stem)
    if not identifier:
        raise ConfigurationError(
            f"No book id can be made from the file name {path.name!r}.", "Pass --book ID."
        )
    return Book(book_id=identifier, title=_title_from(path.stem))


def slugify(name: str) -> str:
    """Lower-case ASCII letters, digits and single hyphens."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _ModuleEntry(_Strict):
    name: str = Field(min_length=1)
    title: str | None = None
    aliases: list[str] = []


class _Defaults(_Strict):
    hardware_tier: HardwareTier = 1
    proficiency_level: ProficiencyLevel = "A2"
    layer: TeachingLayer = "L1"


class _Manifest(_Strict):
    id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    title: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://")
    docs: str | None = None
    modules: list[_ModuleEntry] = []
    max_chapter: int | None = Field(default=None, ge=0)
    max_lesson: int | None = Field(default=None, ge=0)
    reader_tier: HardwareTier | None = None
    refusal: str | None = Field(default=None, min_length=1)
    disclaimer: str | None = Field(default=None, min_length=1)
    examples: list[str] = Field(default=[], max_length=6)
    defaults: _Defaults = _Defaults()

    @field_validator("docs")
    @classmethod
    def _inside_the_book(cls, value: str | None) -> str | None:
        if value is not None and (value.startswith("/") or ".." in Path(value).parts):
            raise ValueError("must be a sub-folder of the book")
        return value


def _read_manifest(path: Path) -> _Manifest:
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error}.", "Mend the file, or remove it to use the defaults."
        ) from error
    try:
        return _Manifest.model_validate(data)
    except ValidationError as error:
        lines = [
            f"{'.'.join(str(part) for part in e['loc'])} = {e.get('input')!r}: {e['msg']}"
            for e in error.errors()
        ]
        raise ConfigurationError(
            f"{path} has {len(lines)} mistake(s): " + "; ".join(lines) + ".",
            "Correct these values in the manifest.",
        ) from error


def _title_from(name: str) -> str:
    words = re.sub(r"^\d+[-_. ]+", "", name).replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words else name
