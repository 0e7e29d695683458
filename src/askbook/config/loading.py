"""Reads all sections from the environment and `.env`; a malformed value stops the start with one line each."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from askbook.config.masking import masked_address
from askbook.config.sections import (
    AccessSettings,
    ClientSettings,
    CohereSettings,
    ConfidenceSettings,
    EmbedderSettings,
    IndexSettings,
    IngestionSettings,
    ModelSettings,
    OpenAISettings,
    RetrievalSettings,
    Section,
    ServerSettings,
    StorageSettings,
)
from askbook.errors import ConfigurationError

_CORRECT = "Correct these settings in the environment or in .env."


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings, in sections."""

    storage: StorageSettings
    index: IndexSettings
    embedder: EmbedderSettings
    openai: OpenAISettings
    cohere: CohereSettings
    retrieval: RetrievalSettings
    confidence: ConfidenceSettings
    model: ModelSettings
    ingestion: IngestionSettings
    access: AccessSettings
    server: ServerSettings
    client: ClientSettings


def load_settings(**overrides: object) -> Settings:
    """Read all sections; `overrides` (field names, as from command-line options) win when not None.

    Raises ConfigurationError with one line per mistake: name, value (secrets masked), what is allowed.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    sections: dict[str, Any] = {}
    mistakes: list[str] = []
    kinds: dict[str, type[Section]] = get_type_hints(Settings)
    for part, kind in kinds.items():
        own: dict[str, Any] = {n: value for n, value in given.items() if n in kind.model_fields}
        try:
            sections[part] = kind(**own)
        except ValidationError as error:
            mistakes.extend(_mistakes(kind, error))
    if mistakes:
        raise ConfigurationError("\n".join(mistakes), _CORRECT)
    settings = Settings(**sections)
    levels = settings.confidence
    if not levels.low <= levels.medium <= levels.high:
        raise ConfigurationError(
            f"ASKBOOK_CONFIDENCE_LOW/_MEDIUM/_HIGH are {levels.low}, {levels.medium}, "
            f"{levels.high}, but must rise.",
            _CORRECT,
        )
    return settings


def describe_settings(settings: Settings) -> dict[str, object]:
    """Every setting by its environment name, with its effective value; secrets are masked."""
    described: dict[str, object] = {}
    for part in fields(settings):
        section: Section = getattr(settings, part.name)
        for name, info in type(section).model_fields.items():
            value: object = getattr(section, name)
            if isinstance(value, SecretStr):
                value = "********"
            described[_env_name(name, info)] = str(value) if isinstance(value, Path) else value
    return described


def _mistakes(kind: type[Section], error: ValidationError) -> list[str]:
    lines: list[str] = []
    for item in error.errors():
        name = str(item["loc"][0]) if item["loc"] else ""
        info = kind.model_fields.get(name) or next(
            (i for n, i in kind.model_fields.items() if _env_name(n, i) == name), None
        )
        shown = name if info is None else _env_name(name, info)
        secret = info is not None and SecretStr in (info.annotation, *get_args(info.annotation))
        value = "********" if secret else masked_address(repr(item.get("input")))
        wrong = item["msg"].removeprefix("Value error, ").rstrip(".")
        lines.append(f"{shown} = {value}: {wrong}.")
    return lines


def _env_name(name: str, info: FieldInfo) -> str:
    alias = info.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else name
