"""The settings, a section for each part; every field has its name in the environment."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

DATABASE_SCHEMES = ("postgresql", "postgres", "postgresql+asyncpg")


class Section(BaseSettings):
    """Settings with full environment names, so that the documents' own names stay valid."""

    model_config = SettingsConfigDict(
        env_file=".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )


def _address(value: str) -> str:
    if not re.match(r"https?://[^\s/?#]+", value):
        raise ValueError("an address such as http://host:port is needed")
    return value.rstrip("/")


Address: TypeAlias = Annotated[str, AfterValidator(_address)]


def is_database_address(url: str) -> bool:
    """Whether this is an address of PostgreSQL; whether a server is there is another matter."""
    try:
        found = urlsplit(url)
        return found.scheme in DATABASE_SCHEMES and found.port != 0
    except ValueError:
        return False


def _database_address(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not is_database_address(value.get_secret_value()):
        raise ValueError("an address such as postgresql://user:password@host:5432/name is needed")
    return value


def _words(value: object) -> object:
    """`a, b` as its words; a list stays a list."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


Words: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_words)]
"""Several entries, with commas between."""


def _env(name: str) -> AliasChoices:
    return AliasChoices(name)


class StorageSettings(Section):
    """Where books, conversations and jobs are kept, and whether declined questions are."""

    data_dir: Path = Field(Path(".askbook"), validation_alias=_env("ASKBOOK_DATA_DIR"))
    database_url: Annotated[SecretStr | None, AfterValidator(_database_address)] = Field(
        None,
        validation_alias=_env("ASKBOOK_DATABASE_URL"),
        description="postgresql://…; absent: SQLite inside the data directory",
    )
    keep_gaps: bool = Field(
        True,
        validation_alias=_env("ASKBOOK_KEEP_GAPS"),
        description="declined questions, without personal data, for `askbook gaps`",
    )


class EmbedderSettings(Section):
    """Which embedder turns text into vectors."""

    embedder: Literal["builtin", "openai", "cohere"] = Field(
        "builtin", validation_alias=_env("ASKBOOK_EMBEDDER")
    )
    openai_embedding_model: str = Field(
        "text-embedding-3-small",
        min_length=1,
        validation_alias=_env("ASKBOOK_OPENAI_EMBEDDING_MODEL"),
    )
    openai_embedding_dimensions: int | None = Field(
        None,
        ge=1,
        validation_alias=_env("ASKBOOK_OPENAI_EMBEDDING_DIMENSIONS"),
        description="absent: what the model is known to give",
    )
    cohere_model: str = Field(
        "embed-english-v3.0", min_length=1, validation_alias=_env("COHERE_MODEL")
    )


class OpenAISettings(Section):
    """How OpenAI, or a server that speaks its API, is reached."""

    openai_api_key: SecretStr | None = Field(None, validation_alias=_env("OPENAI_API_KEY"))
    openai_base_url: Address | None = Field(
        None,
        validation_alias=_env("OPENAI_BASE_URL"),
        description="absent: OpenAI's own",
    )


class CohereSettings(Section):
    """How Cohere is reached."""

    cohere_api_key: SecretStr | None = Field(None, validation_alias=_env("COHERE_API_KEY"))
    cohere_base_url: Address | None = Field(
        None,
        validation_alias=_env("ASKBOOK_COHERE_BASE_URL"),
        description="absent: Cohere's own",
    )


class IndexSettings(Section):
    """Where chunks are found: embedded in the data directory, or on a Qdrant server."""

    qdrant_url: Address | None = Field(
        None,
        validation_alias=_env("QDRANT_URL"),
        description="http://host:6333; absent: the embedded index",
    )
    qdrant_api_key: SecretStr | None = Field(None, validation_alias=_env("QDRANT_API_KEY"))
    qdrant_collection_name: str = Field(
        "documentation",
        pattern=r"^[^/\\\s<>:\"|?*]{1,255}$",
        validation_alias=_env("QDRANT_COLLECTION_NAME"),
    )
    qdrant_grpc: bool = Field(False, validation_alias=_env("ASKBOOK_QDRANT_GRPC"))
    qdrant_grpc_port: int = Field(
        6334, ge=1, le=65535, validation_alias=_env("ASKBOOK_QDRANT_GRPC_PORT")
    )
    qdrant_timeout: int = Field(
        10, ge=1, validation_alias=_env("ASKBOOK_QDRANT_TIMEOUT"), description="seconds per request"
    )
    qdrant_shards: int | None = Field(
        None,
        ge=1,
        validation_alias=_env("ASKBOOK_QDRANT_SHARDS"),
        description="of a new collection on a cluster; absent: the server's default",
    )
    qdrant_replicas: int | None = Field(
        None, ge=1, validation_alias=_env("ASKBOOK_QDRANT_REPLICAS")
    )


class RetrievalSettings(Section):
    """How much is retrieved and how it is ordered."""

    top_k: int = Field(5, ge=1, le=100, validation_alias=_env("AGENT_TOP_K"))
    score_threshold: float = Field(
        0.0, ge=0.0, le=1.0, validation_alias=_env("AGENT_SCORE_THRESHOLD")
    )
    dense_weight: float = Field(1.0, ge=0.0, validation_alias=_env("ASKBOOK_DENSE_WEIGHT"))
    sparse_weight: float = Field(1.5, ge=0.0, validation_alias=_env("ASKBOOK_SPARSE_WEIGHT"))
    judge: bool = Field(True, validation_alias=_env("ASKBOOK_JUDGE"))


class ConfidenceSettings(Section):
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


class ModelSettings(Section):
    """Which language model writes answers, and how far it may go.

    With neither a key nor a base URL none does: answers are quoted from the book.
    """

    openai_model: str = Field("gpt-4o-mini", min_length=1, validation_alias=_env("OPENAI_MODEL"))
    temperature: float = Field(0.0, ge=0.0, le=1.0, validation_alias=_env("ASKBOOK_TEMPERATURE"))
    max_tokens: int | None = Field(
        None,
        ge=1,
        validation_alias=_env("ASKBOOK_MAX_TOKENS"),
        description="of one answer; absent: the model's own limit",
    )
    answer_timeout: float = Field(
        60.0,
        gt=0.0,
        validation_alias=_env("ASKBOOK_MODEL_TIMEOUT"),
        description="seconds for a whole answer, with searches and retries",
    )
    max_tool_calls: int = Field(
        3,
        ge=0,
        le=20,
        validation_alias=_env("ASKBOOK_MAX_TOOL_CALLS"),
        description="searches the model may add to the first one",
    )
    max_turns: int = Field(
        50,
        ge=1,
        validation_alias=_env("AGENT_MAX_TURNS"),
        description="earlier exchanges the model sees at most; a conversation itself has no end",
    )


class IngestionSettings(Section):
    """What the server may ingest, and as whom."""

    books_dir: Path | None = Field(
        None,
        validation_alias=_env("ASKBOOK_BOOKS_DIR"),
        description="folders below it may be ingested over HTTP; absent: known books only",
    )
    github_webhook_secret: SecretStr | None = Field(
        None,
        min_length=8,
        validation_alias=_env("ASKBOOK_GITHUB_WEBHOOK_SECRET"),
        description="the secret of GitHub's webhook; absent: there is no webhook",
    )
    worker_id: str | None = Field(
        None,
        pattern=r"^[\w.:-]{1,100}$",
        validation_alias=_env("ASKBOOK_WORKER_ID"),
        description="on PostgreSQL; absent: from the host and the data directory",
    )


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    for origin in value:
        if not re.fullmatch(r"https?://[^\s/?#*@]+", origin):
            raise ValueError(f"{origin} is no origin such as https://docs.example.com")
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            raise ValueError(f"{network} is no address or network such as 10.0.0.0/8") from error
    return value


def _store_address(value: SecretStr | None) -> SecretStr | None:
    if value is not None and not re.match(
        r"(redis|rediss|valkey|valkeys)://[^\s/?#]+", value.get_secret_value()
    ):
        raise ValueError("an address such as redis://host:6379/0 is needed")
    return value


class AccessSettings(Section):
    """Who may reach the server from where, and how often. Keys are made with `askbook keys`."""

    redis_url: Annotated[SecretStr | None, AfterValidator(_store_address)] = Field(
        None,
        validation_alias=_env("ASKBOOK_REDIS_URL"),
        description="redis://… or valkey://…, where processes count requests together",
    )
    address_rate: int = Field(
        30,
        ge=1,
        validation_alias=_env("ASKBOOK_ADDRESS_RATE"),
        description="requests in 60 seconds from one address with one publishable key",
    )
    cors_origins: Annotated[Words, AfterValidator(_origins)] = Field(
        (),
        validation_alias=_env("ASKBOOK_CORS_ORIGINS"),
        description="pages elsewhere that may ask, with commas between; those of publishable keys may anyway",
    )
    trusted_proxies: Annotated[Words, AfterValidator(_networks)] = Field(
        (),
        validation_alias=_env("ASKBOOK_TRUSTED_PROXIES"),
        description="addresses or networks whose X-Forwarded-For counts, with commas between",
    )


class ServerSettings(Section):
    """Where `askbook serve` listens, and how long it waits."""

    host: str = Field("127.0.0.1", validation_alias=_env("ASKBOOK_HOST"))
    port: int = Field(8321, ge=1, le=65535, validation_alias=_env("ASKBOOK_PORT"))
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", validation_alias=_env("ASKBOOK_LOG_LEVEL")
    )
    request_timeout: float = Field(
        90.0,
        gt=0.0,
        validation_alias=_env("ASKBOOK_REQUEST_TIMEOUT"),
        description="seconds until an answer must have begun; streams may then go on",
    )
    shutdown_grace: int = Field(
        20,
        ge=0,
        validation_alias=_env("ASKBOOK_SHUTDOWN_GRACE"),
        description="seconds that running answers get to end when the server is stopped",
    )
    otlp_endpoint: Address | None = Field(
        None,
        validation_alias=_env("OTEL_EXPORTER_OTLP_ENDPOINT"),
        description="a collector's http://host:4318, for traces; absent: none are made",
    )
    allowed_hosts: Words = Field(
        (),
        validation_alias=_env("ASKBOOK_ALLOWED_HOSTS"),
        description="names, with commas, that /mcp answers to on loopback besides localhost",
    )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        """Where a process on this machine reaches the server."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  # not bound to here
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


class ClientSettings(Section):
    """Which server `ask`, `search` and `chat` speak to instead of opening the data directory."""

    url: Address | None = Field(None, validation_alias=_env("ASKBOOK_URL"))
    key: SecretStr | None = Field(None, validation_alias=_env("ASKBOOK_KEY"))
