"""Rates over windows, tokens, and how long whoever took too much has to wait: tables of Kafka's arithmetic, and what always holds."""

from __future__ import annotations

import math
import random

import pytest

from broker_core.quotas.rate import WindowedRate, Windows, rest_ms, whole_ms
from broker_core.quotas.token_bucket import TokenBucket

pytestmark = pytest.mark.spec("N4")

KAFKAS = Windows(11, 1000.0)


def recorded(*events: tuple[float, float], windows: Windows = KAFKAS) -> WindowedRate:
    rate = WindowedRate()
    for now_ms, value in events:
        rate.record(value, now_ms, windows)
    return rate


@pytest.mark.parametrize(
    ("events", "now_ms", "expected"),
    [
        ([], 0, (0.0, 10_000)),
        ([(0, 1000)], 0, (100.0, 10_000)),
        ([(0, 500), (500, 500)], 500, (1000 / 10.5, 10_500)),
        ([(0, 500), (4_500, 500)], 4_500, (1000 / 10.5, 10_500)),
        ([(0, 1000)], 10_000, (100.0, 10_000)),
        ([(0, 1000)], 10_999, (1000 / 10.999, 10_999)),
        ([(0, 1000)], 11_000, (0.0, 10_000)),
        ([(0, 1000), (900, 1000)], 11_500, (2000 / 11.5, 11_500)),
        ([(0, 1000), (900, 1000)], 11_900, (0.0, 10_000)),
        ([(0, 1000), (0, -1000)], 0, (0.0, 10_000)),
    ],
    ids=str,
)
def test_a_rate_is_told_over_the_whole_windows_at_least(
    events: list[tuple[float, float]], now_ms: float, expected: tuple[float, float]
) -> None:
    """A sample counts until all of it is older than the windows: one whose last event is 10.999 s ago does."""
    assert recorded(*events).measure(now_ms, KAFKAS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rate", "window_ms", "limit", "expected"),
    [
        (100.0, 10_000.0, 100.0, 0.0),
        (200.0, 10_000.0, 100.0, 10_000.0),
        (150.0, 10_500.0, 100.0, 5_250.0),
        (1.0, 10_000.0, 0.0, math.inf),
        (5.0, 10_000.0, -1.0, -60_000.0),
    ],
)
def test_who_took_too_much_rests_until_the_rate_is_what_it_may_be(rate: float, window_ms: float, limit: float, expected: float) -> None:
    assert rest_ms(rate, window_ms, limit) == expected


def test_what_clients_are_told_is_a_whole_number_of_milliseconds() -> None:
    """Kafka's cast makes -1, so nothing, of what has no end; where the wait is bounded it is the bound."""
    assert [whole_ms(value) for value in (0.4, 0.5, 12.0, -3.0, math.inf, 1e12)] == [0, 1, 12, 0, 0, 2**31 - 1]
    assert (whole_ms(math.inf, 1000), whole_ms(5000.0, 1000), whole_ms(500.0, 1000)) == (1000, 1000, 500)


def average(seed: int, largest: float) -> float:
    """Of ten minutes in which a client takes up to `largest` seconds' worth at a time and waits as it is told, in shares of its limit."""
    chance = random.Random(seed)
    limit, now_ms, taken, rate = chance.uniform(10, 1e6), 0.0, 0.0, WindowedRate()
    while now_ms < 600_000:
        value = chance.uniform(0, limit * largest)
        rate.record(value, now_ms, KAFKAS)
        taken += value
        measured, window_ms = rate.measure(now_ms, KAFKAS)
        now_ms += whole_ms(rest_ms(measured, window_ms, limit)) + chance.uniform(0, 50)
    return taken / limit / now_ms * 1000


@pytest.mark.parametrize("seed", range(10))
def test_whoever_waits_as_told_keeps_to_the_limit(seed: int) -> None:
    """What is older than the windows is forgotten, so who comes back from a long rest may take ten seconds' worth again: large pieces
    pass the limit, though never twice over. It is Kafka's arithmetic."""
    assert average(seed, 0.5) == pytest.approx(1, abs=0.06)
    assert 0.9 < average(seed, 20) < 2


@pytest.mark.parametrize("seed", range(5))
def test_memory_is_bounded_and_time_told_is_within_the_windows(seed: int) -> None:
    chance = random.Random(seed)
    windows, rate, now_ms = Windows(chance.randint(1, 20), chance.uniform(1, 5000)), WindowedRate(), 0.0
    for _ in range(2000):
        now_ms += chance.expovariate(1 / windows.size_ms)
        rate.record(1.0, now_ms, windows)
        _, window_ms = rate.measure(now_ms, windows)
        assert len(rate._samples) <= windows.num + 1
        assert max(windows.whole_ms, 1.0) <= window_ms <= (windows.num + 1) * windows.size_ms * 2


def test_a_bucket_is_full_at_first_and_lends_to_whoever_is_not_in_debt() -> None:
    bucket = TokenBucket()
    assert bucket.tokens(0, 2.0, KAFKAS) == 22, "what comes in eleven windows"
    bucket.take(30, 0, 2.0, KAFKAS)
    assert bucket.tokens(0, 2.0, KAFKAS) == -8
    assert bucket.rest_ms(0, 2.0, KAFKAS) == 4000
    assert bucket.rest_ms(1000, 2.0, KAFKAS) == 3000
    assert bucket.rest_ms(4000, 2.0, KAFKAS) == 0
    assert bucket.tokens(60_000, 2.0, KAFKAS) == 22, "no more than it holds"


def test_a_bucket_follows_its_quota() -> None:
    bucket = TokenBucket()
    bucket.take(0, 0, 100.0, KAFKAS)
    assert bucket.tokens(0, 1.0, KAFKAS) == 11, "it holds less from now on"
    bucket.take(12, 0, 1.0, KAFKAS)
    assert bucket.rest_ms(0, 0.0, KAFKAS) == math.inf
