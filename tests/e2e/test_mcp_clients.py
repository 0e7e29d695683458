"""Agents use the book: the official `mcp` client and the Agents SDK, over a real server."""

import json
from typing import Any

import httpx
import pytest
from agents import Agent, RunConfig, Runner
from agents.mcp import MCPServerStreamableHttp
from agents.testing import ScriptedModel, assistant_message, function_call
from mcp import Client

from askbook.bootstrap import open_keys
from askbook.config import load_settings

pytestmark = pytest.mark.asyncio

IN_THE_BOOK = "Which stop categories may an emergency stop have?"
NOT_IN_THE_BOOK = "What is the capital of Australia?"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_are_described(served: str, mode: Any) -> None:
    async with Client(f"{served}/mcp", mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"search_book", "read_lesson", "ask_book"}
    for tool in tools.values():
        assert len(tool.description or "") > 80
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.output_schema is not None
        assert "context" not in tool.input_schema["properties"]
    assert tools["search_book"].input_schema["required"] == ["query"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_search_read_and_ask(served: str, mode: Any) -> None:
    async with Client(f"{served}/mcp", mode=mode) as client:
        found = await client.call_tool("search_book", {"query": IN_THE_BOOK, "limit": 3})
        passages: Any = found.structured_content
        assert passages is not None
        assert len(passages["passages"]) == 3
        best = passages["passages"][0]
        assert "category 0 or 1" in best["text"]
        lesson: Any = (
            await client.call_tool("read_lesson", {"parent_doc_id": best["parent_doc_id"]})
        ).structured_content
        assert best["text"] in lesson["text"]
        assert lesson["next_chunk"] is None
        answer: Any = (
            await client.call_tool("ask_book", {"question": IN_THE_BOOK})
        ).structured_content
        assert answer["is_in_the_book"] is True
        assert f"[1]({answer['citations'][0]['url']})" in answer["answer"]
        declined: Any = (
            await client.call_tool("ask_book", {"question": NOT_IN_THE_BOOK})
        ).structured_content
        assert (declined["is_in_the_book"], declined["citations"]) == (False, [])
    async with httpx.AsyncClient() as http:
        for url in (best["url"], lesson["url"], answer["citations"][0]["url"]):
            assert (await http.get(url)).status_code == 200


async def test_a_failed_call_says_what_to_do(served: str) -> None:
    async with Client(f"{served}/mcp") as client:
        for tool, arguments, said in (
            ("ask_book", {"question": IN_THE_BOOK, "book_id": "absent"}, "physical-ai-robotics"),
            ("search_book", {"query": " "}, "Write what you want to know"),
            ("read_lesson", {"parent_doc_id": "none"}, "Search again"),
            ("search_book", {"query": "x", "limit": 21}, "less than or equal to 20"),
        ):
            failed = await client.call_tool(tool, arguments)
            assert failed.is_error
            assert said in str(failed.content[0])
            assert "Traceback" not in str(failed.content)


async def test_a_long_lesson_comes_in_pieces(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from askbook.api import book_tools

    async with Client(f"{served}/mcp") as client:
        found: Any = (
            await client.call_tool("search_book", {"query": IN_THE_BOOK})
        ).structured_content
        wanted = {"parent_doc_id": found["passages"][0]["parent_doc_id"]}
        whole: Any = (await client.call_tool("read_lesson", wanted)).structured_content
        monkeypatch.setattr(book_tools, "LESSON_LENGTH", 500)
        texts: list[str] = []
        start: int | None = 0
        while start is not None:
            part: Any = (
                await client.call_tool("read_lesson", {**wanted, "from_chunk": start})
            ).structured_content
            texts.append(part["text"])
            start = part["next_chunk"]
        beyond = await client.call_tool("read_lesson", {**wanted, "from_chunk": 999})
    assert len(texts) > 2
    assert "\n\n".join(texts) == whole["text"]
    assert beyond.is_error


async def test_an_agent_answers_with_the_tools(served: str) -> None:
    model = ScriptedModel(
        [
            [function_call("ask_book", {"question": IN_THE_BOOK}, call_id="1")],
            [assistant_message("Category 0 or 1.")],
        ]
    )
    async with MCPServerStreamableHttp(
        {"url": f"{served}/mcp"}, client_session_timeout_seconds=60, use_structured_content=True
    ) as tools:
        agent = Agent(name="student", model=model, mcp_servers=[tools])
        quiet = RunConfig(tracing_disabled=True)
        result = await Runner.run(agent, IN_THE_BOOK, run_config=quiet)
    assert result.final_output == "Category 0 or 1."
    [output] = [item for item in result.new_items if item.type == "tool_call_output_item"]
    assert "category 0 or 1" in json.loads(str(output.output))["answer"]


async def test_it_answers_without_sessions_and_to_its_own_names_only(served: str) -> None:
    async with httpx.AsyncClient(base_url=served, headers=HEADERS) as http:
        first = await http.post("/mcp", json=INITIALIZE)
        assert first.status_code == 200
        assert "mcp-session-id" not in first.headers
        assert first.json()["result"]["serverInfo"]["name"] == "askbook"
        assert "data" in first.json()["result"]["instructions"]
        assert (await http.get("/mcp")).status_code == 405
        foreign = await http.post("/mcp", json=INITIALIZE, headers={"Host": "evil.example"})
        assert foreign.status_code == 401
        page = await http.post("/mcp", json=INITIALIZE, headers={"Origin": "https://evil.example"})
        assert page.status_code == 401
        own = await http.post("/mcp", json=INITIALIZE, headers={"Origin": served})
        assert own.status_code == 200


@pytest.mark.parametrize(
    ("host", "allowed", "status"),
    [
        ("127.0.0.1", "", 421),
        ("127.0.0.1", "other.example, books.example", 200),
        ("0.0.0.0", "", 200),
    ],
)
async def test_further_names_can_be_allowed(
    serve: Any, tmp_path: Any, host: str, allowed: str, status: int
) -> None:
    settings = load_settings(data_dir=tmp_path, host=host, allowed_hosts=allowed)
    async with open_keys(settings) as (keys, _):
        _, key = await keys.create("agent")
    async with serve(settings) as http:
        named = {**HEADERS, "Host": "books.example:8321", "Authorization": f"Bearer {key}"}
        answer = await http.post("/mcp", json=INITIALIZE, headers=named)
    assert answer.status_code == status
