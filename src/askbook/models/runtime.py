"""Runs a built-in model: one text per call, one single-threaded session per core, off the event loop.

Dynamic int8 makes a result depend on what else is in its batch; alone it is bit-identical every time,
and cheapest. Parallelism therefore comes from sessions, not from batches.
"""

import asyncio
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from askbook.models import ModelCard, ModelName, load_card, load_tokenizer, load_weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")
R = TypeVar("R")
Tokens = NDArray[np.int64]

BACKGROUND_NICENESS = 10
CPU_FLAGS = Path("/proc/cpuinfo")


class ModelRuntime:
    """A built-in model, loaded at first use and shared by all callers."""

    def __init__(self, name: ModelName, sessions: int | None = None) -> None:
        self._name: ModelName = name
        self._sessions = sessions or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._local = threading.local()
        self._weights: bytes | None = None
        self._tokenizer: Tokenizer | None = None
        self._executors: dict[bool, ThreadPoolExecutor] = {}
        self._free: SimpleQueue[Any] = SimpleQueue()
        self._begun: list[Future[None]] = []

    @cached_property
    def card(self) -> ModelCard:
        return load_card(self._name)

    @property
    def tokenizer(self) -> "Tokenizer":
        """The model's tokenizer, with neither padding nor truncation."""
        with self._lock:
            if self._tokenizer is None:
                from tokenizers import Tokenizer

                tokenizer = Tokenizer.from_str(load_tokenizer(self._name))
                tokenizer.no_padding()
                tokenizer.no_truncation()
                self._tokenizer = tokenizer
            return self._tokenizer

    def run(self, inputs: dict[str, Tokens]) -> list[NDArray[np.float32]]:
        """One forward pass, on a session that nobody else uses meanwhile."""
        session = self._free_session()
        try:
            return session.run(None, inputs)
        finally:
            self._free.put(session)

    def begin(self, sessions: int) -> None:
        """Load the model and open sessions on its own threads, while the caller does something else.

        What fails there fails again, and is told, when the model is used.
        """
        executor = self._executor(background=False)
        self._begun = [
            executor.submit(self._get_ready) for _ in range(min(sessions, self._sessions))
        ]

    async def map(
        self, function: Callable[[T], R], items: Sequence[T], *, background: bool = False
    ) -> list[R]:
        """Apply `function` (which calls `run`) to every item, one per call, on all sessions.

        Background work has threads of its own, so that what a reader waits for is not queued behind an
        ingest. Once this process has such readers, it also yields the processor to them.
        """
        if not items:
            return []
        if self._begun:
            # Sessions on their way are waited for, not opened once more.
            begun, self._begun = self._begun, []
            await asyncio.gather(*map(asyncio.wrap_future, begun), return_exceptions=True)
        call = partial(self._yielding, function) if background else function
        shared = _Shared(call, items)
        loop, executor = asyncio.get_running_loop(), self._executor(background)
        threads = min(len(items), self._sessions)
        try:
            await asyncio.gather(
                *(loop.run_in_executor(executor, shared.work) for _ in range(threads))
            )
        finally:
            shared.halt()
        return shared.results

    def close(self) -> None:
        with self._lock:
            executors = list(self._executors.values())
            self._executors.clear()
        for executor in executors:
            executor.shutdown(wait=True, cancel_futures=True)

    def _get_ready(self) -> None:
        self._free.put(self._opened())
        self.tokenizer.encode("ready")

    def _free_session(self) -> Any:
        try:
            return self._free.get_nowait()
        except Empty:
            return self._opened()

    def _opened(self) -> Any:
        with self._lock:
            if self._weights is None:
                self._weights = load_weights(self._name)
        return _new_session(self._weights)

    def _executor(self, background: bool) -> ThreadPoolExecutor:
        with self._lock:
            if background not in self._executors:
                name = f"model-{self._name}-{'background' if background else 'now'}"
                self._executors[background] = ThreadPoolExecutor(self._sessions, name)
            return self._executors[background]

    def _yielding(self, function: Callable[[T], R], item: T) -> R:
        if False in self._executors and not getattr(self._local, "yields", False):
            self._local.yields = True
            _lower_priority()
        return function(item)


class _Shared(Generic[T, R]):
    """Items that several threads work off; the event loop hears of each thread's end, not of each item."""

    def __init__(self, function: Callable[[T], R], items: Sequence[T]) -> None:
        self._function = function
        self._items = items
        self._left = SimpleQueue[int]()
        for index in range(len(items)):
            self._left.put(index)
        self._done: dict[int, R] = {}

    @property
    def results(self) -> list[R]:
        return [self._done[index] for index in range(len(self._items))]

    def work(self) -> None:
        with suppress(Empty):
            while True:
                index = self._left.get_nowait()
                self._done[index] = self._function(self._items[index])

    def halt(self) -> None:
        """Leave the rest: nobody waits for it any more."""
        with suppress(Empty):
            while True:
                self._left.get_nowait()


_begun: dict[ModelName, ModelRuntime] = {}


def begin_loading(name: ModelName, sessions: int) -> None:
    """Start on a model before the parts that will use it are even imported."""
    _begun[name] = ModelRuntime(name)
    _begun[name].begin(sessions)


def runtime_of(name: ModelName) -> ModelRuntime:
    """The model whose loading has begun, or a new one."""
    return _begun.pop(name, None) or ModelRuntime(name)


def _lower_priority() -> None:
    """Of the calling thread. Linux alone counts it by thread; elsewhere nothing is changed."""
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, min(19, now + BACKGROUND_NICENESS))


def adds_products_exactly() -> bool:
    """Tell whether the CPU is known to have VNNI, which adds int8 products in 32 bits.

    Others add two of them in 16 bits, which overflow, unless the session forbids it. Where the CPU does not tell, it
    is taken for one of them: that costs time and no correctness.
    """
    try:
        flags = CPU_FLAGS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "avx512_vnni" in flags or "avx_vnni" in flags


def _new_session(weights: bytes) -> Any:
    # Imported by name, at first use: it takes a while and ships no types.
    onnxruntime: Any = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    exact = "0" if adds_products_exactly() else "1"
    options.add_session_config_entry("session.x64quantprecision", exact)
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
