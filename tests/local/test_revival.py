"""When a process that ended is started again, by a clock of the test's own; and what an exit status is called."""

from __future__ import annotations

import pytest

from broker_core.local.revival import FIRST_PAUSE_MS, HUNG_STATUS, PAUSE_MS_MAX, STEADY_MS, Revival, how_it_ended
from broker_core.server.main import EXIT_HUNG


def test_the_pause_grows_to_its_bound_and_begins_anew_after_a_steady_life() -> None:
    revival, now_ms, pauses = Revival(), 0, []
    for _ in range(8):
        revival.seen_alive(now_ms)
        now_ms += STEADY_MS - 1
        revival.seen_alive(now_ms)
        pause_ms = revival.seen_ended(now_ms)
        assert pause_ms is not None
        assert not revival.due(now_ms + pause_ms - 1)
        assert revival.due(now_ms + pause_ms)
        pauses.append(pause_ms // 1000)
        now_ms += pause_ms
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    revival.seen_alive(now_ms)
    revival.seen_alive(now_ms + STEADY_MS)
    assert revival.seen_ended(now_ms + STEADY_MS) == FIRST_PAUSE_MS


def test_an_end_is_news_once() -> None:
    revival = Revival()
    assert revival.seen_ended(5) == FIRST_PAUSE_MS
    assert revival.seen_ended(1_000) is None
    assert not revival.due(2_004)
    assert revival.due(2_005)


def test_a_start_that_fails_is_tried_again_later_and_later() -> None:
    revival = Revival()
    revival.seen_ended(0)
    assert revival.could_not_start(2_000) == 2 * FIRST_PAUSE_MS
    assert not revival.due(5_999)
    assert revival.due(6_000)
    for _ in range(10):
        last = revival.could_not_start(6_000)
    assert last == PAUSE_MS_MAX


def test_one_that_is_to_stay_down_is_never_due_and_starts_with_a_clean_slate() -> None:
    revival = Revival()
    revival.seen_ended(0)
    revival.could_not_start(2_000)
    revival.stays_down()
    assert not revival.due(10**9)
    revival.seen_alive(10**9)
    assert revival.seen_ended(10**9 + 1) == FIRST_PAUSE_MS


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "how is not known"),
        (0, "exit status 0"),
        (1, "exit status 1"),
        (HUNG_STATUS, "its watchdog: the loop had stood still for 10 s"),
        (128 + 11, "signal 11, SIGSEGV"),
        (128 + 9, "signal 9, SIGKILL"),
        (128 + 100, "signal 100"),
    ],
)
def test_an_end_in_words(status: int | None, words: str) -> None:
    assert how_it_ended(status) == words


def test_the_watchdogs_status_is_the_brokers() -> None:
    assert HUNG_STATUS == EXIT_HUNG
