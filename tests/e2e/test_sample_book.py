"""The sample book, question by question: found, answered, cited, declined."""

import re
from html import unescape
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
import pytest_asyncio

pytestmark = pytest.mark.asyncio(loop_scope="session")

Row = dict[str, Any]
Answered = list[tuple[Row, dict[str, Any]]]


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def answers(client: httpx.AsyncClient, questions: list[Row]) -> Answered:
    """The answers to all questions that need no history."""
    asked: Answered = []
    for row in questions:
        if row["kind"] in ("answerable", "off_topic", "tier"):
            response = await client.post("/chat/run", json={"message": row["question"]})
            assert response.status_code == 200, response.text
            asked.append((row, response.json()))
    return asked


def of_kind(answers: Answered, kind: str) -> Answered:
    return [(row, answer) for row, answer in answers if row["kind"] == kind]


def share(passed: list[bool]) -> float:
    return sum(passed) / len(passed)


async def test_nine_in_ten_questions_find_their_lesson(
    client: httpx.AsyncClient, questions: list[Row]
) -> None:
    missed: list[str] = []
    asked = [row for row in questions if row["kind"] == "answerable"]
    assert len(asked) >= 20
    for row in asked:
        response = await client.post("/search", json={"text": row["question"], "limit": 5})
        found = {result["source_file"] for result in response.json()["results"]}
        if not found & set(row["gold_docs"]):
            missed.append(row["qid"])
    assert len(missed) <= 0.1 * len(asked), missed


async def test_nine_in_ten_foreign_questions_are_declined(answers: Answered) -> None:
    asked = of_kind(answers, "off_topic")
    assert len(asked) >= 6
    answered = [row["question"] for row, answer in asked if answer["should_answer"]]
    assert len(answered) <= 0.1 * len(asked), answered


async def test_declining_is_not_the_rule(answers: Answered) -> None:
    """The bar above is not to be met by silence; what is wanted in general `askbook eval` measures."""
    asked = of_kind(answers, "answerable")
    declined = [row["question"] for row, answer in asked if not answer["should_answer"]]
    assert len(declined) <= 0.2 * len(asked), declined


async def test_a_refusal_is_honest_and_bare(answers: Answered) -> None:
    declined = [answer for _, answer in answers if not answer["should_answer"]]
    assert declined
    for answer in declined:
        assert answer["response"] == "I couldn't find that information in the book."
        assert (answer["sources"], answer["citations"]) == ([], [])


@pytest.mark.parametrize(
    "question",
    [
        "Was ist ein Watchdog und wann stoppt er den Roboter?",
        "Welche Kategorien darf ein Not-Halt haben?",
        "Kann ich Isaac Sim auf einer A100 ausführen?",
        "¿Qué es un watchdog y cuándo detiene el robot?",
        "¿Cuál es el valor por defecto de ROS_DOMAIN_ID?",
        "¿Quién ganó la copa del mundo?",
    ],
)
async def test_another_language_is_answered_with_doubt_and_citations_or_declined(
    client: httpx.AsyncClient, question: str
) -> None:
    answer = (await client.post("/chat/run", json={"message": question})).json()
    if answer["should_answer"]:
        assert answer["confidence_level"] == "low"
        assert answer["citations"]
        assert any("another language" in note for note in answer["info"])
    else:
        assert answer["response"] == "I couldn't find that information in the book."


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What are the stop categories?", ["| 0 |", "| 1 |", "| 2 |"]),
        (
            "Which sensors are exteroceptive?",
            ["RGB camera", "Depth camera", "2D lidar", "Ultrasonic ranger", "Force-torque sensor"],
        ),
        ("Which sensors measure distance?", ["Depth camera", "2D lidar", "Ultrasonic ranger"]),
        ("What is the weak spot of a 2D lidar?", ["2D lidar"]),
        (
            "What should I do before I switch on the robot?",
            ["1. Clear", "2. Check", "3. Limit", "4. Say", "5. Start", "6. Keep"],
        ),
    ],
)
async def test_who_asks_for_several_things_gets_all_and_who_asks_for_one_gets_one(
    client: httpx.AsyncClient, question: str, wanted: list[str]
) -> None:
    answer = (await client.post("/chat/run", json={"message": question})).json()
    lines = [line for line in answer["response"].splitlines() if re.match(r"\||\d\. ", line)]
    listed = [line for line in lines if "[1]" in line]
    assert len(listed) == len(wanted)
    assert all(words in line for words, line in zip(wanted, listed, strict=True))


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is a VLM?", "A **vision-language model** (VLM) takes images and text"),
        ("What is an IMU?", "inertial measurement unit (IMU) reports angular velocity"),
        ("what is an inertial measurement unit", "(IMU) reports angular velocity"),
        ("What is RT-2?", "The model RT-2, published by Google DeepMind in 2023"),
        ("what is rt-2", "The model RT-2, published by Google DeepMind in 2023"),
        (
            "What is the difference between a topic and a service?",
            "Topics broadcast; nobody answers.",
        ),
        (
            "What is the difference between accuracy and resolution?",
            "**Resolution** is the smallest",
        ),
        ("What is the difference between accuracy and resolution?", "**Accuracy** is how close"),
        ("What are the advantages of action chunking?", "The network is called less often"),
    ],
)
async def test_who_asks_what_something_is_hears_where_the_book_introduces_it(
    client: httpx.AsyncClient, question: str, wanted: str
) -> None:
    answer = (await client.post("/chat/run", json={"message": question})).json()
    assert wanted in answer["response"]


