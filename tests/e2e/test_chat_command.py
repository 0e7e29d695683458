"""`askbook chat` as a reader uses it: typed lines, and what comes back."""

import json
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

from command_line import hear_interrupts

COMMAND = [sys.executable, "-m", "askbook", "chat"]
FIRST = "For how long does a tf2 buffer remember transforms?"
THEN = "How can I make it longer?"


def talk(
    data_dir: Path, *lines: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--data-dir", str(data_dir), *options],
        check=False,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=180,
    )


def session_of(said: str) -> list[str]:
    return re.findall(r"Session ([0-9a-f-]{36})", said)


def test_a_conversation_is_continued_by_its_session(data_dir: Path) -> None:
    first = talk(data_dir, FIRST, "/sources", "/new", "/nonsense", "", "/quit", "What is a node?")
    assert first.returncode == 0, first.stderr
    assert "ten seconds by default" in first.stdout
    assert "Asking tf2 for a transform" in first.stdout
    begun, anew = session_of(first.stderr)
    assert begun != anew
    assert "There is no command /nonsense." in first.stderr
    assert "node" not in first.stdout
    then = talk(data_dir, "/sources", THEN, options=("--session", begun))
    assert then.returncode == 0, then.stderr
    assert f"Session {begun}, questions so far: 1." in then.stderr
    assert "Nothing was asked yet." in then.stderr
    assert "cache_time" in then.stdout


def test_with_json_the_answers_are_one_document(data_dir: Path) -> None:
    session = str(uuid.uuid4())
    done = talk(data_dir, FIRST, THEN, options=("--session", session, "--json"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["session_id"] == session
    assert [answer["query"] for answer in document["answers"]] == [FIRST, THEN]
    assert {answer["session_id"] for answer in document["answers"]} == {session}


def test_what_is_no_session_is_a_bad_argument(data_dir: Path) -> None:
    done = talk(data_dir, FIRST, options=("--session", "mine"))
    assert (done.returncode, done.stdout) == (4, "")
    assert "UUID v4" in done.stderr


def test_ctrl_c_at_the_prompt_leaves(data_dir: Path) -> None:
    hear_interrupts()
    process = subprocess.Popen(
        [*COMMAND, "--data-dir", str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "Session" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
