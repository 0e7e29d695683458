"""How much slower searches are while an ingest runs in the same server: p95 against idle, alternating.

Usage: search_while_ingesting.py FOLDER [--rounds N]; FOLDER is the book that is ingested meanwhile.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

SAMPLE = Path(__file__).parents[1] / "examples" / "physical-ai-book"
QUESTIONS = (
    "How do I build my workspace?",
    "What is a ROS 2 node?",
    "How does a publisher work?",
    "What is a quality of service profile?",
    "How do I launch several nodes?",
    "simulate a robot in Gazebo",
)
SEARCHES = 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as data, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        env = {**os.environ, "ASKBOOK_BOOKS_DIR": str(options.folder.resolve().parent)}
        command = [sys.executable, "-m", "askbook"]
        subprocess.run([*command, "ingest", str(SAMPLE), "--data-dir", data], env=env, check=True)
        server = subprocess.Popen(
            [*command, "serve", "--data-dir", data, "--port", str(port)],
            env={**env, "ASKBOOK_LOG_LEVEL": "error"},
            stdout=subprocess.DEVNULL,
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as http:
                _wait_for(http)
                print(json.dumps(_measure(http, options.folder.resolve(), options.rounds)))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()


def _measure(http: httpx.Client, folder: Path, rounds: int) -> dict[str, float]:
    _searches(http)
    idle: list[float] = []
    busy: list[float] = []
    for _ in range(rounds):
        idle += _searches(http)
        body = {"path": str(folder), "mode": "recreate"}
        job = http.post("/ingestion/trigger", json=body).raise_for_status().json()
        status = f"/ingestion/status/{job['job_id']}"
        while http.get(status).json()["embedded_chunks"] == 0:
            time.sleep(0.2)
        busy += _searches(http)
        if http.get(status).json()["status"] != "running":
            raise SystemExit("The ingest ended before the searches did; give a larger book.")
        http.post(f"/ingestion/cancel/{job['job_id']}").raise_for_status()
        time.sleep(2)
    figures = {
        "idle_p50_ms": np.percentile(idle, 50),
        "idle_p95_ms": np.percentile(idle, 95),
        "ingesting_p50_ms": np.percentile(busy, 50),
        "ingesting_p95_ms": np.percentile(busy, 95),
        "p95_ratio": np.percentile(busy, 95) / np.percentile(idle, 95),
    }
    return {name: round(float(value), 2) for name, value in figures.items()}


def _searches(http: httpx.Client) -> list[float]:
    times: list[float] = []
    for number in range(SEARCHES):
        body = {"text": QUESTIONS[number % len(QUESTIONS)], "book_id": "physical-ai-robotics"}
        started = time.perf_counter()
        http.post("/search", json=body).raise_for_status()
        times.append((time.perf_counter() - started) * 1000)
    return times


def _wait_for(http: httpx.Client) -> None:
    for _ in range(240):
        try:
            if http.get("/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.25)
    raise SystemExit("The server does not start.")


if __name__ == "__main__":
    main()
