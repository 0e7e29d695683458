"""Calls to services that may be slow, busy or away: retried with backoff, stopped by a breaker.

Used by the adapters of such services; each says what its vendor's failures mean with a `Failure`.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import structlog

from askbook.errors import AskbookError

R = TypeVar("R")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often to try, and how long to wait between: doubling, jittered, never beyond `cap`."""

    attempts: int = 4
    base: float = 0.2
    cap: float = 5.0

    def wait(self, attempt: int) -> float:
        """Seconds after the failed attempt number `attempt` (from 1)."""
        longest = min(self.cap, self.base * 2 ** (attempt - 1))
        # Jitter spreads callers that failed together; half of the wait is certain.
        return longest * (0.5 + 0.5 * random.random())  # noqa: S311  # not a secret


@dataclass(frozen=True, slots=True)
class Failure:
    """What a vendor's exception means: our error, and whether the same call may work a moment later."""

    error: AskbookError
    transient: bool = False
    retry_after: float | None = None


class Breaker:
    """Closed while a service answers; after `threshold` failed calls in a row, open for `rest` seconds.

    Then one call is let through: its success closes the breaker, its failure opens it again.
    """

    def __init__(
        self,
        threshold: int = 3,
        rest: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._threshold = threshold
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._opened_at = 0.0
        self._last: AskbookError | None = None
        self._probing = False

    def admit(self) -> None:
        """Let a call through, or refuse it with what the last one met."""
        if self._last is None or self._failures < self._threshold:
            return
        if self._probing or self._clock() - self._opened_at < self._rest:
            last = self._last
            raise type(last)(last.message, last.suggestion, {**last.details, "breaker": "open"})
        self._probing = True

    def succeeded(self) -> None:
        self._failures, self._last, self._probing = 0, None, False

    def failed(self, error: AskbookError) -> None:
        self._failures += 1
        self._last, self._opened_at, self._probing = error, self._clock(), False

    def abandoned(self) -> None:
        """The call was cancelled: it says nothing about the service."""
        self._probing = False


async def call(
    service: str,
    function: Callable[[], Awaitable[R]],
    translate: Callable[[Exception], Failure | None],
    *,
    backoff: Backoff,
    breaker: Breaker | None = None,
) -> R:
    """Run an idempotent call until it works, cannot work, or patience ends."""
    if breaker is not None:
        breaker.admit()
    try:
        result = await _persist(service, function, translate, backoff)
    except _GaveUp as outcome:
        if breaker is not None and outcome.failure.transient:
            breaker.failed(outcome.failure.error)
        elif breaker is not None:
            # A refusal is an answer: the service is there.
            breaker.succeeded()
        raise outcome.failure.error from outcome.__cause__
    except BaseException:
        if breaker is not None:
            breaker.abandoned()
        raise
    if breaker is not None:
        breaker.succeeded()
    return result


async def _persist(
    service: str,
    function: Callable[[], Awaitable[R]],
    translate: Callable[[Exception], Failure | None],
    backoff: Backoff,
) -> R:
    attempt = 0
    while True:
        attempt += 1
        try:
            return await function()
        except Exception as error:
            failure = translate(error)
            if failure is None:
                raise
            asked = failure.retry_after or 0.0
            if not failure.transient or attempt >= backoff.attempts or asked > backoff.cap:
                raise _GaveUp(failure) from error
            seconds = max(backoff.wait(attempt), asked)
            log.warning(
                "retrying",
                service=service,
                attempt=attempt,
                seconds=round(seconds, 2),
                code=failure.error.code,
            )
        await asyncio.sleep(seconds)


class _GaveUp(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error.message)
        self.failure = failure
