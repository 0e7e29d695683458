"""Runs a built-in model: one text per call, one single-threaded session per core, off the event loop.

Dynamic int8 makes a result depend on what else is in its batch; alone it is bit-identical every time,
and cheapest. Parallelism therefore comes from sessions, not from batches.
"""

import asyncio
import importlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from askbook.models import ModelFiles, ModelName, load_model

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")
R = TypeVar("R")
Tokens = NDArray[np.int64]


class ModelRuntime:
    """A built-in model, loaded at first use and shared by all callers."""

    def __init__(self, name: ModelName, sessions: int | None = None) -> None:
        self._name: ModelName = name
        self._sessions = sessions or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._local = threading.local()
        self._files: ModelFiles | None = None
        self._tokenizer: Tokenizer | None = None
        self._executor: ThreadPoolExecutor | None = None

    @property
    def files(self) -> ModelFiles:
        with self._lock:
            if self._files is None:
                self._files = load_model(self._name)
            return self._files

    @property
    def tokenizer(self) -> "Tokenizer":
        """The model's tokenizer, with neither padding nor truncation."""
        files = self.files
        with self._lock:
            if self._tokenizer is None:
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_str(files.tokenizer)
                tokenizer.no_padding()
                tokenizer.no_truncation()
                self._tokenizer = tokenizer
            return self._tokenizer

    def run(self, inputs: dict[str, Tokens]) -> list[NDArray[np.float32]]:
        """One forward pass on the calling thread's own session."""
        session: Any = getattr(self._local, "session", None)
        if session is None:
            session = _new_session(self.files.weights)
            self._local.session = session
        return session.run(None, inputs)

    async def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply `function` (which calls `run`) to every item, one per call, on all sessions."""
        if not items:
            return []
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._sessions, f"model-{self._name}")
            executor = self._executor
        return await asyncio.gather(*(loop.run_in_executor(executor, function, i) for i in items))

    def close(self) -> None:
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(wait=True, cancel_futures=True)
                self._executor = None


def _new_session(weights: bytes) -> Any:
    # Imported by name, at first use: it takes a while and ships no types.
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
