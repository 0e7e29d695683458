"""`askbook keys` as an operator uses it: beside a running server, which follows at once."""

import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from command_line import askbook, serving

from openai_chat_server import ChatServer, Say

QUESTION = "Which stop categories may an emergency stop have?"


def fetch(url: str, key: str | None = None, body: Any = None) -> tuple[int, str]:
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_keys_are_made_used_and_revoked_beside_a_running_server(data_dir: Path) -> None:
    with serving(data_dir) as address:
        assert fetch(f"{address}/info")[0] == 200
        made = askbook("keys", "create", "my app", "--json", data_dir=data_dir)
        assert made.code == 0, made.err
        key = made.json["key"]
        assert set(made.json) >= {"id", "name", "key", "scopes", "books", "tier", "rate"}
        assert (made.json["scopes"], made.json["books"]) == (["read", "chat"], None)
        assert fetch(f"{address}/info")[0] == 401
        assert fetch(f"{address}/info", key)[0] == 200
        status, text = fetch(f"{address}/chat/run", key, {"message": QUESTION})
        assert status == 200
        url = json.loads(text)["citations"][0]["url"]
        status, page = fetch(f"{address}{url}")
        assert (status, "<mark" in page) == (200, True)
        shown = askbook("keys", "list", "--json", data_dir=data_dir)
        [listed] = shown.json["keys"]
        assert (listed["id"], listed["name"], listed["revoked_at"]) == (
            made.json["id"],
            "my app",
            None,
        )
        assert key not in shown.out
        assert askbook("keys", "revoke", listed["id"], data_dir=data_dir).code == 0
        assert fetch(f"{address}/info", key)[0] == 401
        assert fetch(f"{address}{url}")[0] == 401
    ended = askbook("keys", "list", data_dir=data_dir)
    assert "revoked" in ended.out
    log = (data_dir.parent / "server.log").read_text()
    assert key not in log


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "w", "--public"], "--origin"),
        (["create", "w", "--book", "absent"], "askbook ingest"),
        (["revoke", "absent"], "keys list"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    ended = askbook("keys", *arguments, data_dir=tmp_path / "new")
    assert ended.code == 4
    assert complaint in ended.complaint


def test_the_key_alone_is_on_stdout(tmp_path: Path) -> None:
    made = askbook("keys", "create", "app", "--admin", "--rate", "5", data_dir=tmp_path / "new")
    assert made.code == 0, made.err
    assert made.out.startswith("ab_")
    assert made.out.count("\n") == 1
    assert "not shown again" in made.err
    [listed] = askbook("keys", "list", "--json", data_dir=tmp_path / "new").json["keys"]
    assert (listed["rate"], listed["scopes"]) == (5, ["read", "chat", "admin"])


def test_a_stopped_server_finishes_the_answers_it_has_begun(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "An emergency stop may be a category 0 or a category 1 stop. [1] "
    with ChatServer() as model:
        model.respond = lambda _: Say(sentence * 8, pace=0.05)
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        with serving(data_dir) as address:
            request = urllib.request.Request(
                f"{address}/chat/stream",
                data=json.dumps({"message": QUESTION}).encode(),
                headers={"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=60) as stream:
                read = [stream.readline().decode()]
                while model.at_once == 0:
                    time.sleep(0.01)
                process = int((data_dir / "lock").read_text().splitlines()[0])
                os.kill(process, signal.SIGTERM)
                stopped = time.monotonic()
                read += [line.decode() for line in stream]
                took = time.monotonic() - stopped
    assert "event: done\n" in read
    assert "event: error\n" not in read
    # The signal came while the model was still writing.
    assert took > 0.5
    assert model.left == 0
