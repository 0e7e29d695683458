"""Document 002: chunks, their chain, what is indexed of them, the state of a book, and search."""

import hashlib
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
import pytest_asyncio

from askbook.book import (
    DocumentChunk,
    HardwareTier,
    IngestionMode,
    JobStatus,
    ProficiencyLevel,
    TeachingLayer,
)
from askbook.bootstrap import Askbook, Scope, read_states
from askbook.config import load_settings
from askbook.embedding.openai import OpenAIEmbedder
from askbook.errors import InvalidInput
from askbook.ingestion.state import IngestionState
from doubles import WordEmbedder
from openai_server import KEY, OpenAIServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
SAMPLE = "physical-ai-robotics"
QUESTION = "Why do I receive nothing from the lidar driver?"


@pytest_asyncio.fixture(loop_scope="session")
async def chunks(askbook: Askbook) -> list[DocumentChunk]:
    """Every chunk of the sample book, in book order."""
    return [chunk async for chunk in askbook.library.export(SAMPLE)]


def section(topic: str, n: int) -> str:
    """A section of about 300 tokens that says nothing else than its topic."""
    words = " ".join(
        f"The {topic} of part {n} turns in step {step} of this lesson." for step in range(24)
    )
    return f"## {topic.title()} {n}\n\n{words}\n"


def write_lesson(path: Path, topic: str, sections: int, **frontmatter: Any) -> None:
    head = "".join(f"{name}: {value}\n" for name, value in frontmatter.items())
    body = "\n".join(section(topic, n) for n in range(sections))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{head}---\n# About the {topic}\n\n{body}")


def write_small_book(folder: Path) -> None:
    """The documents' small scope: three lessons of several chunks, one chunk at the end."""
    write_lesson(folder / "01-gear.md", "gear", 5, hardware_tier=1)
    write_lesson(folder / "02-wheel.md", "wheel", 3, hardware_tier=2)
    write_lesson(folder / "03-motor.md", "motor", 1, hardware_tier=3)


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncGenerator[Askbook]:
    async with Askbook(load_settings(data_dir=data_dir)) as askbook:
        yield askbook


async def ingest(
    askbook: Askbook, folder: Path, mode: IngestionMode = "incremental"
) -> dict[str, Any]:
    job: dict[str, Any] = {}
    async for progress in askbook.ingest(folder, None, mode):
        job = progress.job.to_json()
    return job


def by_lesson(chunks: list[DocumentChunk]) -> dict[str, list[DocumentChunk]]:
    lessons: dict[str, list[DocumentChunk]] = {}
    for chunk in chunks:
        lessons.setdefault(chunk.metadata.source_file, []).append(chunk)
    return lessons


async def exported(askbook: Askbook, book_id: str) -> list[DocumentChunk]:
    return [chunk async for chunk in askbook.library.export(book_id)]


# --- Chunks ---


@pytest.mark.spec("C1", "C11", "C31")
async def test_ids_are_made_of_place_and_content(chunks: list[DocumentChunk]) -> None:
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        m = chunk.metadata
        digest = hashlib.sha256(chunk.text.encode()).hexdigest()
        assert m.content_hash == digest
        name = f"{SAMPLE}:{m.module}:{m.chapter}:{m.lesson}:{digest[:16]}"
        assert chunk.id == str(uuid.uuid5(NAMESPACE, name))


@pytest.mark.spec("C2", "C5", "C6", "C7", "C14", "C15")
async def test_texts_have_substance_and_are_counted(chunks: list[DocumentChunk]) -> None:
    for chunk in chunks:
        assert len(chunk.text.strip()) >= 10
        assert chunk.word_count == len(chunk.text.split()) >= 1
        assert chunk.token_count == pytest.approx(chunk.word_count * 1.3, abs=0.5)
        assert chunk.char_count == len(chunk.text) >= 10


@pytest.mark.spec("C3")
async def test_chunks_aim_at_400_tokens_and_never_exceed_what_the_embedder_takes(
    askbook: Askbook, chunks: list[DocumentChunk]
) -> None:
    counts = askbook.embedder.count_tokens([chunk.embedded_text for chunk in chunks])
    assert max(counts) <= 512
    assert 200 <= sum(counts) / len(counts) <= 420


