"""All settings, from the environment and `.env`; a malformed value stops the start with one line each."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, TypeVar, get_args

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from askbook.errors import ConfigurationError


class _Section(BaseSettings):
    """Settings with full environment names, so that the documents' own names stay valid."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )


S = TypeVar("S", bound=_Section)


def _env(name: str) -> AliasChoices:
    return AliasChoices(name)


class StorageSettings(_Section):
    """Where books, conversations and jobs are kept."""

    data_dir: Path = Field(Path(".askbook"), validation_alias=_env("ASKBOOK_DATA_DIR"))
    database_url: SecretStr | None = Field(
        None,
        validation_alias=_env("ASKBOOK_DATABASE_URL"),
        description="postgresql://…; absent: SQLite inside the data directory",
    )


class EmbedderSettings(_Section):
    """Which embedder turns text into vectors."""

    embedder: Literal["builtin"] = Field("builtin", validation_alias=_env("ASKBOOK_EMBEDDER"))


class RetrievalSettings(_Section):
    """How much is retrieved and how it is ordered."""

    top_k: int = Field(5, ge=1, le=100, validation_alias=_env("AGENT_TOP_K"))
    score_threshold: float = Field(
        0.0, ge=0.0, le=1.0, validation_alias=_env("AGENT_SCORE_THRESHOLD")
    )
    dense_weight: float = Field(2.0, ge=0.0, validation_alias=_env("ASKBOOK_DENSE_WEIGHT"))
    sparse_weight: float = Field(1.0, ge=0.0, validation_alias=_env("ASKBOOK_SPARSE_WEIGHT"))
    judge: bool = Field(True, validation_alias=_env("ASKBOOK_JUDGE"))


class ConfidenceSettings(_Section):
    """When to answer, when to add a disclaimer, when to say that it is not in the book."""

    policy: Literal["calibrated", "threshold"] = Field(
        "calibrated", validation_alias=_env("ASKBOOK_CONFIDENCE_POLICY")
    )
    strict: bool = Field(False, validation_alias=_env("ASKBOOK_STRICT"))
    answerable_prior: float = Field(
        0.85, gt=0.0, lt=1.0, validation_alias=_env("ASKBOOK_ANSWERABLE_PRIOR")
    )
    high: float = Field(0.85, ge=0.0, le=1.0, validation_alias=_env("ASKBOOK_CONFIDENCE_HIGH"))
    medium: float = Field(0.75, ge=0.0, le=1.0, validation_alias=_env("ASKBOOK_CONFIDENCE_MEDIUM"))
    low: float = Field(0.60, ge=0.0, le=1.0, validation_alias=_env("ASKBOOK_CONFIDENCE_LOW"))
    similarity_threshold: float = Field(
        0.7,
        ge=0.0,
        le=1.0,
        validation_alias=_env("ASKBOOK_SIMILARITY_THRESHOLD"),
        description="cosine below which a chunk is not used, under the threshold policy",
    )
    min_relevance_score: float = Field(
        0.3, ge=0.0, le=1.0, validation_alias=_env("ASKBOOK_MIN_RELEVANCE_SCORE")
    )


class ServerSettings(_Section):
    """Where `askbook serve` listens."""

    host: str = Field("127.0.0.1", validation_alias=_env("ASKBOOK_HOST"))
    port: int = Field(8321, ge=1, le=65535, validation_alias=_env("ASKBOOK_PORT"))
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", validation_alias=_env("ASKBOOK_LOG_LEVEL")
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective settings, in sections."""

    storage: StorageSettings
    embedder: EmbedderSettings
    retrieval: RetrievalSettings
    confidence: ConfidenceSettings
    server: ServerSettings


def load_settings(**overrides: object) -> Settings:
    """Read all sections; `overrides` (field names, as from command-line options) win when not None.

    Raises ConfigurationError with one line per mistake: name, value (secrets masked), what is allowed.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    mistakes: list[str] = []

    def section(kind: type[S]) -> S | None:
        own = {name: value for name, value in given.items() if name in kind.model_fields}
        try:
            return kind(**own)  # pyright: ignore[reportArgumentType]  # validated right here
        except ValidationError as error:
            mistakes.extend(_mistakes(kind, error))
            return None

    storage, embedder = section(StorageSettings), section(EmbedderSettings)
    retrieval, confidence = section(RetrievalSettings), section(ConfidenceSettings)
    server = section(ServerSettings)
    if not (storage and embedder and retrieval and confidence and server):
        raise ConfigurationError(
            "\n".join(mistakes), "Correct these settings in the environment or in .env."
        )
    if not confidence.low <= confidence.medium <= confidence.high:
        raise ConfigurationError(
            f"ASKBOOK_CONFIDENCE_LOW/_MEDIUM/_HIGH are {confidence.low}, {confidence.medium}, "
            f"{confidence.high}, but must rise.",
            "Correct these settings in the environment or in .env.",
        )
    return Settings(storage, embedder, retrieval, confidence, server)


def describe_settings(settings: Settings) -> dict[str, object]:
    """Every setting by its environment name, with its effective value; secrets are masked."""
    described: dict[str, object] = {}
    for part in fields(settings):
        section: _Section = getattr(settings, part.name)
        for name, info in type(section).model_fields.items():
            value: object = getattr(section, name)
            if isinstance(value, SecretStr):
                value = "********"
            described[_env_name(name, info)] = str(value) if isinstance(value, Path) else value
    return described


def _mistakes(kind: type[_Section], error: ValidationError) -> list[str]:
    lines: list[str] = []
    for item in error.errors():
        name = str(item["loc"][0]) if item["loc"] else ""
        info = kind.model_fields.get(name) or next(
            (i for n, i in kind.model_fields.items() if _env_name(n, i) == name), None
        )
        shown = name if info is None else _env_name(name, info)
        secret = info is not None and SecretStr in (info.annotation, *get_args(info.annotation))
        value = "********" if secret else repr(item.get("input"))
        lines.append(f"{shown} = {value}: {item['msg']}")
    return lines


def _env_name(name: str, info: FieldInfo) -> str:
    alias = info.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else name
