"""The shipped weights: sound, loaded when needed, and what their cards promise."""

import asyncio
import shutil
import threading
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askbook.models
import askbook.models.runtime as runtime_module
from askbook.embedding import Embedder
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import ConfigurationError
from askbook.models import ModelName, load_reference, load_tokenizer, load_weights
from askbook.models.runtime import ModelRuntime
from askbook.retrieval.judging import BuiltinJudge
from contracts.embedder import EmbedderContract

SHIPPED = Path(askbook.models.__file__).parent
LONG_PASSAGE = (
    "URDF, the Unified Robot Description Format, is an XML format that describes a robot's links "
    "and joints. " + "A link has a visual shape, a collision shape and an inertia. " * 200
)


class TestBuiltinEmbedder(EmbedderContract):
    def make(self) -> Embedder:
        return BuiltinEmbedder()

    async def test_gives_the_vectors_of_its_reference(self, embedder: Embedder) -> None:
        entries = load_reference("embed")
        assert entries
        # The reference texts carry their prefix already; passages have none.
        vectors = await embedder.embed_passages([entry["text"] for entry in entries])
        for entry, vector in zip(entries, vectors, strict=True):
            expected = np.asarray(entry["embedding"], dtype=np.float32)
            assert float(vector @ expected) / float(np.linalg.norm(expected)) >= 0.999

    async def test_is_as_large_as_its_card_says(self, embedder: Embedder) -> None:
        assert embedder.fingerprint.dimension == 384
        assert embedder.fingerprint.query_prefix == "query: "

    def test_a_padded_text_keeps_its_vector(self) -> None:
        """Alone and masked run different kernels; they must mean the same."""
        runtime = ModelRuntime("embed", sessions=1)
        short, long = (
            runtime.tokenizer.encode(text).ids for text in ("A link.", LONG_PASSAGE[:400])
        )
        ids = np.ones((2, len(long)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate((short, long)):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        [together] = runtime.run({"input_ids": ids, "attention_mask": mask})
        for row, tokens in enumerate((short, long)):
            one = np.asarray([tokens], dtype=np.int64)
            [alone] = runtime.run({"input_ids": one, "attention_mask": np.ones_like(one)})
            # Dynamic int8 sees another range in a batch: near, not equal.
            assert float(together[row] @ alone[0]) > 0.97
        runtime.close()


class TestBuiltinJudge:
    async def test_gives_the_scores_of_its_reference(self) -> None:
        judge = BuiltinJudge()
        entries = load_reference("judge")
        assert entries
        for entry in entries:
            [found] = await judge.judge(entry["question"], [entry["passage"]])
            assert found.relevance == pytest.approx(entry["relevance"], abs=0.05)
            assert found.answerability == pytest.approx(entry["answerability"], abs=0.05)
        await judge.close()

    async def test_one_judgement_per_passage_in_order(self) -> None:
        judge = BuiltinJudge()
        entries = load_reference("judge")[:2]
        found = await judge.judge(entries[0]["question"], [e["passage"] for e in entries])
        assert [f.relevance for f in found] == pytest.approx(
            [e["relevance"] for e in entries], abs=0.05
        )
        assert await judge.judge("anything", []) == []
        await judge.close()

    async def test_points_at_the_words_that_answer(self) -> None:
        judge = BuiltinJudge()
        passage = "A fixed joint moves not at all. URDF is an XML format that describes a robot."
        [found] = await judge.judge("What is URDF?", [passage])
        assert "XML format" in passage[found.span_start : found.span_end]
        await judge.close()

    @settings(max_examples=25)
    @given(
        question=st.text(min_size=1, max_size=80),
        passage=st.one_of(
            st.text(max_size=200),
            st.integers(0, len(LONG_PASSAGE)).map(lambda n: LONG_PASSAGE[:n]),
            st.just("日本語のロボット。" * 60),
        ),
    )
    async def test_spans_lie_inside_the_passage(self, question: str, passage: str) -> None:
        [found] = await shared_judge().judge(question, [passage])
        assert 0 <= found.span_start <= found.span_end <= len(passage)
        assert np.isfinite([found.relevance, found.answerability, found.span_margin]).all()

    async def test_reads_a_passage_of_any_length(self) -> None:
        judge = BuiltinJudge()
        [found] = await judge.judge("What is URDF? " * 100, [LONG_PASSAGE * 5])
        assert found.span_end <= len(LONG_PASSAGE)
        await judge.close()


LOADING = {"model_int8.onnx": load_weights, "tokenizer.json": load_tokenizer}


class TestFiles:
    @pytest.mark.parametrize("name", ["embed", "judge"])
    @pytest.mark.parametrize("file", LOADING)
    def test_a_damaged_copy_is_refused(self, tmp_path: Path, name: ModelName, file: str) -> None:
        shutil.copytree(SHIPPED / name, tmp_path / name)
        load_file = LOADING[file]
        assert load_file(name, tmp_path)
        damaged = tmp_path / name / file
        data = bytearray(damaged.read_bytes())
        data[len(data) // 2] ^= 1
        damaged.write_bytes(data)
        with pytest.raises(ConfigurationError) as caught:
            load_file(name, tmp_path)
        assert f"{name}/{file} is damaged" in caught.value.message
        assert "Install askbook again" in caught.value.suggestion

    @pytest.mark.parametrize("file", LOADING)
    def test_a_missing_file_is_refused(self, tmp_path: Path, file: str) -> None:
        shutil.copytree(SHIPPED / "judge", tmp_path / "judge")
        (tmp_path / "judge" / file).unlink()
        with pytest.raises(ConfigurationError, match=f"judge/{file} is missing"):
            LOADING[file]("judge", tmp_path)

    @pytest.mark.parametrize("name", ["embed", "judge"])
    def test_the_card_states_the_sums_that_are_checked(self, name: ModelName) -> None:
        card = (SHIPPED / name / "MODEL_CARD.md").read_text(encoding="utf-8")
        for file, digest in askbook.models._SHA256[name].items():
            assert f"{file} {digest}" in card


class TestRuntime:
    async def test_loads_nothing_before_it_is_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loaded: list[ModelName] = []

        def recording(name: ModelName) -> bytes:
            loaded.append(name)
            return load_weights(name)

        monkeypatch.setattr("askbook.models.runtime.load_weights", recording)
        embedder, judge = BuiltinEmbedder(), BuiltinJudge()
        embedder.count_tokens(["counting needs no weights"])
        assert loaded == []
        await embedder.embed_passages([])
        await embedder.embed_query("first")
        await embedder.embed_query("second")
        assert loaded == ["embed"]
        await judge.judge("question", ["passage"])
        assert loaded == ["embed", "judge"]
        await embedder.close()
        await judge.close()

    async def test_can_begin_before_its_user_is_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[str] = []
        new_session = runtime_module._new_session

        def recording(weights: bytes) -> object:
            opened.append(threading.current_thread().name)
            return new_session(weights)

        monkeypatch.setattr(runtime_module, "_new_session", recording)
        runtime_module.begin_loading("embed", sessions=1)
        embedder = BuiltinEmbedder()
        await embedder.embed_query("what began is used")
        assert len(opened) == 1
        other = BuiltinEmbedder()
        await other.embed_query("and by one user alone")
        assert len(opened) == 2
        await embedder.close()
        await other.close()

    async def test_works_off_the_event_loop_on_several_threads(self) -> None:
        runtime = ModelRuntime("judge", sessions=3)
        meeting = threading.Barrier(3, timeout=30)

        def meet(_: int) -> str:
            meeting.wait()
            return threading.current_thread().name

        names = await runtime.map(meet, [1, 2, 3])
        assert len(set(names)) == 3
        assert threading.current_thread().name not in names
        runtime.close()

    async def test_results_come_in_the_order_of_the_items(self) -> None:
        runtime = ModelRuntime("judge", sessions=3)
        assert await runtime.map(lambda n: n * n, range(100)) == [n * n for n in range(100)]
        runtime.close()

    async def test_a_failure_is_told_and_the_rest_left(self) -> None:
        runtime = ModelRuntime("judge", sessions=1)
        seen: list[int] = []

        def fail(item: int) -> None:
            seen.append(item)
            raise ValueError(item)

        with pytest.raises(ValueError, match="0"):
            await runtime.map(fail, range(50))
        runtime.close()
        assert seen == [0]

    async def test_who_gives_up_stops_the_work(self) -> None:
        runtime = ModelRuntime("judge", sessions=1)
        begun, go_on = threading.Event(), threading.Event()
        seen: list[int] = []

        def wait(item: int) -> None:
            seen.append(item)
            begun.set()
            go_on.wait(30)

        task = asyncio.create_task(runtime.map(wait, range(50)))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        runtime.close()
        assert seen == [0]

    async def test_can_be_used_again_after_closing(self) -> None:
        embedder = BuiltinEmbedder()
        before = await embedder.embed_query("again")
        await embedder.close()
        np.testing.assert_array_equal(await embedder.embed_query("again"), before)
        await embedder.close()
        await embedder.close()


@cache
def shared_judge() -> BuiltinJudge:
    """One judge for all examples of a property: loading it takes longer than asking it."""
    return BuiltinJudge(ModelRuntime("judge", sessions=1))


CPUS = {"avx2 fma": "1", "avx2 avx512f avx512_vnni": "0", "avx2 avx_vnni": "0", "": "1"}


@pytest.mark.parametrize("flags", CPUS)
@pytest.mark.parametrize("name", get_args(ModelName))
def test_sessions_keep_int8_products_exact_on_every_cpu(
    name: ModelName, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without VNNI two int8 products are added in 16 bits and overflow, unless the session forbids it.

    Shown on the session itself, so that it holds on processors that the tests do not run on.
    """
    told = tmp_path / "cpuinfo"
    if flags:
        told.write_text(f"flags\t: {flags}\n")
    monkeypatch.setattr(runtime_module, "CPU_FLAGS", told)
    options = ModelRuntime(name, sessions=1)._free_session().get_session_options()
    assert options.get_session_config_entry("session.x64quantprecision") == CPUS[flags]


def test_exact_products_give_the_same_vectors_as_a_cpu_with_vnni(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runtime_module.adds_products_exactly():
        pytest.skip("This CPU has no VNNI to compare with.")
    plain = ModelRuntime("embed", sessions=1)
    ids = np.asarray([plain.tokenizer.encode(LONG_PASSAGE[:600]).ids], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    [vnni] = plain.run(inputs)
    monkeypatch.setattr(runtime_module, "CPU_FLAGS", tmp_path / "nothing")
    [exact] = ModelRuntime("embed", sessions=1).run(inputs)
    np.testing.assert_array_equal(exact, vnni)
