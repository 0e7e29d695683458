"""Hybrid search: embed, rank twice, fuse, let the judge look at the best, and show only what is visible."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askbook.book import DocumentChunk, Vector
from askbook.embedding import Embedder
from askbook.errors import ConfigurationError, ServiceUnavailable
from askbook.index import ChunkIndex, Hits
from askbook.retrieval.anchors import Anchors
from askbook.retrieval.book_calibrations import BookCalibrations
from askbook.retrieval.book_words import BookWords
from askbook.retrieval.calibration import rated
from askbook.retrieval.context import MIN_RELEVANCE_SCORE, RetrievalContext
from askbook.retrieval.followups import FollowUp, follow_up
from askbook.retrieval.fusion import EXACT, Candidate, fuse, lift
from askbook.retrieval.history import Message
from askbook.retrieval.identifiers import holding, names_in
from askbook.retrieval.judging import Judge, Judgement
from askbook.retrieval.query import Explanation, SearchQuery, SearchResult
from askbook.retrieval.spelling import describe, respelt
from askbook.retrieval.terms import with_both_spellings
from askbook.storage.library import Library

CANDIDATES = 50
JUDGED = 8
JUDGE_WEIGHT = 0.5
ATTEMPTS = 3
SPARE = 4


@dataclass(frozen=True, slots=True)
class SearchWeights:
    """What the two rankings count. Carried words make the sparse ranking of a follow-up less telling: there
    the dense one counts `followed` times as much."""

    dense: float = 1.0
    sparse: float = 1.5
    followed: float = 2.0
    by_rank: bool = False
    """Count ranks instead of scores, as other tools do: to compare with."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A visible candidate on its way to becoming a result."""

    candidate: Candidate
    chunk: DocumentChunk
    order: float
    vector: Vector | None
    judgement: Judgement | None = None


