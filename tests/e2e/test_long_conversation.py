"""Fifteen turns with the sample book in one session: what "it" and "tell me more" mean stays clear."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

TURNS = [
    # question, the lesson it is about, words of the answer
    ("What is a VLA model?", "Vision-Language-Action Models", "trained further"),
    ("Tell me more.", "Vision-Language-Action Models", "gripper"),
    ("How does it work?", "Vision-Language-Action Models", "camera image"),
    ("What is action chunking?", "Vision-Language-Action Models", "chunk"),
    ("What is a real-time factor?", "Worlds and Physics in Gazebo Sim", "wall-clock"),
    ("How do I raise it if it is too low?", "Worlds and Physics in Gazebo Sim", "collision meshes"),
    ("What is a ROS 2 topic?", "Nodes and Topics", "named channel"),
    ("Tell me more about it.", "Nodes and Topics", "topic"),
    ("What is a URDF?", "Robot Description and Frames", "Unified Robot Description"),
    ("How does SDF compare with it?", "Worlds and Physics in Gazebo Sim", "entire scenes"),
    ("Which one can describe lights?", "Worlds and Physics in Gazebo Sim", "SDF describes"),
    ("Which stop categories may an emergency stop have?", "Perceive, Plan, Act", "0 or 1"),
    ("Tell me more about that.", "Perceive, Plan, Act", "ategory"),
    ("For how long does a tf2 buffer remember transforms?", "Robot Description", "ten seconds"),
    ("Tell me more.", "Robot Description and Frames", "buffer"),
]


async def chat(client: httpx.AsyncClient, message: str, session_id: str | None) -> dict[str, Any]:
    body = {"message": message} | ({"session_id": session_id} if session_id else {})
    response = await client.post("/chat/run", json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.spec("B40", "B65", "B74", "D8", "D13", "D32", "D38")
async def test_fifteen_turns_keep_their_references(client: httpx.AsyncClient) -> None:
    session: str | None = None
    wrong: list[tuple[str, str, list[str]]] = []
    for question, lesson, words in TURNS:
        answer = await chat(client, question, session)
        session = answer["session_id"]
        places = [citation["page_title"] for citation in answer["citations"]]
        if not places or not places[0].startswith(lesson) or words not in answer["response"]:
            wrong.append((question, answer["response"], places))
    assert wrong == []
    declined = await chat(client, "What is the capital of Australia?", session)
    assert declined["should_answer"] is False
    history = (await client.get(f"/session/{session}/history")).json()
    assert history["turn_count"] == len(TURNS) + 1
    assert [m["content"] for m in history["messages"][:-2:2]] == [turn[0] for turn in TURNS]
    assert 0 < len(history["topic_summary"]) <= 200


async def last_of(client: httpx.AsyncClient, questions: Sequence[str]) -> dict[str, Any]:
    """The answer to the last of several questions in one session."""
    answer: dict[str, Any] = {}
    for question in questions:
        answer = await chat(client, question, answer.get("session_id"))
    return answer


async def test_it_after_a_change_of_the_subject(client: httpx.AsyncClient) -> None:
    answer = await last_of(
        client,
        (
            "Which one can describe lights, URDF or SDF?",
            "Which stop categories may an emergency stop have?",
            "For how long does a tf2 buffer remember transforms?",
            "How can I make it longer?",
        ),
    )
    assert "cache_time" in answer["response"]


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        (("What is a gearbox?", "What is a real-time factor?", "How do I raise it?"), "meshes"),
        (("What is action chunking?", "What is its disadvantage?"), "blindness"),
        (("What is DDS?", "What is ROS_DOMAIN_ID for?", "What is its default?"), "default is 0"),
        (("What is a safe state?", "What is it for a drone?"), "hovers or lands"),
        (("What is odometry?", "Why does it drift?"), "small errors add up"),
        (
            ("What is a watchdog?", "What is an executor?", "Which one does rclpy.spin use?"),
            "single-threaded",
        ),
        (("What are resolution, accuracy and latency?", "What is the second one?"), "to the truth"),
        (("What are the stop categories?", "What does the second one mean?"), "after standstill"),
        (
            ("Which sensors measure distance?", "What is the weak spot of the first one?"),
            "| Depth camera | distance per pixel | 30 Hz | sunlight, shiny",
        ),
    ],
)
async def test_what_it_means_is_answered(
    client: httpx.AsyncClient, questions: tuple[str, ...], words: str
) -> None:
    assert words in (await last_of(client, questions))["response"]


@pytest.mark.parametrize(
    ("questions", "in_full"),
    [
        (
            ("What are the stop categories 0, 1 and 2?", "What does the second one do?"),
            "What does stop category 1 do?",
        ),
        (
            ("Which one can describe lights, URDF or SDF?", "What does the former describe?"),
            "What does URDF describe?",
        ),
        (
            ("What are revolute, continuous and prismatic joints?", "What is the third one?"),
            "What is a prismatic joint?",
        ),
        (
            ("What is a URDF?", "What is a gearbox?", "What does it trade?"),
            "What does a gearbox trade?",
        ),
        (
            ("What is temporal ensembling?", "Yes.", "What does it average?"),
            "What does temporal ensembling average?",
        ),
        (
            ("What is RT-2?", "What is OpenVLA?", "How fast is it?"),
            "How fast is OpenVLA?",
        ),
        (
            (
                "What is the safe state?",
                "What is a degree of freedom?",
                "How many of them has an arm?",
            ),
            "How many degrees of freedom has an arm?",
        ),
        (
            ("Is a service or an action for long tasks?", "How do I cancel the latter?"),
            "How do I cancel an action?",
        ),
    ],
)
async def test_what_points_back_finds_what_is_found_when_asked_in_full(
    client: httpx.AsyncClient, questions: tuple[str, ...], in_full: str
) -> None:
    pointed, named = await last_of(client, questions), await chat(client, in_full, None)
    assert named["should_answer"], in_full
    assert pointed["citations"][0]["chunk_id"] == named["citations"][0]["chunk_id"]


@pytest.mark.parametrize(
    "questions",
    [
        ("What is Xacro?", "Who invented it?"),
        ("What is a gearbox?", "How much does it cost?"),
        ("What are nodes, topics and services?", "What does the seventh one cost?"),
    ],
)
async def test_what_the_book_does_not_say_of_it_is_declined(
    client: httpx.AsyncClient, questions: tuple[str, ...]
) -> None:
    assert (await last_of(client, questions))["should_answer"] is False


async def test_the_row_of_a_table_that_the_second_one_is(client: httpx.AsyncClient) -> None:
    questions = ("What are the stop categories 0, 1 and 2?", "What does the second one do?")
    assert "after standstill" in (await last_of(client, questions))["response"]


@pytest.mark.parametrize(
    ("questions", "word"),
    [
        (("What is a ROS 2 node?", "how is it used?"), "node"),
        (("What is a URDF?", "and why does it matter?"), "URDF"),
        (("What is action chunking?", "Why is that useful?"), "chunk"),
    ],
)
async def test_who_asks_on_hears_something_else_of_the_same(
    client: httpx.AsyncClient, questions: tuple[str, str], word: str
) -> None:
    first = await chat(client, questions[0], None)
    second = await chat(client, questions[1], first["session_id"])
    assert second["should_answer"]
    assert word in second["response"]
    heard = {citation["quote"] for citation in first["citations"]}
    assert not heard & {citation["quote"] for citation in second["citations"]}


@pytest.mark.parametrize("question", ["the second one", "Tell me about the first of these."])
async def test_what_points_at_nothing_is_told(client: httpx.AsyncClient, question: str) -> None:
    answer = await last_of(client, ("What is an action?", question))
    assert answer["should_answer"] is False
    assert answer["citations"] == answer["nearest"] == []
    assert answer["response"].startswith("It is not clear what “the ")
    assert "Ask again with its name." in answer["metrics"]["reason"]


async def test_who_thanks_hears_one_thing(client: httpx.AsyncClient) -> None:
    answer = await last_of(client, ("What is an action?", "thanks!"))
    assert answer["should_answer"] is False
    assert answer["response"] == answer["metrics"]["reason"]
    assert answer["response"].startswith("Nothing was asked here.")


async def test_misspelt_words_are_answered_and_told(client: httpx.AsyncClient) -> None:
    said = ("For how long does a tf2 bufer remember transfroms?",)
    answer = await last_of(client, said)
    assert "ten seconds" in answer["response"]
    assert answer["info"] == ["Read “bufer” as “buffer”.", "Read “transfroms” as “transforms”."]


async def test_letters_that_only_a_heading_spells_out_are_answered(
    client: httpx.AsyncClient,
) -> None:
    answer = await last_of(client, ("What is QoS?",))
    assert answer["citations"][0]["section_title"] == "Quality of service"