async def test_every_number_in_an_answer_has_its_citation(answers: Answered) -> None:
    for row, answer in answers:
        used = {int(n) for n in re.findall(r"\[(\d+)\]", answer["response"])}
        listed = [citation["n"] for citation in answer["citations"]]
        assert len(set(listed)) == len(listed), row["qid"]
        assert used == set(listed), row["qid"]
        cited = {citation["chunk_id"] for citation in answer["citations"]}
        assert {source["chunk_id"] for source in answer["sources"]} == cited, row["qid"]


async def test_every_quote_is_verbatim(answers: Answered, askbook: Any) -> None:
    cited = [c for _, answer in answers for c in answer["citations"]]
    assert cited
    ids = [citation["chunk_id"] for citation in cited]
    chunks = await askbook.library.chunks("physical-ai-robotics", ids)
    for citation in cited:
        text = chunks[citation["chunk_id"]].text
        assert citation["quote"] == text[citation["quote_start"] : citation["quote_end"]]
        assert citation["quote"].strip()


async def test_every_citation_opens_its_lesson_at_its_heading_with_the_quote_marked(
    client: httpx.AsyncClient, answers: Answered, askbook: Any
) -> None:
    cited = [(row, c) for row, answer in answers for c in answer["citations"]]
    chunks = await askbook.library.chunks(
        "physical-ai-robotics", [citation["chunk_id"] for _, citation in cited]
    )
    assert len(cited) >= 15
    for row, citation in cited:
        metadata = chunks[citation["chunk_id"]].metadata
        url = urlsplit(citation["url"])
        assert unquote(url.path) == f"/read/physical-ai-robotics/{metadata.source_file}"
        page = await client.get(citation["url"])
        assert page.status_code == 200, row["qid"]
        assert f"<title>{metadata.page_title}" in unescape(page.text), row["qid"]
        anchor = unquote(url.fragment)
        before, _, _ = page.text.partition("<mark")
        headings = re.findall(r'<h[1-6][^>]*\bid="([^"]+)"', before)
        assert anchor == (unescape(headings[-1]) if headings else ""), (row["qid"], citation)
        marked = letters(" ".join(re.findall(r"<mark[^>]*>(.*?)</mark>", page.text, re.DOTALL)))
        assert marked, row["qid"]
        quoted = letters(citation["quote"])
        # Markup of the quote (link targets, fences' titles) is not shown; its words are.
        assert overlap(quoted, marked) >= 0.8, (row["qid"], citation["quote"])


async def test_a_search_result_opens_its_lesson_with_the_passage_marked(
    client: httpx.AsyncClient,
) -> None:
    found = (await client.post("/search", json={"text": "What is a topic?", "limit": 3})).json()
    for result in found["results"]:
        page = await client.get(result["url"])
        assert page.status_code == 200, result["url"]
        assert f"<h1>{result['page_title']}" in page.text or result["page_title"] in page.text
        assert "<mark" in page.text


async def test_answers_cite_the_gold_lesson(answers: Answered) -> None:
    hits = [
        any(gold in unquote(c["url"]) for c in answer["citations"] for gold in row["gold_docs"])
        for row, answer in of_kind(answers, "answerable")
        if answer["should_answer"]
    ]
    assert share(hits) >= 0.8


async def test_a_readers_tier_hides_what_needs_more(
    client: httpx.AsyncClient, questions: list[Row]
) -> None:
    """Questions of kind `tier` are answered by lessons above the tier they name."""
    asked = [row for row in questions if row["kind"] == "tier"]
    assert asked
    for row in asked:
        body = {"text": row["question"], "limit": 20}
        low = await client.post(
            "/search", json=body | {"hardware_tier_filter": row["hardware_tier"]}
        )
        everything = await client.post("/search", json=body)
        hidden = {r["source_file"] for r in low.json()["results"]}
        shown = {r["source_file"] for r in everything.json()["results"]}
        assert not hidden & set(row["gold_docs"]), row["qid"]
        assert shown & set(row["gold_docs"]), row["qid"]
        tiers = {r["hardware_tier"] for r in low.json()["results"]}
        assert max(tiers) <= row["hardware_tier"]


async def test_the_same_question_has_the_same_answer(
    client: httpx.AsyncClient, answers: Answered
) -> None:
    row, before = of_kind(answers, "answerable")[0]
    again = (await client.post("/chat/run", json={"message": row["question"]})).json()
    for name in ("response", "confidence", "citations", "sources"):
        assert again[name] == before[name]


def letters(text: str) -> list[str]:
    plain = unescape(re.sub(r"<[^>]+>", " ", text))
    return re.findall(r"\w+", plain.lower())


def overlap(wanted: list[str], present: list[str]) -> float:
    """The share of the wanted words that are present."""
    return sum(word in set(present) for word in wanted) / max(1, len(wanted))
