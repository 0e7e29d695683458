"""Chunk indexes: dense and sparse vectors with filters, one file per store behind one protocol."""

from askbook.index.base import (
    PAYLOAD_INDEXES,
    ChunkFilter,
    ChunkIndex,
    Hit,
    Hits,
    IndexPoint,
    StoredPoint,
)

__all__ = [
    "PAYLOAD_INDEXES",
    "ChunkFilter",
    "ChunkIndex",
    "Hit",
    "Hits",
    "IndexPoint",
    "StoredPoint",
]
