"""Whether every part of an installation is sound, and what to do when one is not."""

from collections.abc import Awaitable
from dataclasses import dataclass

import numpy as np

from askbook.bootstrap.askbook import Askbook
from askbook.bootstrap.parts import make_embedder, make_judge
from askbook.config import Settings
from askbook.embedding import Embedder
from askbook.embedding.builtin import BuiltinEmbedder
from askbook.errors import AskbookError, ServiceUnavailable
from askbook.models import load_reference
from askbook.retrieval.judging import BuiltinJudge, Judge


@dataclass(frozen=True, slots=True)
class Check:
    """One part, whether it is sound, and what to do when it is not."""

    part: str
    ok: bool
    finding: str
    fix: str | None = None


async def diagnose(settings: Settings) -> list[Check]:
    """Check every part of an installation without changing anything."""
    if not settings.storage.data_dir.exists():
        place = Check("data directory", True, f"{settings.storage.data_dir} is not there yet")
        return [
            place,
            await _check("embedder", _embedder_finding(make_embedder(settings))),
            await _check("judge", _judge_finding(make_judge(settings))),
        ]
    try:
        async with Askbook(settings) as askbook:
            held = Check("data directory", True, str(settings.storage.data_dir))
            return [held, *await check_parts(askbook)]
    except AskbookError as error:
        return [Check("data directory", False, error.message, error.suggestion)]


async def check_parts(askbook: Askbook) -> list[Check]:
    """Whether each part of a running askbook answers."""
    return [
        await _check("database", _database_finding(askbook)),
        await _check("index", _index_finding(askbook)),
        await _check("embedder", _embedder_finding(askbook.embedder)),
        await _check("judge", _judge_finding(askbook.judge)),
    ]


async def _check(part: str, finding: Awaitable[str]) -> Check:
    try:
        return Check(part, True, await finding)
    except AskbookError as error:
        return Check(part, False, error.message, error.suggestion)


async def _database_finding(askbook: Askbook) -> str:
    return f"{len(await askbook.library.books())} book(s)"


async def _index_finding(askbook: Askbook) -> str:
    return f"{await askbook.index.count()} chunks"


async def _embedder_finding(embedder: Embedder) -> str:
    """The built-in embedder must give the vectors its card promises."""
    if isinstance(embedder, BuiltinEmbedder):
        for entry in load_reference("embed"):
            [vector] = await embedder.embed_passages([entry["text"]])
            expected = np.asarray(entry["embedding"], dtype=np.float32)
            if float(vector @ expected) < 0.999:
                raise ServiceUnavailable(
                    f"{embedder.fingerprint} gives other vectors than its reference.",
                    "Install askbook and onnxruntime again.",
                )
    return str(embedder.fingerprint)


async def _judge_finding(judge: Judge | None) -> str:
    if judge is None:
        return "off (ASKBOOK_JUDGE)"
    if isinstance(judge, BuiltinJudge):
        for entry in load_reference("judge"):
            [found] = await judge.judge(entry["question"], [entry["passage"]])
            if abs(found.relevance - entry["relevance"]) > 0.05:
                raise ServiceUnavailable(
                    "The built-in judge gives other scores than its reference.",
                    "Install askbook and onnxruntime again.",
                )
    return "ready"