class Searcher:
    """Searches books of one library and index."""

    def __init__(
        self,
        library: Library,
        index: ChunkIndex,
        embedder: Embedder,
        judge: Judge | None,
        weights: SearchWeights | None = None,
        min_relevance_score: float = MIN_RELEVANCE_SCORE,
        calibrations: BookCalibrations | None = None,
    ) -> None:
        self._library = library
        self._index = index
        self._embedder = embedder
        self._judge = judge
        self._weights = weights or SearchWeights()
        self._min_relevance_score = min_relevance_score
        self._calibrations = calibrations
        self._words = BookWords(library, index)

    async def search(
        self,
        query: SearchQuery,
        history: Sequence[Message] = (),
        reading: FollowUp | None = None,
    ) -> RetrievalContext:
        """The best chunks for a question, within its filters; the book is known to be of this embedder.

        A question inside a dialogue is read with what was said before; `reading` is that, where it is known.
        """
        started = time.perf_counter()
        written, followed = query.text, reading or follow_up(query.text, history)
        vector, hits, found = await self._found(query, followed)
        spellings = await self._spellings(query, followed, hits, found)
        if spellings:
            query = replace(query, text=respelt(query.text, spellings))
            followed = followed and followed.respelt(spellings)
            vector, hits, found = await self._found(query, followed)
        if not (hits.dense or hits.sparse):
            await self._check_not_lost(query.book_id)
        info = describe(spellings)
        if query.mode == "hybrid" and found:
            said = (followed.asked or followed.text) if followed else query.text
            found, missing = await self._judged(said, found)
            info += missing
        found = found[: query.limit]
        context = RetrievalContext(
            query=written,
            results=tuple(_result(f, rank, vector) for rank, f in enumerate(found, 1)),
            query_time_ms=(time.perf_counter() - started) * 1000,
            top_k=query.limit,
            filter_applied=_describe(query),
            judgements=tuple(f.judgement for f in found),
            background=tuple(hit.score for hit in hits.dense),
            diversity=_diversity([f.vector for f in found if f.vector is not None]),
            agreement=_agreement(hits),
            min_relevance_score=self._min_relevance_score,
            info=tuple(info),
            anchors=await self._anchors(query.book_id),
            reading=(followed and followed.asked) or (query.text if spellings else None),
            spellings=spellings,
        )
        results = rated(context, str(self._embedder.fingerprint))
        return _cut(replace(context, results=results), query)

    async def _found(
        self, query: SearchQuery, followed: FollowUp | None
    ) -> tuple[Vector | None, Hits, list[_Found]]:
        """Where the question points, how the index ranks, and the best that may be seen."""
        # Names are looked for while the index has nothing to do, and compared while it searches.
        named, (vector, hits) = await asyncio.gather(
            self._named(query), self._first_hits(query, followed)
        )
        hits, found = await self._visible(query, vector, hits, followed, named)
        return vector, hits, found

    async def _spellings(
        self, query: SearchQuery, followed: FollowUp | None, hits: Hits, found: Sequence[_Found]
    ) -> dict[str, str]:
        """The book's words for those that are misspelt, also where earlier questions said them."""
        said = f"{query.text}\n{followed.text}" if followed else query.text
        texts = [each.chunk.embedded_text for each in found]
        near = [hit.chunk_id for hit in hits.dense]
        return await self._words.spellings(said, query.where, texts, near, query.readable)

    async def _anchors(self, book_id: str) -> Anchors | None:
        return await self._calibrations.anchors(book_id) if self._calibrations else None

    async def _check_not_lost(self, book_id: str) -> None:
        """An empty index is told apart from a question that matches nothing."""
        _, chunks = await self._library.totals(book_id)
        if chunks and await self._index.count(book_id) == 0:
            raise ServiceUnavailable(
                f"The index holds none of the {chunks} chunks of book {book_id!r}.",
                "Unless an ingest is rebuilding it now, restore it with `askbook audit --repair`.",
            )

    async def _vector(self, query: SearchQuery, followed: FollowUp | None) -> Vector | None:
        """Where the question points; of a follow-up, between its two readings."""
        if query.mode == "sparse":
            return None
        alone = await self._embedder.embed_query(query.text)
        if followed is None:
            return alone
        between = alone + followed.weight * await self._embedder.embed_query(followed.text)
        return (between / (float(np.linalg.norm(between)) or 1.0)).astype(np.float32)

    async def _first_hits(
        self, query: SearchQuery, followed: FollowUp | None
    ) -> tuple[Vector | None, Hits]:
        vector = await self._vector(query, followed)
        return vector, await self._hits(query, vector, self._first_limit(query))

    async def _hits(self, query: SearchQuery, vector: Vector | None, limit: int) -> Hits:
        text = None if query.mode == "dense" else with_both_spellings(query.text)
        return await self._index.search(query.where, vector=vector, text=text, limit=limit)

    def _needed(self, query: SearchQuery) -> int:
        judged = query.mode == "hybrid" and self._judge is not None
        return max(query.limit, JUDGED) if judged else query.limit

    def _first_limit(self, query: SearchQuery) -> int:
        return max(CANDIDATES, 2 * self._needed(query))

    async def _visible(
        self,
        query: SearchQuery,
        vector: Vector | None,
        hits: Hits,
        followed: FollowUp | None,
        named: Collection[str] | None,
    ) -> tuple[Hits, list[_Found]]:
        """The best candidates the database shows; searched anew when a switch hid some meanwhile."""
        need, limit = self._needed(query), self._first_limit(query)
        attempts = ATTEMPTS
        while True:
            attempts -= 1
            ranked = await self._fused(query, hits, followed, limit)
            ranked = ranked if named is None else lift(ranked, named)
            found, hidden = await self._shown(query, ranked, need)
            if len(found) >= need or not hidden or not attempts:
                return hits, found
            limit *= 2
            hits = await self._hits(query, vector, limit)

    async def _fused(
        self, query: SearchQuery, hits: Hits, followed: FollowUp | None, limit: int
    ) -> list[Candidate]:
        also, share = (), 0.0
        if followed is not None and query.mode != "dense":
            read = await self._index.search(
                query.where, vector=None, text=with_both_spellings(followed.text), limit=limit
            )
            also, share = read.sparse, followed.weight / (1.0 + followed.weight)
        return fuse(
            hits,
            dense_weight=self._weights.dense * (self._weights.followed if followed else 1.0),
            sparse_weight=self._weights.sparse,
            also=also,
            also_share=share,
            by_rank=self._weights.by_rank,
        )

    async def _named(self, query: SearchQuery) -> set[str] | None:
        """Chunks that hold the names in a question letter by letter; the index knows only their parts."""
        names = names_in(query.text) if query.mode != "dense" else ()
        if not names:
            return None
        hits = await self._index.search(
            query.where, vector=None, text=" ".join(names), limit=CANDIDATES
        )
        ids = [hit.chunk_id for hit in hits.sparse]
        return holding(query.text, names, await self._library.texts(query.book_id, ids))

    async def _shown(
        self, query: SearchQuery, ranked: Sequence[Candidate], need: int
    ) -> tuple[list[_Found], bool]:
        """Distinct visible candidates, `need` of them if there are; tell whether any was hidden."""
        few = ranked[: need + SPARE]
        found, hidden = await self._loaded(query, few)
        if len(found) < need and len(few) < len(ranked):
            # All anew, not the rest beside the first: a switch between the two would show.
            found, hidden = await self._loaded(query, ranked)
        return found, hidden

    async def _loaded(
        self, query: SearchQuery, candidates: Sequence[Candidate]
    ) -> tuple[list[_Found], bool]:
        """The visible ones among these, all as of one moment, and whether any was hidden."""
        ids = [candidate.chunk_id for candidate in candidates]
        # The database has the vectors beside the chunks; only what its cache lacks is asked of the index.
        rows = await self._library.chunks_with_vectors(
            query.book_id, ids, str(self._embedder.fingerprint)
        )
        uncached = [chunk_id for chunk_id, (_, vector) in rows.items() if vector is None]
        stored = await self._index.vectors(uncached) if uncached else {}
        found: list[_Found] = []
        seen: set[str] = set()
        hidden = False
        for candidate in candidates:
            chunk, vector = rows.get(candidate.chunk_id, (None, None))
            if chunk is None or not query.where.admits(chunk.metadata):
                hidden = True
            elif chunk.metadata.content_hash not in seen:
                seen.add(chunk.metadata.content_hash)
                if vector is None:
                    vector = stored.get(candidate.chunk_id)
                found.append(_Found(candidate, chunk, candidate.order, vector))
        return found, hidden

    async def _judged(
        self, question: str, found: list[_Found]
    ) -> tuple[list[_Found], tuple[str, ...]]:
        """The best as the judge sees them; without a judge as they were, and why."""
        if self._judge is None:
            return found, ("The judge is off: results are in fused order.",)
        head, tail = found[:JUDGED], found[JUDGED:]
        try:
            judgements = await self._judge.judge(question, [f.chunk.embedded_text for f in head])
        except ConfigurationError as error:
            return found, (f"The judge cannot be used: results are in fused order. {error}",)
        base = _standardised([f.candidate.fused for f in head])
        judged = _standardised([j.relevance for j in judgements])
        together = [b + JUDGE_WEIGHT * j for b, j in zip(base, judged, strict=True)]
        low, high = min(together), max(together)
        scored = [
            # Above 1, the highest fused score, so that what the judge saw stays ahead of the rest.
            replace(
                f,
                order=1.0 + (t - low) / ((high - low) or 1.0) + EXACT * f.candidate.exact,
                judgement=judgement,
            )
            for f, t, judgement in zip(head, together, judgements, strict=True)
        ]
        scored.sort(key=lambda f: (-f.order, f.chunk.id))
        return [*scored, *tail], ()


