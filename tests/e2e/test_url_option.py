"""Commands that ask a running server, with --url or ASKBOOK_URL, where they cannot open the data directory."""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest
from command_line import COMMAND, Ended, askbook, serving

from data_directories import copy_data

IN_THE_BOOK = "Which stop categories may an emergency stop have?"
NOT_IN_THE_BOOK = "What is the capital of Australia?"


@pytest.fixture(scope="module")
def shelf(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(ingested, tmp_path_factory.mktemp("url") / "data")


@pytest.fixture(scope="module")
def address(shelf: Path) -> Iterator[str]:
    with serving(shelf) as address:
        yield address


def test_a_taken_data_directory_names_the_way_out(shelf: Path, address: str) -> None:
    refused = askbook("ask", IN_THE_BOOK, "--json", data_dir=shelf)
    assert refused.code == 3
    assert refused.json["error"] == "data_directory_busy"
    assert refused.json["details"]["url"] == address
    [offered] = re.findall(r"--url (\S+)", refused.json["suggestion"])
    asked = askbook("ask", IN_THE_BOOK, "--url", offered)
    assert asked.code == 0, asked.err
    assert "category 0 or 1" in asked.out
    assert f"{address}/read/physical-ai-robotics/" in asked.out


def test_ask_prints_and_exits_as_it_does_alone(address: str) -> None:
    whole = askbook("ask", IN_THE_BOOK, "--verbose", ASKBOOK_URL=address)
    streamed = askbook("ask", IN_THE_BOOK, "--stream", ASKBOOK_URL=address)
    assert whole.out.startswith(streamed.out)
    assert "confidence 0." in whole.out
    declined = askbook("ask", NOT_IN_THE_BOOK, "--url", address)
    assert declined.code == 1
    assert declined.out.startswith("I couldn't find that information in the book.")
    document = askbook("ask", IN_THE_BOOK, "--json", "--url", address).json
    assert document["query"] == IN_THE_BOOK
    assert document["citations"][0]["url"].startswith(address)
    assert document["sources"][0]["url"] == document["citations"][0]["url"]
    assert document["total_time_ms"] > 0
    # One question begins no conversation.
    assert "session_id" not in document
    assert httpx.get(f"{address}/sessions").json() == []


def test_search_gives_the_same_document(address: str, ingested: Path, tmp_path: Path) -> None:
    options = ("search", "emergency stop", "--top-k", "3", "--tier", "4", "--explain", "--json")
    there = askbook(*options, "--url", address)
    assert there.code == 0, there.err
    here = askbook(*options, data_dir=copy_data(ingested, tmp_path / "data"))
    served, own = there.json, here.json
    opened = [result.pop("url") for result in served["results"]]
    assert [urljoin(address, result.pop("url")) for result in own["results"]] == opened
    assert all(httpx.get(url).status_code == 200 for url in opened)
    assert served == own
    shown = askbook("search", "emergency stop", "--module", "intro", "--url", address)
    assert shown.out.startswith("1. ")


def test_chat_goes_on_in_a_session_of_the_server(address: str) -> None:
    session = str(uuid.uuid4())
    for lines, turns in ((["What is a ROS 2 topic?"], 0), (["/sources", "Tell me more"], 1)):
        done = subprocess.run(
            [*COMMAND, "chat", "--url", address, "--session", session, "--json"],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert f"Session {session}, questions so far: {turns}." in done.stderr
        assert [a["query"] for a in json.loads(done.stdout)["answers"]] == lines[-1:]
    history = httpx.get(f"{address}/session/{session}/history").json()
    assert history["turn_count"] == 2


def test_failures_are_told_as_they_are_alone(address: str, tmp_path: Path) -> None:
    def refused(*arguments: str) -> Ended:
        return askbook(*arguments, "--url", address)

    unknown = refused("ask", IN_THE_BOOK, "--book", "absent")
    assert (unknown.code, "physical-ai-robotics" in unknown.complaint) == (4, True)
    narrowed = refused("ask", IN_THE_BOOK, "--chapter-min", "2")
    assert (narrowed.code, "--chapter-min" in narrowed.complaint) == (4, True)
    assert refused("search", "x").code == 4
    away = askbook("ask", IN_THE_BOOK, "--url", "http://127.0.0.1:9")
    assert (away.code, "askbook serve" in away.complaint) == (3, True)
    wrong = askbook("ask", IN_THE_BOOK, "--url", f"{address}/assets")
    assert wrong.code in (3, 4)
    malformed = askbook("ask", IN_THE_BOOK, "--url", "here")
    assert (malformed.code, "ASKBOOK_URL" in malformed.err) == (2, True)
    # A data directory given by hand is meant, whatever the environment says.
    empty = askbook("ask", IN_THE_BOOK, data_dir=tmp_path, ASKBOOK_URL=address)
    assert "There is no book here yet." in empty.complaint


def test_the_key_is_sent_and_never_shown(tmp_path: Path) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(401)
            self.end_headers()
            body = {"error": "unauthorized", "message": "Who are you?", "suggestion": "Say."}
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        ended = askbook("ask", IN_THE_BOOK, ASKBOOK_URL=url, ASKBOOK_KEY="ab_very-secret")
        server.shutdown()
    assert seen == ["Bearer ab_very-secret"]
    assert (ended.code, ended.complaint) == (4, "askbook: Who are you? Say.")
    described = askbook("config", "--json", ASKBOOK_KEY="ab_very-secret")
    assert described.json["ASKBOOK_KEY"] == "********"


def test_feedback_is_read_beside_the_server(shelf: Path, address: str) -> None:
    answer = httpx.post(f"{address}/chat/run", json={"message": IN_THE_BOOK}, timeout=60).json()
    vote = {"session_id": answer["session_id"], "rating": "down", "comment": "Too short."}
    assert httpx.post(f"{address}/feedback", json=vote).status_code == 204
    listed = askbook("feedback", "--json", data_dir=shelf).json
    assert (listed["down"], listed["votes"][0]["comment"]) == (1, "Too short.")
    shown = askbook("feedback", data_dir=shelf)
    assert IN_THE_BOOK in shown.out
    assert "physical-ai-robotics: 0 good, 1 bad." in shown.out


def test_the_servers_log_is_json_lines_without_questions(shelf: Path, address: str) -> None:
    httpx.post(f"{address}/chat/run", json={"message": IN_THE_BOOK}, timeout=60)
    lines = (shelf.parent / "server.log").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    assert any("Uvicorn running on" in event["event"] for event in events)
    requests = [event for event in events if event["event"] == "request"]
    assert requests[-1]["route"] == "/chat/run"
    assert {"request_id", "session_id", "duration_ms", "timestamp"} <= set(requests[-1])
    assert "emergency" not in "\n".join(lines)
