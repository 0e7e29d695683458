"""So many requests in any 60 seconds, whatever the moments they come at; a store that is away stops nobody."""

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from askbook.access.limits import SWEEP, WINDOW, Allowance, Charge, Limiter, MemoryWindow
from askbook.errors import ServiceUnavailable


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.spec("D69")
@given(
    st.integers(1, 6),
    st.lists(st.floats(0, 40, allow_nan=False, allow_subnormal=False), max_size=60),
)
async def test_never_more_than_allowed_in_any_sixty_seconds(
    amount: int, pauses: list[float]
) -> None:
    clock = Clock()
    window = MemoryWindow(clock)
    granted: list[float] = []
    for pause in pauses:
        clock.now += pause
        before = [moment for moment in granted if moment > clock.now - WINDOW]
        allowance = await window.take(Charge("key", amount))
        # Granted exactly when there is room: neither too often nor too seldom.
        assert allowance.granted == (len(before) < amount)
        if allowance.granted:
            granted.append(clock.now)
            before.append(clock.now)
        assert allowance.remaining == amount - len(before)
        assert allowance.seconds == pytest.approx(before[0] + WINDOW - clock.now)
        assert allowance.limit == amount


async def test_after_the_told_time_the_next_request_is_granted() -> None:
    clock = Clock()
    window = MemoryWindow(clock)
    assert (await window.take(Charge("key", 1))).granted
    clock.now += 12.3
    refused = await window.take(Charge("key", 1))
    assert (refused.granted, refused.retry_after) == (False, 48)
    clock.now += refused.retry_after
    assert (await window.take(Charge("key", 1))).granted


async def test_accounts_are_counted_apart() -> None:
    window = MemoryWindow(Clock())
    assert (await window.take(Charge("a", 1))).granted
    assert (await window.take(Charge("b", 1))).granted
    assert not (await window.take(Charge("a", 1))).granted


async def test_accounts_that_came_once_are_forgotten() -> None:
    clock = Clock()
    window = MemoryWindow(clock)
    for n in range(20 * SWEEP):
        clock.now += 0.1
        await window.take(Charge(f"address/{n}", 5))
    assert len(window._taken) <= SWEEP + WINDOW * 10 + 1


async def test_the_first_account_that_refuses_decides_and_spares_the_next() -> None:
    limiter = Limiter()
    address, key = Charge("address", 2), Charge("key", 5)
    assert (await limiter.take([address, key])).remaining == 1
    assert (await limiter.take([address, key])).remaining == 0
    for _ in range(10):
        refused = await limiter.take([address, key])
        assert (refused.granted, refused.limit) == (False, 2)
    assert (await limiter.take([key])).remaining == 2


class Store:
    """A shared store that can be away."""

    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        self.window = MemoryWindow()

    async def take(self, charge: Charge) -> Allowance:
        self.asked += 1
        if self.away:
            raise ServiceUnavailable("away")
        return await self.window.take(charge)

    async def close(self) -> None: ...


async def test_while_the_store_is_away_this_process_counts_and_tells_it_once() -> None:
    store = Store()
    limiter = Limiter(store)
    charge = [Charge("key", 3)]
    assert (await limiter.take(charge)).remaining == 2
    store.away = True
    with structlog.testing.capture_logs() as logs:
        found = [await limiter.take(charge) for _ in range(5)]
    assert [a.granted for a in found] == [True, True, True, False, False]
    assert [entry["event"] for entry in logs] == ["limits_store_is_away"]
    # A store that failed is left alone for a while: requests do not queue up before it.
    assert store.asked == 2


async def test_a_store_that_is_back_counts_again() -> None:
    store = Store()
    limiter = Limiter(store)
    limiter._breaker._rest = 0.0
    store.away = True
    await limiter.take([Charge("key", 3)])
    store.away = False
    with structlog.testing.capture_logs() as logs:
        assert (await limiter.take([Charge("key", 3)])).remaining == 2
    assert [entry["event"] for entry in logs] == ["limits_store_is_back"]
    assert len(store.window._taken["key"]) == 1