@pytest.mark.spec("C4", "C17", "C25")
async def test_every_chunk_knows_its_book_and_file(
    chunks: list[DocumentChunk], sample_book: Path
) -> None:
    for chunk in chunks:
        assert chunk.metadata.book_id == SAMPLE
        assert (sample_book / "docs" / chunk.metadata.source_file).is_file()


@pytest.mark.spec("C12", "C13", "C109")
async def test_ids_stay_with_the_text_and_change_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        before = {c.text: c.id for c in await exported(mine, "book")}
        await ingest(mine, folder, "full")
        assert {c.text: c.id for c in await exported(mine, "book")} == before
        gear = folder / "01-gear.md"
        gear.write_text(gear.read_text().replace("gear of part 2", "axle of part 2"))
        job = await ingest(mine, folder)
        after = {c.text: c.id for c in await exported(mine, "book")}
    kept = before.keys() & after.keys()
    assert {text: before[text] for text in kept} == {text: after[text] for text in kept}
    changed = [text for text in after if text not in before]
    assert changed
    assert not {after[text] for text in changed} & set(before.values())
    assert (job["files_processed"], job["files_skipped"]) == (1, 2)


@pytest.mark.spec("C16", "C32", "C64")
async def test_a_lesson_file_becomes_one_or_more_chunks(
    chunks: list[DocumentChunk], sample_book: Path
) -> None:
    lessons = by_lesson(chunks)
    files = {
        p.relative_to(sample_book / "docs").as_posix()
        for p in (sample_book / "docs").rglob("*.mdx")
    }
    assert set(lessons) == {file for file in files if not Path(file).name.startswith("_")}
    for file, own in lessons.items():
        digest = hashlib.sha256((sample_book / "docs" / file).read_bytes()).hexdigest()
        assert {chunk.metadata.source_file_hash for chunk in own} == {digest}


# --- Metadata ---


@pytest.mark.spec("C18", "C19", "C20", "C22", "C23", "C24", "C111")
async def test_places_and_levels_are_those_of_the_sample_book(chunks: list[DocumentChunk]) -> None:
    modules = {chunk.metadata.module for chunk in chunks}
    assert modules == {"intro", "ros2", "simulation", "isaac", "vla"}
    for chunk in chunks:
        m = chunk.metadata
        assert 0 <= m.chapter <= 20
        assert 0 <= m.lesson <= 15
        assert m.hardware_tier in get_args(HardwareTier) == (1, 2, 3, 4)
        assert m.proficiency_level in get_args(ProficiencyLevel)
        assert m.layer in get_args(TeachingLayer) == ("L1", "L2", "L3", "L4")
    assert get_args(ProficiencyLevel) == ("A1", "A2", "B1", "B2", "C1", "C2")
    assert get_args(IngestionMode) == ("incremental", "full", "recreate")
    assert get_args(JobStatus) == ("queued", "running", "completed", "failed")


@pytest.mark.spec("C19", "C20")
async def test_numbers_beyond_the_manifests_bounds_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_lesson(folder / "a.md", "gear", 1, chapter=21, lesson=16)
    (folder / "askbook.toml").write_text("max_chapter = 20\nmax_lesson = 15\n")
    async with opened(tmp_path / "data") as mine:
        warnings = " ".join((await ingest(mine, folder))["warnings"])
    assert "chapter 21 is beyond" in warnings
    assert "lesson 16 is beyond" in warnings


