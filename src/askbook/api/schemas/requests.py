"""What callers send, validated here, once."""

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from askbook.book import HardwareTier, ProficiencyLevel, TeachingLayer
from askbook.bootstrap import Scope
from askbook.chat.selection import MAX_SELECTION
from askbook.conversations import check_session_id
from askbook.conversations.thread import MAX_METADATA
from askbook.errors import InvalidInput
from askbook.retrieval.query import SearchMode

METADATA_LENGTH = 10_000
METADATA_DEPTH = 8


class _Body(BaseModel):
    # JSON has types of its own: a truth value is no number, and a number no truth value.
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=False)


class ChatRequest(_Body):
    """A question; filters narrow what may be found and never widen what the caller may see."""

    message: str = Field(min_length=1, max_length=1000)
    session_id: str | None = None
    stream: bool = False
    top_k: int = Field(5, ge=1, le=10)
    similarity_threshold: float | None = Field(None, ge=0.0, le=1.0)
    book_id: str | None = None
    module: str | None = None
    hardware_tier: HardwareTier | None = None
    proficiency_levels: list[ProficiencyLevel] | None = None
    layer: TeachingLayer | None = None
    selected_text: str | None = Field(None, min_length=1, max_length=MAX_SELECTION)
    metadata: dict[str, Any] = Field(default_factory=dict, max_length=MAX_METADATA)
    html: bool = Field(False, description="Give the answer also as sanitised HTML.")

    @field_validator("message")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be empty")
        return value.strip()

    @field_validator("selected_text")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must not be empty")
        return value

    @field_validator("session_id")
    @classmethod
    def _uuid4(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            return check_session_id(value)
        except InvalidInput as error:
            raise ValueError("must be a UUID v4") from error

    @field_validator("metadata")
    @classmethod
    def _small(cls, value: dict[str, Any]) -> dict[str, Any]:
        if _is_deep(value, METADATA_DEPTH):
            raise ValueError(f"must not be nested deeper than {METADATA_DEPTH}")
        # NaN and infinities, which Python reads, are no JSON and raise a ValueError.
        if len(json.dumps(value, allow_nan=False, ensure_ascii=False)) > METADATA_LENGTH:
            raise ValueError(f"must not be longer than {METADATA_LENGTH} characters")
        return value

    @property
    def scope(self) -> Scope:
        return Scope(
            book_id=self.book_id,
            module=self.module,
            hardware_tier=self.hardware_tier,
            proficiency_levels=tuple(self.proficiency_levels) if self.proficiency_levels else None,
            layer=self.layer,
            similarity_threshold=self.similarity_threshold,
        )


class SearchRequest(_Body):
    """A search with every filter."""

    text: str = Field(min_length=3, max_length=1000)
    book_id: str | None = None
    hardware_tier_filter: HardwareTier | None = None
    module_filter: str | None = None
    chapter_min: int | None = Field(None, ge=0)
    chapter_max: int | None = Field(None, ge=0)
    lesson_filter: int | None = Field(None, ge=0)
    proficiency_levels: list[ProficiencyLevel] | None = None
    layer_filter: TeachingLayer | None = None
    parent_doc_id: str | None = None
    limit: int = Field(5, ge=1, le=20)
    mode: SearchMode = "hybrid"
    explain: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(
            book_id=self.book_id,
            hardware_tier=self.hardware_tier_filter,
            module=self.module_filter,
            chapter_min=self.chapter_min,
            chapter_max=self.chapter_max,
            lesson=self.lesson_filter,
            proficiency_levels=tuple(self.proficiency_levels) if self.proficiency_levels else None,
            layer=self.layer_filter,
            parent_doc_id=self.parent_doc_id,
        )


def _is_deep(value: Any, room: int) -> bool:
    """Whether a JSON value is nested deeper than `room`."""
    if not isinstance(value, dict | list):
        return False
    inner: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]  # JSON
    return room == 0 or any(_is_deep(item, room - 1) for item in inner)
