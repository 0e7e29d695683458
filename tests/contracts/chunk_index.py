"""What every chunk index must do. An adapter's test class inherits this and says how to open one."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from askbook.book import PROFICIENCY_LEVELS, TEACHING_LAYERS, DocumentChunk, Vector
from askbook.errors import DataDirectoryBusy, EmbedderMismatch
from askbook.index import PAYLOAD_INDEXES, ChunkFilter, ChunkIndex, Hit, IndexPoint
from askbook.index.sparse import terms_of
from sample_chunks import make_chunk

DIMENSION = 8
FINGERPRINT = "test-embedder/8/r1"
BOOKS = ("robots", "cooking")
# Invented words: no stemmer or stop list changes them.
WORDS = ("zorbal", "quimdox", "fenwark", "plutzim", "grobnat", "yskelm")
ABSENT = "xolptar"

SINGLE_FILTERS: list[dict[str, Any]] = [
    *({"hardware_tier": tier} for tier in (1, 2, 3)),
    {"module": "ros2"},
    {"chapter_min": 2},
    {"chapter_max": 1},
    {"chapter_min": 1, "chapter_max": 2},
    {"chapter_min": 2, "chapter_max": 2},
    {"lesson": 0},
    {"lesson": 2},
    {"proficiency_levels": ("A2",)},
    {"proficiency_levels": ("A1", "B1")},
    {"layer": "L3"},
    {"module": "intro", "hardware_tier": 2, "layer": "L1"},
]

OpenIndex = Callable[..., Awaitable[ChunkIndex]]


class ChunkIndexContract(ABC):
    """Inherit it and define the fixture `open_index`.

    `await open_index()` opens the index of this test; `fingerprint=` opens it for another embedder.
    Every call opens the same store; the fixture closes what a test leaves open.
    """

    exclusive = False
    """Whether only one process may hold the store."""

    @pytest_asyncio.fixture
    async def index(self, open_index: OpenIndex) -> AsyncIterator[ChunkIndex]:
        yield await open_index()

    # --- Writing and reading ---

    async def test_a_new_index_is_empty(self, index: ChunkIndex) -> None:
        assert await index.count() == 0
        assert await points_of(index, "robots") == []
        hits = await index.search(
            ChunkFilter("robots"), vector=unit_vector(1), text=WORDS[0], limit=5
        )
        assert (hits.dense, hits.sparse) == ((), ())

    async def test_returns_what_was_put_in(self, index: ChunkIndex) -> None:
        point = make_point(make_chunk("Some text about a zorbal.", section_title="Größe ✓"))
        await index.upsert([point])
        found = await index.retrieve([point.chunk_id], vectors=True)
        stored = found[point.chunk_id]
        assert stored.payload == point.payload
        assert stored.vector is not None
        np.testing.assert_allclose(stored.vector, point.vector, atol=1e-6)
        assert stored.terms == pytest.approx(terms_of(point.sparse_text))

    async def test_retrieve_gives_vectors_only_when_asked(self, index: ChunkIndex) -> None:
        point = make_point(make_chunk())
        await index.upsert([point])
        assert (await index.retrieve([point.chunk_id]))[point.chunk_id].vector is None

    async def test_gives_the_vectors_of_known_ids_alone(self, index: ChunkIndex) -> None:
        points = many_points(3)
        await index.upsert(points)
        found = await index.vectors([*(p.chunk_id for p in points), str(uuid.uuid4())])
        assert set(found) == {p.chunk_id for p in points}
        for point in points:
            np.testing.assert_allclose(found[point.chunk_id], point.vector, atol=1e-6)
        assert await index.vectors([]) == {}

    async def test_retrieve_leaves_out_unknown_ids(self, index: ChunkIndex) -> None:
        point = make_point(make_chunk())
        await index.upsert([point])
        assert set(await index.retrieve([str(uuid.uuid4()), point.chunk_id])) == {point.chunk_id}
        assert await index.retrieve([]) == {}

    async def test_upsert_replaces_a_point_with_the_same_id(self, index: ChunkIndex) -> None:
        chunk = make_chunk()
        await index.upsert([make_point(chunk, seed=1, words="zorbal")])
        renewed = make_point(chunk, seed=2, words="quimdox")
        await index.upsert([replace(renewed, payload={"book_id": "robots"})])
        assert await index.count() == 1
        [stored] = (await index.retrieve([chunk.id], vectors=True)).values()
        assert stored.payload == {"book_id": "robots"}
        assert stored.vector is not None
        np.testing.assert_allclose(stored.vector, renewed.vector, atol=1e-6)
        where = ChunkFilter("robots")
        old = await index.search(where, vector=None, text="zorbal", limit=5)
        new = await index.search(where, vector=None, text="quimdox", limit=5)
        assert (len(old.sparse), len(new.sparse)) == (0, 1)

    async def test_takes_many_points_at_once(self, index: ChunkIndex) -> None:
        points = many_points(300)
        await index.upsert(points)
        assert await index.count("robots") == 300
        found = await index.retrieve([p.chunk_id for p in points])
        assert set(found) == {p.chunk_id for p in points}

    async def test_takes_no_points(self, index: ChunkIndex) -> None:
        await index.upsert([])
        await index.delete([])
        await index.overwrite_payloads({})
        assert await index.count() == 0

    async def test_overwrite_replaces_the_whole_payload_and_keeps_the_vectors(
        self, index: ChunkIndex
    ) -> None:
        point = make_point(make_chunk(module="ros2"), words="zorbal")
        other = make_point(make_chunk("Another text entirely.", module="ros2"), words="zorbal")
        await index.upsert([point, other])
        payload = {"book_id": "robots", "module": "isaac", "chapter": 7}
        await index.overwrite_payloads({point.chunk_id: payload})
        found = await index.retrieve([point.chunk_id, other.chunk_id], vectors=True)
        assert found[point.chunk_id].payload == payload
        assert found[other.chunk_id].payload == other.payload
        vector = found[point.chunk_id].vector
        assert vector is not None
        np.testing.assert_allclose(vector, point.vector, atol=1e-6)
        moved = ChunkFilter("robots", module="isaac")
        hits = await index.search(moved, vector=point.vector, text="zorbal", limit=5)
        assert ids(hits.dense) == ids(hits.sparse) == [point.chunk_id]

    async def test_delete_removes_these_points_alone(self, index: ChunkIndex) -> None:
        points = many_points(6)
        await index.upsert(points)
        await index.delete([points[0].chunk_id, points[3].chunk_id, str(uuid.uuid4())])
        left = {p.chunk_id for p in points} - {points[0].chunk_id, points[3].chunk_id}
        assert {p.chunk_id for p in await points_of(index, "robots")} == left
        hits = await index.search(
            ChunkFilter("robots"), vector=points[0].vector, text=" ".join(WORDS), limit=10
        )
        assert set(ids(hits.dense)) == left
        assert set(ids(hits.sparse)) <= left

    async def test_delete_book_leaves_the_other_books(self, index: ChunkIndex) -> None:
        await index.upsert([*many_points(4, "robots"), *many_points(3, "cooking")])
        await index.delete_book("robots")
        await index.delete_book("never ingested")
        assert await index.count("robots") == 0
        assert await index.count("cooking") == await index.count() == 3

    async def test_count_is_of_all_or_of_one_book(self, index: ChunkIndex) -> None:
        await index.upsert([*many_points(4, "robots"), *many_points(3, "cooking")])
        assert await index.count() == 7
        assert await index.count("robots") == 4
        assert await index.count("absent") == 0

    async def test_scroll_gives_every_point_of_a_book_in_id_order(self, index: ChunkIndex) -> None:
        mine, other = many_points(600, "robots"), many_points(5, "cooking")
        await index.upsert([*mine, *other])
        scrolled = await points_of(index, "robots", vectors=True)
        assert [p.chunk_id for p in scrolled] == sorted(p.chunk_id for p in mine)
        by_id = {p.chunk_id: p for p in mine}
        for stored in scrolled[::50]:
            assert stored.payload == by_id[stored.chunk_id].payload
            np.testing.assert_allclose(stored.vector, by_id[stored.chunk_id].vector, atol=1e-6)
        assert all(p.vector is None for p in await points_of(index, "cooking"))

    # --- Searching ---

    @settings(max_examples=30)
    @given(data=st.data())
    async def test_finds_exactly_what_brute_force_finds(
        self, index: ChunkIndex, data: st.DataObject
    ) -> None:
        """Dense and sparse, with any filters: the same points and the same order as plain code."""
        for book_id in BOOKS:
            await index.delete_book(book_id)
        chunks = data.draw(st.lists(chunk_strategy(), max_size=12, unique_by=lambda c: c.id))
        points = [make_point(c, seed=n, words=words_of(c)) for n, c in enumerate(chunks)]
        await index.upsert(points)
        where = data.draw(filter_strategy(chunks))
        vector = unit_vector(data.draw(st.integers(0, 10_000)))
        text = " ".join(data.draw(st.lists(st.sampled_from([*WORDS, ABSENT]), max_size=3)))
        limit = data.draw(st.integers(1, 15))

        hits = await index.search(where, vector=vector, text=text or None, limit=limit)

        admitted = [p for p in points if matches(p.payload, where)]
        cosines = {p.chunk_id: float(p.vector @ vector) for p in admitted}
        expected = sorted(cosines.values(), reverse=True)[:limit]
        assert set(ids(hits.dense)) <= set(cosines)
        assert [h.score for h in hits.dense] == pytest.approx(expected, abs=1e-5)
        for hit in hits.dense:
            assert hit.score == pytest.approx(cosines[hit.chunk_id], abs=1e-5)

        wanted = set(text.split())
        holders = {p.chunk_id for p in admitted if wanted & set(p.sparse_text.split())}
        assert set(ids(hits.sparse)) <= holders
        assert len(hits.sparse) == min(limit, len(holders))
        scores = [h.score for h in hits.sparse]
        assert scores == sorted(scores, reverse=True)

    @pytest.mark.parametrize("conditions", SINGLE_FILTERS, ids=str)
    async def test_each_filter_finds_exactly_its_chunks(
        self, index: ChunkIndex, conditions: dict[str, Any]
    ) -> None:
        points = [make_point(c, seed=n) for n, c in enumerate(grid_of_chunks())]
        await index.upsert(points)
        where = ChunkFilter("robots", **conditions)
        mine = {p.chunk_id for p in points if p.payload["book_id"] == "robots"}
        expected = {p.chunk_id for p in points if matches(p.payload, where)}
        assert set() < expected < mine, (
            "a filter that excludes nothing, or everything, shows nothing"
        )
        hits = await index.search(where, vector=unit_vector(1), text="zorbal", limit=200)
        assert set(ids(hits.dense)) == set(ids(hits.sparse)) == expected

    async def test_a_parent_finds_its_lesson(self, index: ChunkIndex) -> None:
        chunks = grid_of_chunks()
        await index.upsert([make_point(c, seed=n) for n, c in enumerate(chunks)])
        parent = next(c for c in chunks if c.metadata.book_id == "robots").metadata.parent_doc_id
        where = ChunkFilter("robots", parent_doc_id=parent)
        hits = await index.search(where, vector=unit_vector(1), text=None, limit=200)
        expected = {c.id for c in chunks if c.metadata.parent_doc_id == parent}
        assert set(ids(hits.dense)) == expected
        assert len(expected) > 1

    @settings(max_examples=100)
    @given(data=st.data())
    async def test_filters_agree_with_the_rule_in_plain_code(self, data: st.DataObject) -> None:
        """`ChunkFilter.admits`, which the database's answers are checked by, is the same rule."""
        chunk, other = data.draw(chunk_strategy()), data.draw(chunk_strategy())
        where = data.draw(filter_strategy([chunk, other]))
        assert where.admits(chunk.metadata) == matches(chunk.to_payload(), where)

    async def test_gives_only_the_rankings_that_are_asked_for(self, index: ChunkIndex) -> None:
        point = make_point(make_chunk(), words="zorbal")
        await index.upsert([point])
        where = ChunkFilter("robots")
        dense = await index.search(where, vector=point.vector, text=None, limit=5)
        sparse = await index.search(where, vector=None, text="zorbal", limit=5)
        neither = await index.search(where, vector=None, text=None, limit=5)
        assert (len(dense.dense), len(dense.sparse)) == (1, 0)
        assert (len(sparse.dense), len(sparse.sparse)) == (0, 1)
        assert (neither.dense, neither.sparse) == ((), ())

    async def test_rarer_words_weigh_more(self, index: ChunkIndex) -> None:
        common = [make_point(make_chunk(f"Text number {n}."), words="zorbal") for n in range(8)]
        rare = make_point(make_chunk("The rare one."), words="quimdox")
        await index.upsert([*common, rare])
        hits = await index.search(
            ChunkFilter("robots"), vector=None, text="zorbal quimdox", limit=20
        )
        assert hits.sparse[0].chunk_id == rare.chunk_id
        assert len(hits.sparse) == 9

    async def test_a_book_sees_nothing_of_another(self, index: ChunkIndex) -> None:
        """Neither its points nor, through the rarity of words, that it is there at all."""
        mine = [
            make_point(make_chunk(f"Text number {n}."), seed=n, words=f"zorbal {WORDS[n]}")
            for n in range(1, 5)
        ]
        await index.upsert(mine)
        where = ChunkFilter("robots")
        vector = unit_vector(3)
        before = await index.search(where, vector=vector, text="zorbal quimdox", limit=10)
        same_place = [
            make_point(
                make_chunk(f"Text number {n}.", book_id="cooking"), seed=n, words="zorbal quimdox"
            )
            for n in range(30)
        ]
        await index.upsert(same_place)
        after = await index.search(where, vector=vector, text="zorbal quimdox", limit=10)
        assert ids(after.dense) == ids(before.dense)
        assert {h.chunk_id: pytest.approx(h.score, abs=1e-5) for h in before.sparse} == {
            h.chunk_id: h.score for h in after.sparse
        }

    # --- The store ---

    async def test_every_filter_field_is_indexed_from_the_start(self, index: ChunkIndex) -> None:
        found = await index.payload_indexes()
        kinds = {name: kind.lower() for name, kind in found.items()}
        expected = {
            name: "integer" if kind == "integer" else "keyword"
            for name, kind in PAYLOAD_INDEXES.items()
        }
        assert kinds == expected

    async def test_the_book_is_the_tenant(self, index: ChunkIndex) -> None:
        assert PAYLOAD_INDEXES["book_id"] == "tenant"
        assert await self.is_tenant(index, "book_id")
        assert not await self.is_tenant(index, "module")

    @abstractmethod
    async def is_tenant(self, index: ChunkIndex, field: str) -> bool:
        """Whether the store itself reports the field's index as the tenant's."""

    async def test_keeps_everything_when_closed_and_opened_again(
        self, index: ChunkIndex, open_index: OpenIndex
    ) -> None:
        points = many_points(70)
        await index.upsert(points)
        await index.delete([points[0].chunk_id])
        await index.overwrite_payloads({points[1].chunk_id: {"book_id": "robots", "module": "x"}})
        where, vector = ChunkFilter("robots"), unit_vector(5)
        before = await index.search(where, vector=vector, text=" ".join(WORDS), limit=20)
        stored = await points_of(index, "robots", vectors=True)
        await index.close()
        again = await open_index()
        after = await again.search(where, vector=vector, text=" ".join(WORDS), limit=20)
        assert ids(after.dense) == ids(before.dense)
        assert sorted((h.score for h in after.sparse), reverse=True) == pytest.approx(
            [h.score for h in before.sparse], abs=1e-5
        )
        kept = await points_of(again, "robots", vectors=True)
        assert [(p.chunk_id, p.payload) for p in kept] == [(p.chunk_id, p.payload) for p in stored]
        assert set(await again.payload_indexes()) == set(PAYLOAD_INDEXES)

    async def test_refuses_another_embedder_and_names_the_way_out(
        self, index: ChunkIndex, open_index: OpenIndex
    ) -> None:
        await index.upsert(many_points(3))
        await index.close()
        other = await open_index(fingerprint="other-embedder/8/r1")
        with pytest.raises(EmbedderMismatch) as caught:
            await other.count()
        assert FINGERPRINT in caught.value.message
        assert "other-embedder/8/r1" in caught.value.message
        assert "--mode recreate" in caught.value.suggestion
        assert await (await open_index()).count() == 3

    async def test_recreate_starts_empty_for_the_current_embedder(
        self, index: ChunkIndex, open_index: OpenIndex
    ) -> None:
        await index.upsert(many_points(3))
        await index.close()
        other = await open_index(fingerprint="other-embedder/8/r1")
        await other.recreate()
        assert await other.count() == 0
        assert set(await other.payload_indexes()) == set(PAYLOAD_INDEXES)
        await other.upsert(many_points(2))
        assert await other.count() == 2

    async def test_a_second_opener_is_told_who_is_there(
        self, index: ChunkIndex, open_index: OpenIndex
    ) -> None:
        await index.upsert(many_points(3))
        second = await open_index()
        if not self.exclusive:
            assert await second.count() == 3
            return
        with pytest.raises(DataDirectoryBusy) as caught:
            await second.count()
        assert "nother askbook process" in caught.value.message
        assert caught.value.suggestion
        assert await index.count() == 3