def _result(found: _Found, rank: int, asked: Vector | None) -> SearchResult:
    cosine = found.candidate.cosine
    if cosine is None and asked is not None and found.vector is not None:
        cosine = float(asked @ found.vector)
    judgement = found.judgement
    return SearchResult(
        chunk=found.chunk,
        rank=rank,
        score=min(1.0, max(0.0, cosine or 0.0)),
        relevance=0.0,
        fused=found.order,
        explanation=Explanation(
            dense_rank=found.candidate.dense_rank,
            sparse_rank=found.candidate.sparse_rank,
            judged=None if judgement is None else judgement.relevance,
        ),
    )


def _cut(context: RetrievalContext, query: SearchQuery) -> RetrievalContext:
    """Without the results below what the caller asked for at least."""
    kept = [
        (result, judgement)
        for result, judgement in zip(context.results, context.judgements, strict=True)
        if result.relevance >= query.min_relevance and result.score >= query.min_score
    ]
    if len(kept) == len(context.results):
        return context
    return replace(
        context,
        results=tuple(replace(result, rank=rank) for rank, (result, _) in enumerate(kept, 1)),
        judgements=tuple(judgement for _, judgement in kept),
    )


def _standardised(values: Sequence[float]) -> list[float]:
    array = np.asarray(values, dtype=np.float64)
    spread = float(array.std())
    return [0.0] * len(values) if spread == 0.0 else list((array - array.mean()) / spread)


def _diversity(vectors: Sequence[Vector]) -> float:
    """1 − the mean pairwise cosine; 0 without a pair. Of unit vectors, their sum tells it."""
    count = len(vectors)
    if count < 2:
        return 0.0
    whole = np.stack(vectors).sum(axis=0, dtype=np.float64)
    mean = (float(whole @ whole) - count) / (count * (count - 1))
    return min(1.0, max(0.0, 1.0 - mean))


def _agreement(hits: Hits) -> float:
    """The share of the ten best of one ranking that is among the ten best of the other."""
    dense = {hit.chunk_id for hit in hits.dense[:10]}
    sparse = {hit.chunk_id for hit in hits.sparse[:10]}
    return len(dense & sparse) / max(1, min(len(dense), len(sparse)))


def _describe(query: SearchQuery) -> str | None:
    parts = {
        "tier": f"<={query.hardware_tier_filter}",
        "module": query.module_filter,
        "chapter_min": query.chapter_min,
        "chapter_max": query.chapter_max,
        "lesson": query.lesson_filter,
        "proficiency": ",".join(query.proficiency_levels) if query.proficiency_levels else None,
        "layer": query.layer_filter,
        "parent_doc_id": query.parent_doc_id,
    }
    return ", ".join(f"{name}:{value}" for name, value in parts.items() if value is not None)
