"""How the embedded index lies on disk: in segments of bounded size, so that its memory does not grow with the book.

The engine writes into one segment in memory. Once that holds `SEGMENT_POINTS` it is written out: words, filters and
vectors are then mapped from files and read as they are needed. No graph is built over the vectors; a search reads
them all, which is exact.
"""

from typing import Any

import qdrant_edge as qe

from askbook.index.base import PAYLOAD_INDEXES
from askbook.index.sparse import DENSE, SPARSE

SEGMENT_POINTS = 10_000
"""Points until a segment is written out, which holds the GIL for two seconds: what is in memory takes three kB a point."""
VACUUM_POINTS = 1_000
"""Points of a segment from which one that is a fifth deleted is written anew."""
UNLIMITED_SCAN = 1 << 40
ON_DISK = qe.Memory.Cold


def layout(dimension: int) -> qe.EdgeConfig:
    """The configuration of the shard, new or loaded; one made without segments takes it over."""
    segment = SEGMENT_POINTS * dimension * 4 // 1024
    no_graph = qe.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=UNLIMITED_SCAN)
    return qe.EdgeConfig(
        vectors={
            DENSE: qe.EdgeVectorParams(size=dimension, distance=qe.Distance.Cosine, memory=ON_DISK)
        },
        sparse_vectors={
            SPARSE: qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf, memory=ON_DISK)
        },
        hnsw_config=no_graph,
        optimizers=qe.EdgeOptimizersConfig(
            default_segment_number=1,
            indexing_threshold=segment,
            max_segment_size=segment * 3 // 2,
            vacuum_min_vector_number=VACUUM_POINTS,
            deleted_threshold=0.2,
        ),
        id_tracker_memory=ON_DISK,
        payload_memory=ON_DISK,
    )


def field_indexes() -> dict[str, Any]:
    """Name and parameters of every payload field that filters use."""
    return {name: _parameters(kind) for name, kind in PAYLOAD_INDEXES.items()}


def _parameters(kind: str) -> Any:
    if kind == "integer":
        return qe.IntegerIndexParams(lookup=True, range=True, memory=ON_DISK)
    return qe.KeywordIndexParams(is_tenant=kind == "tenant" or None, memory=ON_DISK)