# --- Points and their reference ---


def unit_vector(seed: int) -> Vector:
    vector = np.random.default_rng(seed).normal(size=DIMENSION)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def make_point(chunk: DocumentChunk, *, seed: int = 0, words: str = "zorbal") -> IndexPoint:
    return IndexPoint(chunk.id, unit_vector(seed), words, chunk.to_payload())


def many_points(count: int, book_id: str = "robots") -> list[IndexPoint]:
    return [
        make_point(
            make_chunk(f"Text number {n} of {book_id}.", book_id=book_id),
            seed=n,
            words=WORDS[n % len(WORDS)],
        )
        for n in range(count)
    ]


async def points_of(index: ChunkIndex, book_id: str, *, vectors: bool = False) -> list[Any]:
    return [point async for point in index.scroll(book_id, vectors=vectors)]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


def words_of(chunk: DocumentChunk) -> str:
    return chunk.text.removeprefix("Text: ")


def chunk_strategy() -> st.SearchStrategy[DocumentChunk]:
    """Chunks over a small space, so that filters hit and miss."""
    texts = st.lists(st.sampled_from(WORDS), min_size=2, max_size=4).map(
        lambda words: "Text: " + " ".join(words)
    )
    return st.builds(
        make_chunk,
        texts,
        book_id=st.sampled_from(BOOKS),
        module=st.sampled_from(["intro", "ros2"]),
        chapter=st.integers(0, 3),
        lesson=st.integers(0, 2),
        hardware_tier=st.integers(1, 4),
        proficiency_level=st.sampled_from(PROFICIENCY_LEVELS[:3]),
        layer=st.sampled_from(TEACHING_LAYERS),
    )


