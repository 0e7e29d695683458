"""Search over the sample book: embed, rank twice, fuse, judge, and show only what is visible."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askbook.bootstrap import Askbook, Scope
from askbook.config import load_settings
from askbook.errors import EmbedderMismatch, InvalidInput, NotFound
from askbook.retrieval.history import Message
from askbook.retrieval.query import SearchResult
from askbook.retrieval.search import JUDGED

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION = "Why do I receive nothing from the lidar driver?"


async def find(askbook: Askbook, text: str = QUESTION, **given: Any) -> Sequence[SearchResult]:
    scope = Scope(**given.pop("scope", {}))
    _, context = await askbook.search(text, scope, **given)
    return context.results


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_results_are_ranked_distinct_and_in_bounds(askbook: Askbook, mode: Any) -> None:
    results = await find(askbook, top_k=20, mode=mode)
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    assert len({result.chunk_id for result in results}) == len(results)
    assert len({result.chunk.metadata.content_hash for result in results}) == len(results)
    for one, other in pairwise(results):
        assert (-one.fused, one.chunk_id) < (-other.fused, other.chunk_id)
    assert all(0.0 <= result.score <= 1.0 for result in results)


async def test_dense_results_are_ordered_by_cosine(askbook: Askbook) -> None:
    results = await find(askbook, top_k=20, mode="dense")
    scores = [result.score for result in results]
    assert scores == sorted(scores, reverse=True)
    query = await askbook.embedder.embed_query(QUESTION)
    for result in results[:5]:
        [passage] = await askbook.embedder.embed_passages([result.chunk.embedded_text])
        assert result.score == pytest.approx(float(query @ passage), abs=1e-4)


async def test_sparse_results_hold_a_word_of_the_question(askbook: Askbook) -> None:
    results = await find(askbook, "ROS_DOMAIN_ID", mode="sparse")
    assert results
    assert "ROS_DOMAIN_ID" in results[0].chunk.embedded_text
    assert await find(askbook, "xyzzyqwert", mode="sparse") == ()


async def test_the_judge_looks_at_the_best_and_they_stay_ahead(askbook: Askbook) -> None:
    results = await find(askbook, top_k=12)
    judged = [result.explanation.judged is not None for result in results]
    assert judged == [True] * JUDGED + [False] * (12 - JUDGED)
    # What the judge saw is ordered by its rank and the judge's word together, not by rank alone.
    [before] = [[r.chunk_id for r in results[:JUDGED]]]
    _, dense = await askbook.search(QUESTION, top_k=12, mode="dense")
    assert before != [result.chunk_id for result in dense.results[:JUDGED]]


@pytest.mark.parametrize(("wrong", "right"), [("drivre", "driver"), ("lidra", "lidar")])
async def test_a_misspelt_word_is_read_as_the_book_s(
    askbook: Askbook, wrong: str, right: str
) -> None:
    _, context = await askbook.search(QUESTION.replace(right, wrong))
    assert context.query == QUESTION.replace(right, wrong)
    assert context.asked == QUESTION
    assert context.info == (f"Read “{wrong}” as “{right}”.",)
    assert [r.chunk_id for r in context.results] == [r.chunk_id for r in await find(askbook)]


async def test_a_misspelt_word_of_an_earlier_question_is_read_so_too(askbook: Askbook) -> None:
    history = (Message(role="user", content="What does a lidar drivre publish?"),)
    _, context = await askbook.search("Where does it run?", history=history)
    assert dict(context.spellings) == {"drivre": "driver"}
    assert "driver" in context.asked


@pytest.mark.parametrize(
    "text",
    [
        QUESTION,
        "How do I bake bread from sourdough?",
        "What does `drivre` print?",
        "Was ist ein guter Treiber für diesen Zweck?",
        "xyzzyqwert",
    ],
)
async def test_no_other_word_is_read_as_another(askbook: Askbook, text: str) -> None:
    _, context = await askbook.search(text)
    assert (dict(context.spellings), context.asked) == ({}, text)


@pytest.mark.parametrize(("one", "other"), [("ROS2", "ROS 2"), ("tf 2", "tf2")])
async def test_a_name_and_its_number_are_found_together_and_apart(
    askbook: Askbook, one: str, other: str
) -> None:
    found = await find(askbook, one, mode="sparse")
    assert any(one in r.chunk.embedded_text or other in r.chunk.embedded_text for r in found[:2])


@pytest.mark.parametrize("top_k", [1, 3, 20, 100])
async def test_as_many_results_as_asked_for(askbook: Askbook, top_k: int) -> None:
    total = await askbook.index.count("physical-ai-robotics")
    results = await find(askbook, top_k=top_k, mode="dense")
    assert len(results) == min(top_k, total)


async def test_the_best_stay_the_best_when_fewer_are_asked_for(askbook: Askbook) -> None:
    many = [result.chunk_id for result in await find(askbook, top_k=5)]
    few = [result.chunk_id for result in await find(askbook, top_k=2)]
    assert few == many[:2]


@pytest.mark.parametrize(
    ("scope", "field", "allowed"),
    [
        ({"hardware_tier": 1}, "hardware_tier", {1}),
        ({"hardware_tier": 2}, "hardware_tier", {1, 2}),
        ({"module": "isaac"}, "module", {"isaac"}),
        ({"module": "gazebo"}, "module", {"simulation"}),
        ({"chapter_min": 2, "chapter_max": 3}, "chapter", {2, 3}),
        ({"chapter_max": 1}, "chapter", {0, 1}),
        ({"lesson": 2}, "lesson", {2}),
        ({"proficiency_levels": ("A1", "A2")}, "proficiency_level", {"A1", "A2"}),
        ({"layer": "L1"}, "layer", {"L1"}),
    ],
)
async def test_filters_hold(
    askbook: Askbook, scope: dict[str, Any], field: str, allowed: set[Any]
) -> None:
    results = await find(askbook, scope=scope, top_k=50)
    assert results
    assert {getattr(result.chunk.metadata, field) for result in results} <= allowed


async def test_what_a_filter_excludes_is_what_it_must(askbook: Askbook) -> None:
    chunks = [chunk async for chunk in askbook.library.export("physical-ai-robotics")]
    expected = {
        c.id for c in chunks if c.metadata.module == "ros2" and c.metadata.hardware_tier <= 1
    }
    results = await find(
        askbook, scope={"module": "ros2", "hardware_tier": 1}, top_k=100, mode="dense"
    )
    assert {result.chunk_id for result in results} == expected


async def test_a_lesson_can_be_searched_alone(askbook: Askbook) -> None:
    [first, *_] = await find(askbook)
    parent = first.chunk.metadata.parent_doc_id
    results = await find(askbook, scope={"parent_doc_id": parent}, top_k=100, mode="dense")
    assert len(results) == first.chunk.metadata.total_chunks
    assert {result.chunk.metadata.parent_doc_id for result in results} == {parent}


async def test_unknown_names_are_told(askbook: Askbook) -> None:
    with pytest.raises(NotFound, match="Known books: physical-ai-robotics"):
        await find(askbook, scope={"book_id": "absent"})
    with pytest.raises(InvalidInput, match="intro, ros2, simulation, isaac, vla"):
        await find(askbook, scope={"module": "cooking"})


async def test_concurrent_searches_agree(askbook: Askbook) -> None:
    alone = [result.chunk_id for result in await find(askbook)]
    together = await asyncio.gather(*(find(askbook) for _ in range(4)))
    assert all([result.chunk_id for result in results] == alone for results in together)


async def test_diversity_is_one_less_the_mean_cosine(askbook: Askbook) -> None:
    _, context = await askbook.search(QUESTION, top_k=4, mode="dense")
    vectors = await askbook.embedder.embed_passages(
        [r.chunk.embedded_text for r in context.results]
    )
    cosines = [float(np.dot(vectors[i], vectors[j])) for i in range(4) for j in range(4) if i < j]
    assert context.diversity == pytest.approx(1 - sum(cosines) / len(cosines), abs=1e-3)
    _, single = await askbook.search(QUESTION, top_k=1, mode="dense")
    assert single.diversity == 0.0


async def test_vectors_that_are_no_longer_cached_come_from_the_index(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir, judge=False)) as mine:
        _, before = await mine.search(QUESTION, top_k=4)
        await mine.cache.forget(str(mine.embedder.fingerprint), "physical-ai-robotics")
        _, after = await mine.search(QUESTION, top_k=4)
    assert before.diversity > 0.0
    assert after.diversity == pytest.approx(before.diversity, abs=1e-5)
    assert [r.score for r in after.results] == pytest.approx([r.score for r in before.results])


async def test_what_the_database_does_not_show_is_not_found(data_dir: Path) -> None:
    """The index may still hold points of a lesson that was replaced; no reader sees them."""
    async with Askbook(load_settings(data_dir=data_dir)) as mine:
        before = await find(mine, top_k=5, mode="dense")
        gone = before[0].chunk.metadata.source_file
        await mine.library.replace("physical-ai-robotics", [], {}, [gone])
        after = await find(mine, top_k=5, mode="dense")
        assert len(after) == 5
        assert gone not in {result.chunk.metadata.source_file for result in after}


class OtherEmbedder:
    """Claims to be another embedder than the one that made the book."""

    def __init__(self, embedder: Any) -> None:
        from dataclasses import replace

        self._embedder = embedder
        self.fingerprint = replace(embedder.fingerprint, revision="another")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


async def test_another_embedder_is_refused_with_the_way_out(data_dir: Path) -> None:
    from askbook.embedding.builtin import BuiltinEmbedder

    other: Any = OtherEmbedder(BuiltinEmbedder())
    async with Askbook(load_settings(data_dir=data_dir), embedder=other) as mine:
        with pytest.raises(EmbedderMismatch, match="--mode recreate"):
            await find(mine)


async def test_without_the_judge_results_come_in_fused_order(data_dir: Path) -> None:
    async with Askbook(load_settings(data_dir=data_dir, judge=False)) as mine:
        _, context = await mine.search(QUESTION)
        assert context.results
        assert all(result.explanation.judged is None for result in context.results)
        assert any("judge is off" in note for note in context.info)


async def test_the_setting_says_what_counts_as_relevant(data_dir: Path) -> None:
    for least, relevant in ((0.0, True), (1.0, False)):
        settings = load_settings(data_dir=data_dir, judge=False, min_relevance_score=least)
        async with Askbook(settings) as mine:
            _, context = await mine.search(QUESTION)
            assert context.has_relevant_results is relevant


# --- Follow-ups ---


def asked(*questions: str) -> list[Message]:
    return [Message(role="user", content=question) for question in questions]


async def test_a_follow_up_is_found_by_what_was_asked_before(askbook: Askbook) -> None:
    history = asked("What is Isaac Sim?")
    question = "What does my computer need for it?"
    alone = [r.page_title for r in await find(askbook, question)]
    followed = [r.page_title for r in await find(askbook, question, history=history)]
    assert "Isaac" in followed[0]
    assert sum("Isaac" in title for title in followed) > sum("Isaac" in title for title in alone)


async def test_a_change_of_subject_finds_the_same_page_first(askbook: Askbook) -> None:
    history = asked("What is Isaac Sim?", "Which graphics card does it need?")
    [alone, followed] = [
        (await find(askbook, QUESTION, history=said))[0].page_title for said in ((), history)
    ]
    assert followed == alone


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
async def test_a_follow_up_keeps_the_readers_filter(askbook: Askbook, mode: Any) -> None:
    history = asked("What is Isaac Sim?", "How does the Jetson cool itself?")
    scope = {"hardware_tier": 1}
    results = await find(askbook, "Tell me more", history=history, mode=mode, scope=scope)
    assert all(result.chunk.metadata.hardware_tier == 1 for result in results)
    scores = [result.fused for result in results]
    assert scores == sorted(scores, reverse=True)


async def test_an_answer_to_a_follow_up_is_about_what_was_asked_before(askbook: Askbook) -> None:
    question = "Which graphics card does it require?"
    response = await askbook.ask(question, history=asked("What does Isaac Sim need?"))
    assert response.query == question
    assert response.should_answer
    assert "Isaac" in response.sources[0].page_title


# --- What lies outside the reader's filter ---

TIER_QUESTIONS = [
    (
        "What do the characters [, ] and @ mean in an argument of the ros_gz_bridge?",
        1,
        "module simulation",
    ),
    ("Can I run Isaac Sim on an A100?", 1, "module isaac"),
    ("Why does my Jetson get slower after ten minutes?", 2, "module isaac"),
    (
        "Where does the speed limit of 0.25 m/s for tests near people come from?",
        3,
        "module vla",
    ),
]


@pytest.mark.parametrize(("question", "tier", "place"), TIER_QUESTIONS)
async def test_a_refusal_tells_where_a_higher_tier_answers(
    askbook: Askbook, question: str, tier: Any, place: str
) -> None:
    response = await askbook.ask(question, Scope(hardware_tier=tier))
    assert not response.should_answer
    [hint] = [line for line in response.info if line.startswith("Covered in Tier")]
    assert place in hint
    assert hint.endswith(f"your tier is {tier}.")
    assert hint in response.metrics.reason
    [best, *_] = (await askbook.ask(question, Scope(hardware_tier=4))).sources
    assert best.page_title in hint
    # The title may be said; nothing of the text is.
    assert not response.sources
    assert not response.citations
    assert not any(line in response.answer + hint for line in best.text.splitlines() if line)


async def test_a_refusal_tells_which_other_module_answers(askbook: Askbook) -> None:
    question = "Which stop categories may an emergency stop have?"
    response = await askbook.ask(question, Scope(module="simulation", hardware_tier=4))
    assert not response.should_answer
    assert "you asked within module simulation" in response.metrics.reason


async def test_a_refusal_of_what_the_book_never_says_points_nowhere(askbook: Askbook) -> None:
    response = await askbook.ask("What is the capital of Australia?", Scope(hardware_tier=1))
    assert not response.should_answer
    assert "Covered in" not in response.metrics.reason + " ".join(response.info)


# --- Names, letter by letter ---


@pytest.mark.parametrize("question", ["{}", "What does {} do?", "Where do I need `{}`?"])
@pytest.mark.parametrize("name", ["--symlink-install", "rclpy.spin", "/cmd_vel", "check_urdf"])
async def test_the_chunks_that_hold_a_name_come_first(
    askbook: Askbook, question: str, name: str
) -> None:
    results = await find(askbook, question.format(name))
    assert any(name in result.chunk.embedded_text for result in results[:3])
    bare = await find(askbook, name)
    assert name in bare[0].chunk.embedded_text
    scores = [result.fused for result in results]
    assert scores == sorted(scores, reverse=True)
