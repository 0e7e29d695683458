"""Retries, backoff and the breaker: when a call is repeated, when it is refused, when it is let through."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbook.errors import ConfigurationError, EmbedderBusy, ServiceUnavailable
from askbook.remote import Backoff, Breaker, Failure, call

QUICK = Backoff(attempts=3, base=0.001, cap=0.01)


class Away(Exception):
    pass


def away(error: Exception) -> Failure | None:
    return Failure(ServiceUnavailable("away", "wait"), True) if isinstance(error, Away) else None


def failing(times: int, error: Exception) -> tuple[Callable[[], "asyncio.Future[str]"], list[int]]:
    calls: list[int] = []

    async def function() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "done"

    return function, calls  # pyright: ignore[reportReturnType]  # a coroutine is awaitable too


@given(st.integers(1, 40), st.floats(0.001, 10.0), st.floats(0.001, 60.0))
def test_waits_grow_with_jitter_and_stay_below_the_cap(
    attempt: int, base: float, cap: float
) -> None:
    longest = min(cap, base * 2 ** (attempt - 1))
    assert longest / 2 <= Backoff(9, base, cap).wait(attempt) <= longest <= cap


async def test_repeats_until_it_works() -> None:
    function, calls = failing(2, Away())
    assert await call("x", function, away, backoff=QUICK) == "done"
    assert len(calls) == 3


async def test_gives_up_with_our_error_and_the_cause() -> None:
    cause = Away("no route")
    function, calls = failing(9, cause)
    with pytest.raises(ServiceUnavailable, match="away") as caught:
        await call("x", function, away, backoff=QUICK)
    assert caught.value.__cause__ is cause
    assert len(calls) == QUICK.attempts


async def test_what_cannot_work_is_not_repeated() -> None:
    function, calls = failing(9, Away())
    with pytest.raises(ConfigurationError):
        await call("x", function, lambda _: Failure(ConfigurationError("key")), backoff=QUICK)
    assert len(calls) == 1


async def test_foreign_errors_pass_through() -> None:
    function, calls = failing(9, KeyError("bug"))
    with pytest.raises(KeyError):
        await call("x", function, away, backoff=QUICK)
    assert len(calls) == 1


async def test_a_pause_beyond_the_cap_is_not_waited_for() -> None:
    function, calls = failing(9, Away())
    busy = Failure(EmbedderBusy("busy", retry_after=60.0), True, retry_after=60.0)
    with pytest.raises(EmbedderBusy) as caught:
        await call("x", function, lambda _: busy, backoff=QUICK)
    assert caught.value.retry_after == 60.0
    assert len(calls) == 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_the_breaker_opens_lets_one_through_and_closes() -> None:
    clock = Clock()
    breaker = Breaker(threshold=2, rest=5.0, clock=clock)
    once = Backoff(attempts=1)
    broken, calls = failing(99, Away())
    for _ in range(4):
        with pytest.raises(ServiceUnavailable):
            await call("x", broken, away, backoff=once, breaker=breaker)
    assert len(calls) == 2
    clock.now = 5.0
    gate = asyncio.Event()

    async def slow() -> str:
        await gate.wait()
        return "done"

    probe = asyncio.create_task(call("x", slow, away, backoff=once, breaker=breaker))
    await asyncio.sleep(0)
    with pytest.raises(ServiceUnavailable):
        await call("x", broken, away, backoff=once, breaker=breaker)
    assert len(calls) == 2
    gate.set()
    assert await probe == "done"
    function, _ = failing(0, Away())
    assert await call("x", function, away, backoff=once, breaker=breaker) == "done"


async def test_a_cancelled_probe_does_not_keep_the_breaker_open() -> None:
    clock = Clock()
    breaker = Breaker(threshold=1, rest=5.0, clock=clock)
    once = Backoff(attempts=1)
    broken, _ = failing(99, Away())
    with pytest.raises(ServiceUnavailable):
        await call("x", broken, away, backoff=once, breaker=breaker)
    clock.now = 6.0

    async def endless() -> str:
        await asyncio.sleep(60)
        return "never"

    probe = asyncio.create_task(call("x", endless, away, backoff=once, breaker=breaker))
    await asyncio.sleep(0)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    function, _ = failing(0, Away())
    assert await call("x", function, away, backoff=once, breaker=breaker) == "done"


async def test_a_refusal_shows_that_the_service_is_there() -> None:
    breaker = Breaker(threshold=2, rest=5.0, clock=Clock())
    once = Backoff(attempts=1)
    broken, _ = failing(99, Away())

    def refused(_: Exception) -> Failure:
        return Failure(ConfigurationError("key"))

    for translate in (away, refused, away):
        with pytest.raises((ServiceUnavailable, ConfigurationError)):
            await call("x", broken, translate, backoff=once, breaker=breaker)
    function, calls = failing(0, Away())
    assert await call("x", function, away, backoff=once, breaker=breaker) == "done"
    assert len(calls) == 1