def filter_strategy(chunks: Sequence[DocumentChunk]) -> st.SearchStrategy[ChunkFilter]:
    """Up to three conditions, taken from one of the chunks, so that they hold for some and not for all."""
    pool = list(chunks) or [make_chunk()]

    @st.composite
    def drawn(draw: st.DrawFn) -> ChunkFilter:
        m = draw(st.sampled_from(pool)).metadata
        level = draw(st.sampled_from(PROFICIENCY_LEVELS[:3]))
        conditions: dict[str, Any] = {
            "hardware_tier": m.hardware_tier,
            "module": m.module,
            "chapter_min": m.chapter,
            "chapter_max": m.chapter,
            "lesson": m.lesson,
            "proficiency_levels": tuple(dict.fromkeys((m.proficiency_level, level))),
            "layer": m.layer,
            "parent_doc_id": m.parent_doc_id,
        }
        names = draw(st.lists(st.sampled_from(sorted(conditions)), max_size=3, unique=True))
        book_id = draw(st.sampled_from([m.book_id, m.book_id, *BOOKS]))
        return ChunkFilter(book_id, **{name: conditions[name] for name in names})

    return drawn()


def grid_of_chunks() -> list[DocumentChunk]:
    """Every field takes all its values, independently of the others."""
    return [
        make_chunk(
            f"Text number {n} of the grid.",
            book_id="robots" if n % 5 else "cooking",
            module=("intro", "ros2")[n // 2 % 2],
            chapter=n // 3 % 4,
            lesson=n // 7 % 3,
            hardware_tier=n % 4 + 1,
            proficiency_level=PROFICIENCY_LEVELS[n // 4 % 3],
            layer=TEACHING_LAYERS[n // 6 % 4],
        )
        for n in range(90)
    ]


def matches(payload: dict[str, Any], where: ChunkFilter) -> bool:
    """The documents' filter rules, condition by condition."""
    conditions = [payload["book_id"] == where.book_id]
    if where.hardware_tier is not None:
        conditions.append(payload["hardware_tier"] <= where.hardware_tier)
    if where.module is not None:
        conditions.append(payload["module"] == where.module)
    if where.chapter_min is not None:
        conditions.append(payload["chapter"] >= where.chapter_min)
    if where.chapter_max is not None:
        conditions.append(payload["chapter"] <= where.chapter_max)
    if where.lesson is not None:
        conditions.append(payload["lesson"] == where.lesson)
    if where.proficiency_levels is not None:
        conditions.append(payload["proficiency_level"] in where.proficiency_levels)
    if where.layer is not None:
        conditions.append(payload["layer"] == where.layer)
    if where.parent_doc_id is not None:
        conditions.append(payload["parent_doc_id"] == where.parent_doc_id)
    return all(conditions)
