"""The timing wheels against a plain sorted list, and their promise of no idle work."""

from __future__ import annotations

import random

import pytest

from broker_core.purgatory.timing_wheel import TimerEntry, TimingWheels


def entry(deadline_ms: int) -> TimerEntry:
    return TimerEntry(deadline_ms, lambda: None)


def deadlines(entries: list[TimerEntry]) -> list[int]:
    return [each.deadline_ms for each in entries]


@pytest.mark.spec("P3")
def test_the_example_of_450_ms_goes_down_level_by_level() -> None:
    """450 ms waits in [400, 800), then in [440, 460), then in [450, 451)."""
    wheels = TimingWheels(0)
    assert wheels.add(entry(450))
    assert wheels.levels == 3
    for due_ms in (400, 440, 450):
        assert wheels.next_due_ms() == due_ms
        assert wheels.advance(due_ms - 1) == []
        fired = wheels.advance(due_ms)
    assert deadlines(fired) == [450]
    assert wheels.next_due_ms() is None


@pytest.mark.spec("P3")
def test_overflow_wheels_are_made_when_first_needed() -> None:
    """Each wheel reaches as far as a whole turn of the one below it makes a tick."""
    wheels = TimingWheels(0)
    for deadline_ms, levels in ((1, 1), (19, 1), (20, 2), (399, 2), (400, 3), (7_999, 3), (8_000, 4), (159_999, 4), (160_000, 5)):
        wheels.add(entry(deadline_ms))
        assert wheels.levels == levels, deadline_ms


def test_how_the_wheels_stand() -> None:
    """Slots are counted from the present on, however often a wheel has gone round."""
    wheels = TimingWheels(0)
    wheels.add(entry(1_450))
    wheels.advance(1_000)
    for deadline_ms in (1_003, 1_003, 1_019, 1_050):
        wheels.add(entry(deadline_ms))

    def filled() -> dict[int, dict[int, int]]:
        return {tick_ms: {slot: count for slot, count in enumerate(slots) if count} for tick_ms, slots in wheels.standing()}

    assert filled() == {1: {3: 2, 19: 1}, 20: {2: 1}, 400: {1: 1}}
    assert len(wheels.advance(1_010)) == 2
    assert filled() == {1: {9: 1}, 20: {2: 1}, 400: {1: 1}}
    assert {len(slots) for _, slots in wheels.standing()} == {20}


def test_a_deadline_that_is_not_ahead_is_refused() -> None:
    wheels = TimingWheels(100)
    assert not wheels.add(entry(100))
    assert not wheels.add(entry(7))
    assert wheels.add(entry(101))
    assert wheels.count == 1


@pytest.mark.spec("P3")
def test_nothing_is_due_while_nothing_waits() -> None:
    """An empty queue of buckets is no reason to wake up, and buckets wake only once a turn."""
    wheels = TimingWheels(0)
    assert wheels.next_due_ms() is None
    for _ in range(1_000):
        wheels.add(entry(5_000))
    wakeups = 0
    while (due_ms := wheels.next_due_ms()) is not None:
        wheels.advance(due_ms)
        wakeups += 1
    assert wakeups == 2
    assert wheels.count == 0


def test_a_cancelled_entry_never_fires_and_costs_at_most_one_wakeup() -> None:
    wheels = TimingWheels(0)
    cancelled, kept = entry(50), entry(50)
    wheels.add(cancelled)
    wheels.add(kept)
    assert wheels.cancel(cancelled)
    assert not wheels.cancel(cancelled)
    assert wheels.advance(60) == [kept]
    assert not wheels.cancel(kept)


def test_after_a_long_rest_and_a_jump_entries_still_fire_on_their_millisecond() -> None:
    wheels = TimingWheels(3)
    wheels.touch(1_000_000)
    wheels.add(entry(1_000_005))
    assert wheels.levels == 1
    assert wheels.advance(1_000_004) == []
    assert deadlines(wheels.advance(1_000_005)) == [1_000_005]
    wheels.add(entry(1_000_500))
    wheels.add(entry(1_300_000))
    assert deadlines(wheels.advance(9_000_000)) == [1_000_500, 1_300_000]


@pytest.mark.spec("P3")
def test_against_a_sorted_list() -> None:
    """Adds, cancels and steps of every size: the same entries fire, in the same millisecond, never early."""
    for seed in range(30):
        chance = random.Random(seed)
        now_ms = chance.randint(0, 10**6)
        wheels, waiting = TimingWheels(now_ms), {}
        for _ in range(400):
            match chance.choice("aaacss"):
                case "a":
                    new = entry(now_ms + int(10 ** chance.uniform(0, 6)))
                    wheels.touch(now_ms)
                    if wheels.add(new):
                        waiting[new] = None
                case "c" if waiting:
                    gone = chance.choice(list(waiting))
                    del waiting[gone]
                    assert wheels.cancel(gone)
                case _:
                    now_ms += int(10 ** chance.uniform(0, 5))
                    fired = wheels.advance(now_ms)
                    due = [each for each in waiting if each.deadline_ms <= now_ms]
                    assert set(fired) == set(due)
                    assert deadlines(fired) == sorted(deadlines(fired))
                    for each in due:
                        del waiting[each]
            assert wheels.count == len(waiting)
            due_ms = wheels.next_due_ms()
            assert not waiting or (due_ms is not None and due_ms <= min(each.deadline_ms for each in waiting))
