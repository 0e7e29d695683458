"""Whether every part of an installation is sound, and what to do when one is not."""

import platform
import shutil
import sys
from collections.abc import Awaitable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askbook.bootstrap.askbook import Askbook
from askbook.bootstrap.parts import make_embedder, make_judge
from askbook.bootstrap.reachable import limits_finding, model_finding, served_checks
from askbook.config import Settings
from askbook.embedding import Embedder
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import (
    AskbookError,
    ConfigurationError,
    DataDirectoryBusy,
    ServiceUnavailable,
    StorageFull,
)
from askbook.models import ModelName, load_reference, load_tokenizer, load_weights
from askbook.retrieval.judging import BuiltinJudge, Judge
from askbook.storage.engine import revision_of

OLDEST_PYTHON = (3, 11)
LEAST_SPACE = 200 * 2**20
"""Bytes below which an ingest may not come to its end."""
SAME_COSINE, BROKEN_COSINE = 0.999, 0.98
"""Cosines to the reference: above the first the vectors are the same; below the second no CPU gives them."""
SAME_LOGIT, BROKEN_LOGIT = 0.05, 1.0
"""Differences of a score to the reference, likewise."""


@dataclass(frozen=True, slots=True)
class Check:
    """One part, whether it is sound, and what to do when it is not."""

    part: str
    ok: bool
    finding: str
    fix: str | None = None
    exit_code: int = 0

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "exit_code"}


async def diagnose(settings: Settings) -> list[Check]:
    """Check every part of an installation without changing anything."""
    return [
        await _check("python", _python_finding()),
        await _check("disk space", _space_finding(settings)),
        await _check("built-in models", _files_finding()),
        await _check("language model", model_finding(settings)),
        await _check("limits", limits_finding(settings)),
        *await _stored(settings),
    ]


async def check_parts(askbook: Askbook) -> list[Check]:
    """Check every part of a running askbook."""
    return [*await check_stores(askbook), *await check_models(askbook)]


async def check_stores(askbook: Askbook) -> list[Check]:
    """Check that database and index answer: what may go away while a server runs."""
    return [
        await _check("database", _database_finding(askbook)),
        await _check("index", _index_finding(askbook)),
    ]


async def check_models(askbook: Askbook) -> list[Check]:
    """Check the models' results against their cards: once a process, for they do not change in it."""
    return [
        await _check("embedder", _embedder_finding(askbook.embedder)),
        await _check("judge", _judge_finding(askbook.judge)),
    ]


async def _stored(settings: Settings) -> list[Check]:
    """The data directory and what is in it; beside a server that holds it, what the server finds."""
    place = settings.storage.data_dir
    if not place.exists():
        embedder = make_embedder(settings)
        try:
            return [
                Check("data directory", True, f"{place} is not there yet"),
                await _check("embedder", _reached_finding(embedder)),
                await _check("judge", _judge_finding(make_judge(settings))),
            ]
        finally:
            await embedder.close()
    try:
        async with Askbook(settings) as askbook:
            held = Check("data directory", True, f"{place}, writable")
            reached = await _check("embedder", _reached_finding(askbook.embedder))
            parts = await check_parts(askbook)
            return [held, *(reached if part.part == "embedder" else part for part in parts)]
    except DataDirectoryBusy as error:
        if address := error.details.get("url"):
            held = Check("data directory", True, f"{place}, held by the server at {address}")
            return [held, *[Check(**found) for found in await served_checks(str(address))]]
        return [_failed("data directory", error)]
    except AskbookError as error:
        return [_failed("data directory", error)]


async def _check(part: str, finding: Awaitable[str]) -> Check:
    try:
        return Check(part, True, await finding)
    except AskbookError as error:
        return _failed(part, error)


def _failed(part: str, error: AskbookError) -> Check:
    return Check(part, False, error.message, error.suggestion, error.exit_code)


async def _python_finding() -> str:
    if sys.version_info < OLDEST_PYTHON:
        raise ConfigurationError(
            f"Python is {platform.python_version()}, but 3.11 or newer is needed.",
            "Install askbook with a newer Python.",
        )
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


async def _space_finding(settings: Settings) -> str:
    place = settings.storage.data_dir.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < LEAST_SPACE:
        raise StorageFull(
            f"{free // 2**20} MB are free at {place}, at least {LEAST_SPACE // 2**20} are needed.",
            "Free some space, or choose another place with ASKBOOK_DATA_DIR.",
        )
    return f"{free / 2**30:.1f} GB free"


async def _files_finding() -> str:
    """The weights must be those of this release, byte by byte."""
    names: tuple[ModelName, ...] = ("embed", "judge")
    for name in names:
        load_weights(name)
        load_tokenizer(name)
    return "checksums are right"


async def _database_finding(askbook: Askbook) -> str:
    books = len(await askbook.library.books())
    return f"{books} book(s), revision {await revision_of(askbook.engine)}"


async def _index_finding(askbook: Askbook) -> str:
    return f"{await askbook.index.count()} chunks"


async def _reached_finding(embedder: Embedder) -> str:
    """An embedder must embed; one of a vendor is asked for a word."""
    if not isinstance(embedder, BuiltinEmbedder):
        await embedder.embed_query("askbook")
    return await _embedder_finding(embedder)


async def _embedder_finding(embedder: Embedder) -> str:
    """Compare the built-in embedder's vectors with those on its card.

    Other processors round a little differently: that is told, and only what no processor gives is a failure.
    """
    if not isinstance(embedder, BuiltinEmbedder):
        return str(embedder.fingerprint)
    lowest = 1.0
    for entry in load_reference("embed"):
        [vector] = await embedder.embed_passages([entry["text"]])
        lowest = min(lowest, float(vector @ np.asarray(entry["embedding"], dtype=np.float32)))
    if lowest < BROKEN_COSINE:
        raise ServiceUnavailable(
            f"{embedder.fingerprint} gives other vectors than its reference (cosine {lowest:.3f}).",
            "Install askbook and onnxruntime again.",
        )
    if lowest < SAME_COSINE:
        return f"{embedder.fingerprint}, rounded a little differently here (cosine {lowest:.4f})"
    return str(embedder.fingerprint)


async def _judge_finding(judge: Judge | None) -> str:
    """Compare the built-in judge's scores with those on its card, as for the embedder."""
    if judge is None:
        return "off (ASKBOOK_JUDGE)"
    if not isinstance(judge, BuiltinJudge):
        return "ready"
    furthest = 0.0
    for entry in load_reference("judge"):
        [found] = await judge.judge(entry["question"], [entry["passage"]])
        furthest = max(furthest, abs(found.relevance - entry["relevance"]))
    if furthest > BROKEN_LOGIT:
        raise ServiceUnavailable(
            f"The built-in judge gives other scores than its reference (off by {furthest:.2f}).",
            "Install askbook and onnxruntime again.",
        )
    if furthest > SAME_LOGIT:
        return f"ready, rounded a little differently here (scores off by {furthest:.2f})"
    return "ready"
