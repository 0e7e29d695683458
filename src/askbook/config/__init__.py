"""All settings: what there is, in sections, and how they are read."""

from askbook.config.loading import Settings, describe_settings, load_settings
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
    ServerSettings,
    StorageSettings,
    is_database_address,
)

__all__ = [
    "AccessSettings",
    "ClientSettings",
    "CohereSettings",
    "ConfidenceSettings",
    "EmbedderSettings",
    "IndexSettings",
    "IngestionSettings",
    "ModelSettings",
    "OpenAISettings",
    "RetrievalSettings",
    "ServerSettings",
    "Settings",
    "StorageSettings",
    "describe_settings",
    "is_database_address",
    "load_settings",
    "masked_address",
]
