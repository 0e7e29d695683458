"""A book's gaps as its author reads them: questions that ask the same are one line, the most asked first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from askbook.book import Vector
from askbook.embedding import Embedder
from askbook.gaps.clustering import UNRELATED, grouped
from askbook.storage.gaps import Gap, GapStore


@dataclass(frozen=True, slots=True)
class GapCluster:
    """Declined questions that ask the same; the most asked wording first."""

    gaps: tuple[Gap, ...]

    @property
    def question(self) -> str:
        return self.gaps[0].question

    @property
    def other_wordings(self) -> tuple[str, ...]:
        return tuple(gap.question for gap in self.gaps[1:])

    @property
    def count(self) -> int:
        return sum(gap.count for gap in self.gaps)

    @property
    def last_asked(self) -> date:
        return max(gap.last_asked for gap in self.gaps)

    @property
    def nearest(self) -> Gap:
        """The wording that came nearest to the book."""
        return max(self.gaps, key=lambda gap: gap.confidence)

    def to_json(self) -> dict[str, Any]:
        nearest = self.nearest
        return {
            "question": self.question,
            "other_wordings": list(self.other_wordings),
            "count": self.count,
            "last_asked": self.last_asked.isoformat(),
            "confidence": nearest.confidence,
            "nearest_lesson": None
            if nearest.source_file is None
            else {"source_file": nearest.source_file, "page_title": nearest.page_title},
        }


@dataclass(frozen=True, slots=True)
class GapList:
    """What readers asked of one book and it does not answer."""

    book_id: str
    clusters: tuple[GapCluster, ...]
    total_clusters: int
    total_count: int

    def to_json(self) -> dict[str, Any]:
        return {
            "book_id": self.book_id,
            "total_count": self.total_count,
            "total_clusters": self.total_clusters,
            "clusters": [cluster.to_json() for cluster in self.clusters],
        }


async def list_gaps(
    store: GapStore,
    embedder: Embedder,
    book_id: str,
    *,
    days: int | None = None,
    limit: int | None = None,
) -> GapList:
    """The gaps of a book, of all days or those asked within the last ones."""
    today = datetime.now(UTC).date()
    since = None if days is None else today - timedelta(days=days - 1)
    gaps = await store.gaps(book_id, since)
    clusters = clustered(gaps, *await _vectors(store, embedder, book_id, gaps))
    return GapList(
        book_id=book_id,
        clusters=tuple(clusters[:limit]),
        total_clusters=len(clusters),
        total_count=sum(gap.count for gap in gaps),
    )


def clustered(
    gaps: Sequence[Gap], vectors: Sequence[Vector], unrelated: Sequence[Vector]
) -> list[GapCluster]:
    """Clusters by how often they were asked; of equals, the nearer to the book first."""
    clusters = [
        GapCluster(tuple(sorted((gaps[i] for i in group), key=_order)))
        for group in grouped(vectors, unrelated)
    ]
    return sorted(clusters, key=lambda c: (-c.count, -c.nearest.confidence, c.question))


def _order(gap: Gap) -> tuple[int, float, str]:
    return -gap.count, -gap.confidence, gap.question


async def _vectors(
    store: GapStore, embedder: Embedder, book_id: str, gaps: Sequence[Gap]
) -> tuple[list[Vector], list[Vector]]:
    """The vectors of these gaps, the missing ones made and kept, and those of unrelated questions.

    All are embedded alike, as passages: many fit into one call, and questions meet only questions here.
    """
    if not gaps:
        return [], []
    fingerprint = str(embedder.fingerprint)
    known = await store.vectors(book_id, fingerprint)
    missing = {gap.key: gap.question for gap in gaps if gap.key not in known}
    made = await embedder.embed_passages([*UNRELATED, *missing.values()])
    computed = dict(zip(missing, made[len(UNRELATED) :], strict=True))
    await store.save_vectors(book_id, fingerprint, computed)
    vectors = {**known, **computed}
    return [vectors[gap.key] for gap in gaps], made[: len(UNRELATED)]
