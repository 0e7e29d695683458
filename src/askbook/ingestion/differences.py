"""How what is stored of a book can differ from what its files give. Pure."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from askbook.book import Vector
from askbook.storage.rows import ChunkRow, ShelvedLesson

Where: TypeAlias = Literal["database", "index"]

LINKS = ("parent_doc_id", "chunk_index", "total_chunks", "prev_chunk_id", "next_chunk_id")
HISTORY = ("created_at", "updated_at", "version")
"""What depends on when a book was ingested, not on its files."""
_LESSON_HISTORY = ("inputs_hash", "version", "created_at", "ingested_at")
_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Difference:
    """One chunk, or one lesson's record when `chunk_id` is None, that is not as it should be."""

    book_id: str
    source_file: str
    chunk_id: str | None
    where: Where
    what: str

    def to_json(self) -> dict[str, Any]:
        return {
            "book_id": self.book_id,
            "source_file": self.source_file,
            "chunk_id": self.chunk_id,
            "where": self.where,
            "what": self.what,
        }


@dataclass(slots=True)
class Differences:
    """All differences of a book, by kind."""

    missing: list[Difference] = field(default_factory=list[Difference])
    orphaned: list[Difference] = field(default_factory=list[Difference])
    stale: list[Difference] = field(default_factory=list[Difference])
    broken_links: list[Difference] = field(default_factory=list[Difference])

    def all(self) -> list[Difference]:
        return [*self.missing, *self.orphaned, *self.stale, *self.broken_links]


@dataclass(frozen=True, slots=True)
class ExpectedChunk:
    """A chunk as it should be; `history` when its dates and version are known too."""

    source_file: str
    text_hash: str
    payload: Mapping[str, Any]
    history: bool = False

    def differing(self, payload: Mapping[str, Any], *, history: bool | None = None) -> list[str]:
        """The names of the fields in which a stored payload differs."""
        ignored = () if (self.history if history is None else history) else HISTORY
        names = dict.fromkeys((*self.payload, *payload))
        return [
            name
            for name in names
            if name not in ignored and self.payload.get(name, ...) != payload.get(name, ...)
        ]


def row_differences(expected: ExpectedChunk, row: ChunkRow) -> list[str]:
    """The names of the fields in which a database row differs, its columns included."""
    names = expected.differing(row.payload)
    for column, found, wanted in (
        ("source_file", row.source_file, expected.source_file),
        ("chunk_index", row.chunk_index, expected.payload["chunk_index"]),
        ("text_hash", row.text_hash, expected.text_hash),
    ):
        if found != wanted and column not in names:
            names.append(column)
    return names


def lesson_differences(expected: ShelvedLesson, found: ShelvedLesson) -> list[str]:
    """The names of the fields in which a lesson's record differs from what its file gives."""
    return [
        name
        for name in ShelvedLesson.__slots__
        if name not in _LESSON_HISTORY
        and _plain(getattr(expected, name)) != _plain(getattr(found, name))
    ]


def linked(rows: Mapping[str, ChunkRow]) -> dict[str, ExpectedChunk]:
    """The chunks of one lesson as the database has them, with the links their order asks for."""
    order: Sequence[str] = sorted(rows, key=lambda i: (rows[i].chunk_index, i))
    parents = [row.payload.get("parent_doc_id") for row in rows.values()]
    parent = max(parents, key=parents.count) if parents else None
    expected: dict[str, ExpectedChunk] = {}
    for index, chunk_id in enumerate(order):
        row = rows[chunk_id]
        links = {
            "parent_doc_id": parent,
            "chunk_index": index,
            "total_chunks": len(order),
            "prev_chunk_id": order[index - 1] if index else None,
            "next_chunk_id": order[index + 1] if index + 1 < len(order) else None,
        }
        payload = row.payload | links
        expected[chunk_id] = ExpectedChunk(row.source_file, row.text_hash, payload, history=True)
    return expected


def split_links(names: Collection[str]) -> tuple[list[str], list[str]]:
    """Names of link fields, and the others."""
    return [n for n in names if n in LINKS], [n for n in names if n not in LINKS]


def same_vector(one: Vector, other: Vector) -> bool:
    """Whether two vectors point the same way."""
    if one.shape != other.shape:
        return False
    return bool(np.allclose(_unit(one), _unit(other), rtol=0.0, atol=_TOLERANCE))


def same_terms(one: Mapping[int, float], other: Mapping[int, float]) -> bool:
    """Whether two sparse vectors weigh the same terms alike."""
    return one.keys() == other.keys() and all(
        abs(weight - other[term]) <= _TOLERANCE * max(1.0, abs(weight))
        for term, weight in one.items()
    )


def _unit(vector: Vector) -> Vector:
    norm = float(np.linalg.norm(vector))
    return vector if norm == 0.0 else (vector / norm).astype(np.float32)


def _plain(value: Any) -> Any:
    """JSON columns give tuples back as lists."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
