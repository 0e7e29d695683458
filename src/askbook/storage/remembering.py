"""What every question reads and seldom changes is read once a second, not once a question."""

import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FRESH_FOR = 1.0
"""Seconds until what another process wrote is seen; what this one writes is seen at once."""


class Remembered(Generic[K, V]):
    """Values by key, each read again when it is older than a second."""

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._known: dict[K, tuple[float, V]] = {}
        self._forgotten = 0

    async def get(self, key: K) -> V:
        known = self._known.get(key)
        now = time.monotonic()
        if known is not None and now - known[0] < FRESH_FOR:
            return known[1]
        forgotten = self._forgotten
        value = await self._read(key)
        # What was read while somebody wrote may be older than what was written.
        if forgotten == self._forgotten:
            self._known[key] = (now, value)
        return value

    def forget(self) -> None:
        self._known.clear()
        self._forgotten += 1
