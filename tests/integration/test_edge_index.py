"""The embedded index keeps the contract, on a real folder."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import qdrant_edge as qe

from askbook.errors import DataDirectoryCorrupt
from askbook.index import ChunkFilter, ChunkIndex, edge, edge_layout
from askbook.index.edge import EdgeIndex
from askbook.index.sparse import DENSE, SPARSE
from contracts.chunk_index import (
    DIMENSION,
    FINGERPRINT,
    WORDS,
    ChunkIndexContract,
    OpenIndex,
    many_points,
    points_of,
    unit_vector,
)


class TestEdgeIndex(ChunkIndexContract):
    exclusive = True

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "index"

    @pytest_asyncio.fixture
    async def open_index(self, folder: Path) -> AsyncIterator[OpenIndex]:
        opened: list[EdgeIndex] = []

        async def opening(fingerprint: str = FINGERPRINT) -> ChunkIndex:
            opened.append(EdgeIndex(folder, fingerprint, DIMENSION))
            return opened[-1]

        yield opening
        for index in opened:
            if not index._executor._shutdown:
                await index.close()

    async def is_tenant(self, index: ChunkIndex, field: str) -> bool:
        assert isinstance(index, EdgeIndex)
        await index.count()
        assert index._shard is not None
        params: Any = index._shard.info().payload_schema[field].params
        return bool(getattr(params, "is_tenant", False))

    @pytest.mark.parametrize(
        "damaged",
        [
            "fingerprint.json",
            "edge_config.json",
            "wal/open-1",
            "segments/*/segment.json",
            "segments/*/version.info",
            "segments/*/payload_storage/page_0.dat",
            "segments/*/vector_storage-dense/deleted/status.dat",
        ],
    )
    async def test_damage_is_named_and_the_index_can_be_made_anew(
        self, index: ChunkIndex, open_index: OpenIndex, folder: Path, damaged: str
    ) -> None:
        await index.upsert(many_points(20))
        await index.close()
        [path] = folder.glob(damaged)
        # An empty status file makes the engine panic; the others hold something it cannot parse.
        path.write_bytes(b"" if path.name == "status.dat" else b"\xf3garbage" * 300)
        broken = await open_index()
        with pytest.raises(DataDirectoryCorrupt) as caught:
            await read_everything(broken)
        assert "--mode recreate" in caught.value.suggestion
        await broken.recreate()
        await broken.upsert(many_points(2))
        assert await broken.count() == 2

    async def test_an_unfinished_creation_is_begun_again(
        self, open_index: OpenIndex, folder: Path
    ) -> None:
        folder.mkdir()
        (folder / "edge_config.json").write_text("{")
        assert await (await open_index()).count() == 0

    async def test_many_points_are_flushed_on_the_way(
        self, index: ChunkIndex, open_index: OpenIndex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What waits for a flush is kept in memory; a long ingest must not collect it."""
        monkeypatch.setattr(edge, "FLUSH_AFTER", 16)
        points = many_points(60)
        for start in range(0, 60, 6):
            await index.upsert(points[start : start + 6])
            assert isinstance(index, EdgeIndex)
            assert index._unflushed < 16
        await index.delete([points[0].chunk_id])
        await index.close()
        again = await points_of(await open_index(), "robots", vectors=True)
        assert {p.chunk_id for p in again} == {p.chunk_id for p in points[1:]}

    async def test_segments_that_are_written_out_change_nothing(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = EdgeIndex(folder / "whole", FINGERPRINT, DIMENSION)
        await write_and_change(whole)
        use_small_segments(monkeypatch)
        split = EdgeIndex(folder / "split", FINGERPRINT, DIMENSION)
        await write_and_change(split)
        assert segments_of(whole) == 1
        assert segments_of(split) > 2
        expected = await contents(whole)
        assert await contents(split) == expected
        await split.close()
        again = EdgeIndex(folder / "split", FINGERPRINT, DIMENSION)
        assert await contents(again) == expected
        await asyncio.gather(whole.close(), again.close())

    async def test_what_is_deleted_takes_no_room(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        use_small_segments(monkeypatch)
        monkeypatch.setattr(edge_layout, "VACUUM_POINTS", 10)
        index = EdgeIndex(folder, FINGERPRINT, DIMENSION)
        await index.upsert([*many_points(400), *many_points(20, "cooking")])
        assert segments_of(index) > 4
        await index.delete_book("robots")
        assert segments_of(index) <= 2
        assert len(await points_of(index, "cooking")) == 20
        await index.close()

    async def test_an_index_in_one_piece_is_taken_over(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Data directories of earlier versions hold all points in one segment in memory."""
        with monkeypatch.context() as earlier:
            plain = qe.EdgeConfig(
                vectors={DENSE: qe.EdgeVectorParams(size=DIMENSION, distance=qe.Distance.Cosine)},
                sparse_vectors={SPARSE: qe.EdgeSparseVectorParams(modifier=qe.Modifier.Idf)},
            )
            earlier.setattr(edge, "layout", lambda _: plain)
            index = EdgeIndex(folder, FINGERPRINT, DIMENSION)
            await index.upsert(many_points(200))
            expected = await contents(index)
            await index.close()
        use_small_segments(monkeypatch)
        index = EdgeIndex(folder, FINGERPRINT, DIMENSION)
        assert await contents(index) == expected
        await index.upsert(many_points(200)[:40])
        assert segments_of(index) > 1
        assert await contents(index) == expected
        await index.close()

    async def test_concurrent_calls_do_not_disturb_each_other(self, index: ChunkIndex) -> None:
        points = many_points(60)
        await asyncio.gather(*(index.upsert(points[n : n + 6]) for n in range(0, 60, 6)))
        where = ChunkFilter("robots")
        answers = await asyncio.gather(
            *(index.search(where, vector=p.vector, text=None, limit=1) for p in points)
        )
        assert [a.dense[0].chunk_id for a in answers] == [p.chunk_id for p in points]


async def read_everything(index: ChunkIndex) -> None:
    """Some damage shows only where the damaged file is read."""
    where = ChunkFilter("robots")
    await index.search(where, vector=unit_vector(1), text="zorbal", limit=5)
    await points_of(index, "robots", vectors=True)


def use_small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_layout, "SEGMENT_POINTS", 64)
    monkeypatch.setattr(edge, "FLUSH_AFTER", 16)


def segments_of(index: EdgeIndex) -> int:
    assert index._shard is not None
    return index._shard.info().segments_count


async def write_and_change(index: EdgeIndex) -> None:
    """What books go through: written, edited, renumbered, shortened, one removed."""
    points = many_points(300)
    other = many_points(100, "cooking")
    for start in range(0, 300, 30):
        await index.upsert(points[start : start + 30])
    await index.upsert(other)
    await index.upsert(
        [replace(p, vector=unit_vector(1000 + n)) for n, p in enumerate(points[:50])]
    )
    await index.overwrite_payloads(
        {p.chunk_id: p.payload | {"chapter": 7} for p in points[100:160]}
    )
    await index.delete([p.chunk_id for p in points[40:70]])
    await index.delete_book("cooking")


async def contents(index: EdgeIndex) -> Any:
    """All there is, and what is found, in numbers that do not depend on the order of sums."""
    points = {
        p.chunk_id: (p.payload, p.vector.round(5).tolist(), p.terms)
        for p in await points_of(index, "robots", vectors=True)
    }
    found: list[Any] = []
    for n, word in enumerate(WORDS):
        for where in (ChunkFilter("robots"), ChunkFilter("robots", chapter_min=7)):
            hits = await index.search(where, vector=unit_vector(n), text=word, limit=20)
            found.append([(h.chunk_id, round(h.score, 4)) for h in hits.dense])
            found.append([round(h.score, 4) for h in hits.sparse])
    return points, found, await index.count(), await index.payload_indexes()
