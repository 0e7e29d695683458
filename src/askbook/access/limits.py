"""How often a caller may ask: so many requests in any 60 seconds, in this process or across several."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import structlog

from askbook.errors import ServiceUnavailable
from askbook.remote import Breaker

if TYPE_CHECKING:
    from limits import RateLimitItem, WindowStats

T = TypeVar("T")
log = structlog.get_logger(__name__)

WINDOW = 60
"""Seconds."""
PATIENCE = 1.0
"""Seconds that a request waits for the shared store before it is counted here."""
GLANCES = 20
"""So often a waiting request looks up within that time."""
SWEEP = 1000
"""So many new names, and those that are no longer counted are forgotten."""


@dataclass(frozen=True, slots=True)
class Charge:
    """One request on an account that may have `amount` of them within the window."""

    account: str
    amount: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go on, and how many may follow."""

    granted: bool
    limit: int
    remaining: int
    seconds: float
    """Until the oldest request leaves the window and makes room for another."""

    @property
    def retry_after(self) -> int:
        return max(1, math.ceil(self.seconds))


class Window(Protocol):
    """Counts the requests of accounts in the last 60 seconds."""

    async def take(self, charge: Charge) -> Allowance: ...

    async def close(self) -> None: ...


def client_url(url: str) -> str:
    """A store's address as the client knows it: Valkey speaks Redis' protocol."""
    return url.replace("valkey", "redis", 1) if url.startswith("valkey") else url


class Limiter:
    """Counts in a store that processes share, and in this process while that is away."""

    def __init__(self, shared: Window | None = None, own: Window | None = None) -> None:
        self._shared = shared
        self._own = own or MemoryWindow()
        self._breaker = Breaker(threshold=1)
        self._away = False

    async def take(self, charges: Sequence[Charge]) -> Allowance:
        """Charge the accounts in turn; the first that refuses decides, else the one with the least left."""
        found: list[Allowance] = []
        for charge in charges:
            allowance = await self._take(charge)
            if not allowance.granted:
                return allowance
            found.append(allowance)
        return min(found, key=lambda allowance: allowance.remaining)

    async def close(self) -> None:
        if self._shared is not None:
            await self._shared.close()
        await self._own.close()

    async def _take(self, charge: Charge) -> Allowance:
        if self._shared is not None:
            try:
                self._breaker.admit()
                allowance = await self._shared.take(charge)
            except ServiceUnavailable as error:
                self._missed(error)
            except BaseException:
                self._breaker.abandoned()
                raise
            else:
                self._breaker.succeeded()
                if self._away:
                    self._away = False
                    log.info("limits_store_is_back")
                return allowance
        return await self._own.take(charge)

    def _missed(self, error: ServiceUnavailable) -> None:
        """A store that is away costs no reader an answer; it is told once, until it is back."""
        if "breaker" not in error.details:
            self._breaker.failed(error)
        if not self._away:
            self._away = True
            log.warning("limits_store_is_away", message=error.message, instead="this process")


class MemoryWindow:
    """Counts in this process.

    The `limits` package counts in memory too, but visits every account at every request to forget the
    idle ones; here that is done once for every thousand new accounts, and a set clock changes nothing.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._taken: dict[str, deque[float]] = {}
        self._room = SWEEP

    async def take(self, charge: Charge) -> Allowance:
        now = self._clock()
        taken = self._taken.get(charge.account)
        if taken is None:
            self._sweep(now)
            taken = self._taken[charge.account] = deque()
        while taken and taken[0] <= now - WINDOW:
            taken.popleft()
        granted = len(taken) < charge.amount
        if granted:
            taken.append(now)
        seconds = taken[0] + WINDOW - now
        return Allowance(granted, charge.amount, max(0, charge.amount - len(taken)), seconds)

    async def close(self) -> None:
        self._taken.clear()

    def _sweep(self, now: float) -> None:
        self._room -= 1
        if self._room > 0:
            return
        self._room = SWEEP
        self._taken = {a: t for a, t in self._taken.items() if t and t[-1] > now - WINDOW}


class SharedWindow:
    """Counts on Valkey or Redis, for all processes that name the same one."""

    def __init__(self, url: str) -> None:
        from limits.aio.storage import RedisStorage
        from limits.aio.strategies import MovingWindowRateLimiter
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        # Once, for a connection that a restarted store has forgotten; how long to wait is counted here.
        options: dict[str, Any] = {
            "retry": Retry(NoBackoff(), 1),
            "socket_timeout": None,
            "socket_connect_timeout": None,
        }
        self._storage: Any = RedisStorage(
            # The wire is the same; the scheme chooses a client library, and one is enough.
            client_url(url),
            wrap_exceptions=True,
            implementation="redispy",
            key_prefix="askbook",
            **options,
        )
        self._limiter: MovingWindowRateLimiter = MovingWindowRateLimiter(self._storage)

    async def take(self, charge: Charge) -> Allowance:
        from limits import RateLimitItemPerSecond
        from limits.errors import StorageError

        item = RateLimitItemPerSecond(charge.amount, WINDOW)
        try:
            granted, stats = await _patiently(self._hit(item, charge.account))
        except (StorageError, OSError) as error:
            raise ServiceUnavailable(
                f"The store for limits does not answer: {type(error).__name__}.",
                "Check ASKBOOK_REDIS_URL; until it answers, each process counts for itself.",
            ) from error
        seconds = max(0.0, stats.reset_time - time.time())
        return Allowance(granted, charge.amount, max(0, stats.remaining), seconds)

    async def close(self) -> None:
        await self._storage.bridge.get_connection().aclose()

    async def _hit(self, item: "RateLimitItem", account: str) -> "tuple[bool, WindowStats]":
        granted = await self._limiter.hit(item, account)
        return granted, await self._limiter.get_window_stats(item, account)


async def _patiently(question: Coroutine[Any, Any, T]) -> T:
    """The store's answer, or TimeoutError.

    Only time in which this process could have heard it counts: after a moment of hard work the answer
    lies there unread, and a plain timeout would take the store for dead.
    """
    asking = asyncio.ensure_future(question)
    try:
        for _ in range(GLANCES):
            done, _ = await asyncio.wait({asking}, timeout=PATIENCE / GLANCES)
            if done:
                return asking.result()
        raise TimeoutError
    finally:
        asking.cancel()
