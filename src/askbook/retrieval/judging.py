"""The judge reads question and passage together: how relevant, whether it answers, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from askbook.models.runtime import ModelRuntime, runtime_of

CLS, SEP = 101, 102
MAX_SPAN_TOKENS = 60


@dataclass(frozen=True, slots=True)
class Judgement:
    """Logits, and the best answer span as offsets into the passage with its margin over "no answer"."""

    relevance: float
    answerability: float
    span_start: int
    span_end: int
    span_margin: float


class Judge(Protocol):
    """Scores passages against a question."""

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]: ...

    async def close(self) -> None: ...


class BuiltinJudge:
    """askbook-judge: pairs of at most 384 tokens, on all cores."""

    def __init__(self, runtime: ModelRuntime | None = None) -> None:
        self._runtime = runtime or runtime_of("judge")

    async def judge(self, question: str, passages: Sequence[str]) -> list[Judgement]:
        return await self._runtime.map(lambda passage: self._judge(question, passage), passages)

    async def close(self) -> None:
        self._runtime.close()

    def _judge(self, question: str, passage: str) -> Judgement:
        config, tokenizer = self._runtime.card.config, self._runtime.tokenizer
        limit = int(config["max_tokens_trained"])
        asked = tokenizer.encode(question, add_special_tokens=False).ids
        asked = asked[: int(config["max_question_tokens"])]
        encoded = tokenizer.encode(passage, add_special_tokens=False)
        room = limit - len(asked) - 3
        read = encoded.ids[:room]
        ids = np.asarray([[CLS, *asked, SEP, *read, SEP]], dtype=np.int64)
        kinds = np.zeros_like(ids)
        first = len(asked) + 2
        kinds[0, first:] = 1
        scores, span = self._runtime.run(
            {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
        )
        start, end, margin = _best_span(span[0], first, first + len(read))
        offsets = encoded.offsets
        return Judgement(
            relevance=float(scores[0, 0]),
            answerability=float(scores[0, 1]),
            span_start=offsets[start - first][0] if read else 0,
            span_end=offsets[end - first][1] if read else 0,
            span_margin=margin,
        )


def _best_span(logits: NDArray[np.float32], first: int, last: int) -> tuple[int, int, float]:
    """The start ≤ end with the highest sum, at most MAX_SPAN_TOKENS long, against position 0."""
    if last <= first:
        return first, first, 0.0
    starts, ends = logits[first:last, 0], logits[first:last, 1]
    beyond = np.full(MAX_SPAN_TOKENS - 1, -np.inf, dtype=ends.dtype)
    windows = sliding_window_view(np.concatenate((ends, beyond)), MAX_SPAN_TOKENS)
    sums = starts[:, None] + windows
    start, length = divmod(int(np.argmax(sums)), MAX_SPAN_TOKENS)
    nothing = float(logits[0, 0] + logits[0, 1])
    return first + start, first + start + length, float(sums[start, length]) - nothing