@pytest.mark.spec("C23", "C24", "C33", "C34", "C35")
async def test_defaults_versions_and_times(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_lesson(folder / "a.md", "gear", 2)
    before = datetime.now(UTC)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        first = [chunk.metadata for chunk in await exported(mine, "book")]
        (folder / "a.md").write_text(
            (folder / "a.md").read_text() + "\nOne more sentence for it.\n"
        )
        await ingest(mine, folder)
        second = [chunk.metadata for chunk in await exported(mine, "book")]
    for m in first:
        assert (m.hardware_tier, m.proficiency_level, m.layer, m.version) == (1, "A2", "L1", 1)
        assert before <= m.created_at <= m.updated_at <= datetime.now(UTC)
    assert {m.version for m in second} == {2}
    assert {m.created_at for m in second} == {m.created_at for m in first}
    assert min(m.updated_at for m in second) > max(m.updated_at for m in first)


@pytest.mark.spec("C21")
async def test_a_chunk_knows_the_section_it_stands_in(chunks: list[DocumentChunk]) -> None:
    titled = [chunk for chunk in chunks if chunk.metadata.section_title]
    assert len(titled) > len(chunks) / 2
    named = [c for c in titled if f" {c.metadata.section_title}" in c.text]
    assert len(named) > len(titled) / 2


@pytest.mark.spec("C26", "C40", "C41", "C106", "C112")
async def test_all_chunks_of_a_lesson_share_one_parent(chunks: list[DocumentChunk]) -> None:
    parents: set[str] = set()
    for own in by_lesson(chunks).values():
        m = own[0].metadata
        name = f"{SAMPLE}:{m.module}:{m.chapter}:{m.lesson}:parent"
        assert {c.metadata.parent_doc_id for c in own} == {str(uuid.uuid5(NAMESPACE, name))}
        parents.add(m.parent_doc_id)
    assert len(parents) == len(by_lesson(chunks))


@pytest.mark.spec("C27", "C28", "C36", "C115")
async def test_chunks_are_numbered_through_their_lesson(chunks: list[DocumentChunk]) -> None:
    for own in by_lesson(chunks).values():
        assert [c.metadata.chunk_index for c in own] == list(range(len(own)))
        assert {c.metadata.total_chunks for c in own} == {len(own)}


def check_chain(own: list[DocumentChunk]) -> None:
    ids = [chunk.id for chunk in own]
    assert [c.metadata.prev_chunk_id for c in own] == [None, *ids[:-1]]
    assert [c.metadata.next_chunk_id for c in own] == [*ids[1:], None]
    assert len(set(ids)) == len(ids), "a chain with a cycle"


@pytest.mark.spec("C29", "C30", "C37", "C38", "C39", "C107", "C108")
async def test_the_chain_runs_through_every_lesson(chunks: list[DocumentChunk]) -> None:
    for own in by_lesson(chunks).values():
        check_chain(own)


@pytest.mark.spec("C107", "C108", "C112", "C113", "C115")
async def test_the_small_scope_of_the_document(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        lessons = by_lesson(await exported(mine, "book"))
    assert [len(own) for own in lessons.values()] == [5, 3, 1]
    for own in lessons.values():
        check_chain(own)
    [single] = lessons["03-motor.md"]
    assert (single.metadata.prev_chunk_id, single.metadata.next_chunk_id) == (None, None)
    assert all(chunk.metadata.parent_doc_id for own in lessons.values() for chunk in own)


@pytest.mark.spec("C107")
async def test_repeated_text_makes_no_cycle(tmp_path: Path) -> None:
    same = section("gear", 1).removeprefix("## Gear 1\n")
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "a.md").write_text("# Same\n" + "\n".join(f"## Again\n{same}" for _ in range(4)))
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        own = await exported(mine, "book")
        assert await mine.index.count() == len(own) >= 4
    check_chain(own)


@pytest.mark.spec("C116")
async def test_an_edit_leaves_no_reference_to_what_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        old = {chunk.id for chunk in await exported(mine, "book")}
        gear = folder / "01-gear.md"
        gear.write_text(gear.read_text().replace("gear of part 1", "cog of part 1"))
        await ingest(mine, folder)
        now = await exported(mine, "book")
        points = {point.chunk_id: point.payload async for point in mine.index.scroll("book")}
    for own in by_lesson(now).values():
        check_chain(own)
    assert set(points) == {chunk.id for chunk in now} != old
    for payload in points.values():
        for name in ("prev_chunk_id", "next_chunk_id"):
            assert payload[name] is None or payload[name] in points


@pytest.mark.spec("C110")
async def test_a_changed_file_is_embedded_again_where_its_text_changed(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        before = {chunk.embedded_text for chunk in await exported(mine, "book")}
        gear = folder / "01-gear.md"
        gear.write_text(gear.read_text().replace("gear of part 2", "cog of part 2"))
        job = await ingest(mine, folder)
        now = by_lesson(await exported(mine, "book"))["01-gear.md"]
        changed = [chunk for chunk in now if chunk.embedded_text not in before]
        assert job["embedded_chunks"] == len(changed) == 1
        stored = await mine.index.retrieve([chunk.id for chunk in now], vectors=True)
        fresh = await mine.embedder.embed_passages([chunk.embedded_text for chunk in now])
        for chunk, vector in zip(now, fresh, strict=True):
            found = stored[chunk.id].vector
            assert found is not None
            assert float(found @ vector) == pytest.approx(1.0, abs=1e-4)


# --- What lies in the index ---


@pytest.mark.spec("C42", "C54")
async def test_payloads_hold_every_field(askbook: Askbook, chunks: list[DocumentChunk]) -> None:
    documented = set(
        "book_id module chapter lesson hardware_tier proficiency_level layer parent_doc_id "
        "content_hash source_file_hash text section_title source_file chunk_index total_chunks "
        "prev_chunk_id next_chunk_id word_count token_count version created_at updated_at".split()
    )
    points = {point.chunk_id: point.payload async for point in askbook.index.scroll(SAMPLE)}
    assert set(points) == {chunk.id for chunk in chunks}
    for chunk in chunks:
        payload = points[chunk.id]
        assert documented <= set(payload)
        assert DocumentChunk.from_payload(chunk.id, payload) == chunk
        for name in ("created_at", "updated_at"):
            assert datetime.fromisoformat(payload[name]).tzinfo is not None


@pytest.mark.spec("C44", "C45", "C46", "C47", "C48", "C49", "C50", "C51", "C52", "C55")
async def test_filter_fields_are_indexed_from_the_start(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as mine:
        assert await mine.index.count() == 0
        kinds = {name: kind.lower() for name, kind in (await mine.index.payload_indexes()).items()}
    keywords = "book_id module proficiency_level layer parent_doc_id content_hash source_file_hash"
    integers = "chapter lesson hardware_tier"
    assert kinds == dict.fromkeys(keywords.split(), "keyword") | dict.fromkeys(
        integers.split(), "integer"
    )


@pytest.mark.spec("C43")
async def test_the_book_is_the_tenant_of_the_index(askbook: Askbook) -> None:
    await askbook.index.count()
    store: Any = askbook.index
    params = store._shard.info().payload_schema["book_id"].params
    assert params.is_tenant is True


@pytest.mark.spec("C17", "C56")
async def test_one_book_is_searched_and_no_other(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_lesson(tmp_path / name / "a.md", "gear", 2)
    async with opened(tmp_path / "data") as mine:
        for name in ("one", "two"):
            await ingest(mine, tmp_path / name)
        for name in ("one", "two"):
            _, context = await mine.search("gear", Scope(book_id=name), top_k=50)
            assert context.results
            assert {result.chunk.metadata.book_id for result in context.results} == {name}
        with pytest.raises(InvalidInput, match="one, two"):
            await mine.search("gear")


# --- The state of a book ---


@pytest_asyncio.fixture(loop_scope="session")
async def state(ingested: Path) -> IngestionState:
    [state] = await read_states(load_settings(data_dir=ingested))
    return state


@pytest.mark.spec("C8", "C10")
async def test_a_chunk_is_embedded_in_the_dimensions_of_its_embedder(
    chunks: list[DocumentChunk],
) -> None:
    with OpenAIServer() as server:
        settings = load_settings(openai_api_key=KEY, openai_base_url=server.url)
        vendor = OpenAIEmbedder(settings.embedder, settings.openai)
        vectors = await vendor.embed_passages([chunk.embedded_text for chunk in chunks[:3]])
        await vendor.close()
    assert [vector.shape for vector in vectors] == [(1536,)] * 3
    assert "text-embedding-3-small" in vendor.fingerprint.name


@pytest.mark.spec("C9")
async def test_when_a_lesson_was_embedded_is_kept_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "page.md").write_text("# Nodes\n\nA node is a program.\n", encoding="utf-8")
    settings = load_settings(data_dir=tmp_path / "data")
    before = datetime.now(UTC)
    async with Askbook(settings, embedder=WordEmbedder()) as mine:
        async for _ in mine.ingest(folder, "book"):
            pass
    [state] = await read_states(settings)
    assert before <= state.records["page.md"].ingested_at <= datetime.now(UTC)


@pytest.mark.spec("C62", "C63", "C72", "C74")
async def test_the_state_lists_every_indexed_file(
    state: IngestionState, chunks: list[DocumentChunk]
) -> None:
    lessons = by_lesson(chunks)
    assert (state.book_id, state.collection_name) == (SAMPLE, "documentation")
    assert set(state.records) == set(lessons)
    assert state.total_chunks == sum(r.chunk_count for r in state.records.values()) == len(chunks)
    assert state.last_full_ingest is not None
    assert state.last_incremental_update is None
    for path, record in state.records.items():
        m = lessons[path][0].metadata
        assert record.source_file == path
        assert (record.book_id, record.module) == (SAMPLE, m.module)
        assert (record.chapter, record.lesson) == (m.chapter, m.lesson)
        assert record.file_hash == m.source_file_hash
        assert list(record.chunk_ids) == [chunk.id for chunk in lessons[path]]
        assert record.ingested_at.tzinfo is not None


@pytest.mark.spec("C73")
async def test_every_recorded_chunk_is_in_the_index(
    state: IngestionState, askbook: Askbook
) -> None:
    ids = [chunk_id for record in state.records.values() for chunk_id in record.chunk_ids]
    assert set(await askbook.index.retrieve(ids)) == set(ids)


@pytest.mark.spec("C65", "C66", "C67", "C68", "C69")
async def test_changes_are_new_modified_and_deleted_in_this_order(state: IngestionState) -> None:
    current = {path: record.file_hash for path, record in state.records.items()}
    assert state.get_changed_files(current) == ([], [], [])
    modified, deleted, *_ = state.records
    changed = {path: digest for path, digest in current.items() if path != deleted}
    changed |= {modified: "0" * 64, "new.mdx": "1" * 64}
    assert state.get_changed_files(changed) == (["new.mdx"], [modified], [deleted])


@pytest.mark.spec("C70")
async def test_chunks_to_delete_are_one_flat_list(state: IngestionState) -> None:
    one, other, *_ = state.records.values()
    files = [one.source_file, "never indexed.mdx", other.source_file]
    assert state.get_chunks_to_delete(files) == [*one.chunk_ids, *other.chunk_ids]
    assert state.get_chunks_to_delete([]) == []


@pytest.mark.spec("C71", "C74")
async def test_the_state_outlives_the_process_and_follows_the_files(tmp_path: Path) -> None:
    folder, settings = tmp_path / "book", load_settings(data_dir=tmp_path / "data")
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
    [first] = await read_states(settings)
    (folder / "02-wheel.md").unlink()
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        points = await mine.index.count()
    [second] = await read_states(settings)
    assert set(first.records) - set(second.records) == {"02-wheel.md"}
    assert points == second.total_chunks == first.total_chunks - 3
    assert second.last_full_ingest == first.last_full_ingest
    assert second.last_incremental_update is not None


# --- Jobs, as their JSON tells them ---


@pytest.mark.spec("C75", "C76", "C77", "C78", "C79", "C80", "C81", "C82", "C83", "C84")
@pytest.mark.spec("C85", "C86", "C87", "C88", "C89")
async def test_a_job_counts_what_it_does(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        statuses: list[str] = []
        first: dict[str, Any] = {}
        async for progress in mine.ingest(folder):
            first = progress.job.to_json()
            statuses.append(first["status"])
            assert (first["completed_at"] is None) == (first["status"] != "completed")
            assert min(first["chunks_created"], first["chunks_deleted"]) >= 0
        (folder / "02-wheel.md").unlink()
        gear = folder / "01-gear.md"
        gear.write_text(gear.read_text().replace("gear of part 3", "cog of part 3"))
        second = await ingest(mine, folder)
    assert statuses == sorted(statuses, key=["queued", "running", "completed"].index)
    assert (first["book_id"], first["mode"], first["status"]) == (
        "book",
        "incremental",
        "completed",
    )
    assert (first["files_processed"], first["files_skipped"], first["chunks_created"]) == (3, 0, 9)
    assert isinstance(first["duration_seconds"], int)
    assert first["error_message"] is None
    assert isinstance(first["job_id"], int)
    assert second["job_id"] != first["job_id"]
    assert (second["files_processed"], second["files_skipped"], second["files_deleted"]) == (
        1,
        1,
        1,
    )
    assert second["chunks_created"] >= 1
    assert second["chunks_deleted"] >= 4
    for job in (first, second):
        total = job["files_processed"] + job["files_skipped"] + job["files_failed"]
        assert total == job["files_discovered"]
        started, ended = (datetime.fromisoformat(job[f"{n}_at"]) for n in ("started", "completed"))
        assert started <= ended


# --- Search ---


async def search(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    response = await client.post("/search", json={"text": QUESTION, "limit": 20} | given)
    assert response.status_code == 200, response.text
    return response.json()


async def refused(client: httpx.AsyncClient, **given: Any) -> bool:
    body = {"text": QUESTION} | given
    return (await client.post("/search", json=body)).status_code == 422


@pytest.mark.spec("C91")
async def test_a_search_has_three_characters_or_more(client: httpx.AsyncClient) -> None:
    assert await refused(client, text="ab")
    assert await refused(client, text=None)
    assert (await search(client, text="tf2"))["query"] == "tf2"


@pytest.mark.spec("C92")
async def test_the_only_book_is_the_default(client: httpx.AsyncClient) -> None:
    assert (await search(client))["book_id"] == SAMPLE
    named = await search(client, book_id=SAMPLE)
    assert named["results"] == (await search(client))["results"]


@pytest.mark.spec("C57", "C93")
@pytest.mark.parametrize("tier", [1, 2, 3, 4])
async def test_a_tier_finds_that_and_lower(client: httpx.AsyncClient, tier: int) -> None:
    document = await search(client, hardware_tier_filter=tier, mode="dense")
    assert {result["hardware_tier"] for result in document["results"]} <= set(range(1, tier + 1))
    assert document["hardware_tier_filter"] == tier


@pytest.mark.spec("C93")
async def test_tiers_go_from_one_to_four_and_the_reader_has_a_default(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    for wrong in (0, 5):
        assert await refused(client, hardware_tier_filter=wrong)
    assert (await search(client))["hardware_tier_filter"] == 4
    folder = tmp_path / "book"
    write_small_book(folder)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        query, context = await mine.search("gear wheel motor", top_k=50)
    assert query.hardware_tier_filter == 1
    assert {result.chunk.metadata.hardware_tier for result in context.results} == {1}


@pytest.mark.spec("C114")
async def test_the_tier_example_of_the_document(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    for n, tier in enumerate([1, 1, 2, 3, 1]):
        write_lesson(folder / f"{n}.md", f"gear{n}", 1, hardware_tier=tier)
    async with opened(tmp_path / "data") as mine:
        await ingest(mine, folder)
        _, context = await mine.search("gear", Scope(hardware_tier=2), top_k=20, mode="dense")
    found = {r.chunk.metadata.source_file: r.chunk.metadata.hardware_tier for r in context.results}
    assert [found[name] for name in sorted(found)] == [1, 1, 2, 1]


@pytest.mark.spec("C58", "C94")
async def test_a_module_is_matched_exactly(client: httpx.AsyncClient) -> None:
    document = await search(client, module_filter="isaac")
    assert {result["module"] for result in document["results"]} == {"isaac"}
    assert document["module_filter"] == "isaac"
    assert await refused(client, module_filter="isa")
    assert len({result["module"] for result in (await search(client))["results"]}) > 1


@pytest.mark.spec("C59", "C95")
async def test_chapters_are_a_range_with_both_ends(
    client: httpx.AsyncClient, chunks: list[DocumentChunk]
) -> None:
    present = sorted({chunk.metadata.chapter for chunk in chunks})
    low, high = present[1], present[-2]
    both = await search(client, chapter_min=low, chapter_max=high, mode="dense")
    assert {r["chapter"] for r in both["results"]} <= set(range(low, high + 1))
    for end in (low, high):
        edge = await search(client, chapter_min=end, chapter_max=end, mode="dense")
        assert {r["chapter"] for r in edge["results"]} == {end}
    least = await search(client, chapter_min=high, mode="dense")
    assert min(r["chapter"] for r in least["results"]) >= high


@pytest.mark.spec("C96")
async def test_a_lesson_number_is_matched(client: httpx.AsyncClient) -> None:
    document = await search(client, lesson_filter=2, mode="dense")
    assert {result["lesson"] for result in document["results"]} == {2}


@pytest.mark.spec("C60", "C97")
async def test_proficiency_levels_are_alternatives(
    client: httpx.AsyncClient, chunks: list[DocumentChunk]
) -> None:
    present = sorted({chunk.metadata.proficiency_level for chunk in chunks})
    assert len(present) >= 2
    seen: set[str] = set()
    for level in present[:2]:
        document = await search(client, proficiency_levels=[level], mode="dense")
        assert {r["proficiency_level"] for r in document["results"]} == {level}
        seen.add(level)
    both = await search(client, proficiency_levels=present[:2], mode="dense")
    assert {r["proficiency_level"] for r in both["results"]} <= seen
    assert await refused(client, proficiency_levels=["A9"])


@pytest.mark.spec("C98")
async def test_a_layer_is_matched(client: httpx.AsyncClient, chunks: list[DocumentChunk]) -> None:
    for layer in {chunk.metadata.layer for chunk in chunks}:
        document = await search(client, layer_filter=layer, mode="dense")
        assert {result["layer"] for result in document["results"]} == {layer}
    assert await refused(client, layer_filter="L5")


@pytest.mark.spec("C61", "C99")
async def test_a_parent_gives_all_chunks_of_its_lesson(
    client: httpx.AsyncClient, chunks: list[DocumentChunk]
) -> None:
    for own in list(by_lesson(chunks).values())[:3]:
        parent = own[0].metadata.parent_doc_id
        document = await search(client, parent_doc_id=parent, mode="dense")
        assert {r["chunk_id"] for r in document["results"]} == {chunk.id for chunk in own}


@pytest.mark.spec("C100")
async def test_a_limit_is_five_and_goes_from_one_to_twenty(client: httpx.AsyncClient) -> None:
    response = await client.post("/search", json={"text": QUESTION})
    assert len(response.json()["results"]) == 5
    for limit in (1, 20):
        assert len((await search(client, limit=limit))["results"]) == limit
    for limit in (0, 21):
        assert await refused(client, limit=limit)


@pytest.mark.spec("C101")
async def test_filters_hold_all_at_once(
    client: httpx.AsyncClient, chunks: list[DocumentChunk]
) -> None:
    document = await search(
        client, module_filter="ros2", hardware_tier_filter=1, lesson_filter=1, mode="dense"
    )
    expected = {
        c.id
        for c in chunks
        if (c.metadata.module, c.metadata.lesson, c.metadata.hardware_tier) == ("ros2", 1, 1)
    }
    assert {result["chunk_id"] for result in document["results"]} == expected


@pytest.mark.spec("C102")
async def test_a_result_holds_every_field_of_its_chunk(
    client: httpx.AsyncClient, chunks: list[DocumentChunk]
) -> None:
    by_id = {chunk.id: chunk for chunk in chunks}
    for result in (await search(client))["results"]:
        chunk = by_id[result["chunk_id"]]
        assert result["text"] == chunk.text
        for name in (
            "source_file section_title module chapter lesson hardware_tier proficiency_level layer "
            "chunk_index total_chunks parent_doc_id prev_chunk_id next_chunk_id content_hash"
        ).split():
            assert result[name] == getattr(chunk.metadata, name), name


@pytest.mark.spec("C103", "C104")
async def test_dense_results_are_ordered_by_cosine(
    client: httpx.AsyncClient, askbook: Askbook
) -> None:
    results = (await search(client, mode="dense"))["results"]
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    query = await askbook.embedder.embed_query(QUESTION)
    stored = await askbook.index.retrieve([r["chunk_id"] for r in results], vectors=True)
    for result in results:
        vector = stored[result["chunk_id"]].vector
        assert vector is not None
        cosine = min(1.0, max(0.0, float(query @ vector)))
        assert result["score"] == pytest.approx(cosine, abs=1e-4)


@pytest.mark.spec("C105")
async def test_a_response_echoes_what_was_asked(client: httpx.AsyncClient) -> None:
    document = await search(client, module_filter="ros2", hardware_tier_filter=2, limit=3)
    assert document["query"] == QUESTION
    assert (document["book_id"], document["module_filter"]) == (SAMPLE, "ros2")
    assert document["hardware_tier_filter"] == 2
    assert document["total_found"] == len(document["results"]) == 3
