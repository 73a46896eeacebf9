"""Delayed operations: completed at once, by a check or by time, exactly once; bounded lists."""

from __future__ import annotations

import pytest

from broker_core.purgatory.purgatory import DelayedOperation, Purgatory
from broker_core.purgatory.timer import Timer
from broker_core.seams import TimerHandle


class Handle:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HandClock:
    """Time moves by `pass_ms` only; `timers` are what is armed."""

    def __init__(self) -> None:
        self.time_ms = 1_000.25
        self.timers: list[tuple[float, object, Handle]] = []

    def now_ms(self) -> int:
        return int(self.time_ms)

    def monotonic_ms(self) -> float:
        return self.time_ms

    def call_later(self, delay_ms: float, callback, *args: object) -> TimerHandle:  # type: ignore[no-untyped-def]
        handle = Handle()
        self.timers.append((self.time_ms + delay_ms, callback, handle))
        return handle

    @property
    def armed(self) -> int:
        return sum(not handle.cancelled for _, _, handle in self.timers)

    def pass_ms(self, duration_ms: float) -> None:
        until = self.time_ms + duration_ms
        while due := [timer for timer in self.timers if timer[0] <= until and not timer[2].cancelled]:
            timer = min(due, key=lambda each: each[0])
            self.timers.remove(timer)
            self.time_ms = max(self.time_ms, timer[0])
            timer[1]()  # type: ignore[operator]
        self.time_ms = until

    async def sleep(self, delay_ms: float) -> None:
        raise AssertionError

    async def wait_for(self, awaitable, timeout_ms: float):  # type: ignore[no-untyped-def]
        raise AssertionError


class Operation(DelayedOperation):
    def __init__(self, delay_ms: float = 100, tries_before: int = 10**9) -> None:
        super().__init__(delay_ms)
        self.ready = False
        self.tries = 0
        self.tries_before = tries_before
        self.log: list[str] = []

    def try_complete(self) -> bool:
        self.tries += 1
        return self.ready or self.tries > self.tries_before

    def on_complete(self) -> None:
        self.log.append("complete")

    def on_expiration(self) -> None:
        self.log.append("expired")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def purgatory(clock: HandClock) -> Purgatory[str]:
    return Purgatory("fetch", clock)


@pytest.mark.spec("P1")
def test_what_can_be_completed_is_answered_at_once(purgatory: Purgatory[str], clock: HandClock) -> None:
    """Nothing is watched and no timer runs for it."""
    operation = Operation()
    operation.ready = True
    assert purgatory.try_complete_else_watch(operation, ["a"])
    assert (operation.log, purgatory.watched, purgatory.delayed, clock.armed) == (["complete"], 0, 0, 0)


@pytest.mark.spec("P1")
def test_no_wait_allowed_is_answered_at_once(purgatory: Purgatory[str]) -> None:
    """With a delay of zero the answer is what there is now."""
    operation = Operation(delay_ms=0)
    assert purgatory.try_complete_else_watch(operation, ["a"])
    assert operation.log == ["complete", "expired"]


@pytest.mark.spec("P1")
def test_the_second_try_sees_what_changed_during_the_registration(purgatory: Purgatory[str], clock: HandClock) -> None:
    """Tried, watched, tried again: the second try completes it without a check ever coming."""
    operation = Operation(tries_before=1)
    assert purgatory.try_complete_else_watch(operation, ["a", "b"])
    assert (operation.tries, operation.log, purgatory.delayed, clock.armed) == (2, ["complete"], 0, 0)


def test_who_has_just_looked_has_it_watched_untried(purgatory: Purgatory[str], clock: HandClock) -> None:
    operation, hasty = Operation(), Operation(delay_ms=0)
    purgatory.watch(operation, ["a", "b"])
    assert (operation.tries, purgatory.watched, purgatory.delayed) == (0, 2, 1)
    operation.ready = True
    assert purgatory.check_and_complete("b") == 1
    assert (operation.tries, operation.log, purgatory.delayed) == (1, ["complete"], 0)
    purgatory.watch(hasty, ["a"])
    assert hasty.log == ["complete", "expired"]


@pytest.mark.spec("P2")
def test_a_check_of_any_key_completes_it_once(purgatory: Purgatory[str], clock: HandClock) -> None:
    """Watched by partition; completed under one key it is gone from the other with its next check."""
    operation = Operation()
    assert not purgatory.try_complete_else_watch(operation, ["a", "b"])
    assert (purgatory.watched, purgatory.delayed) == (2, 1)
    assert purgatory.check_and_complete("a") == 0
    operation.ready = True
    assert purgatory.check_and_complete("unknown") == 0
    assert purgatory.check_and_complete("b") == 1
    assert purgatory.check_and_complete("a") == 0
    clock.pass_ms(1_000)
    assert operation.log == ["complete"]
    assert (purgatory.watched, purgatory.delayed, purgatory.expired, purgatory.keys) == (0, 0, 0, [])


@pytest.mark.spec("P2")
def test_time_completes_what_no_check_did(purgatory: Purgatory[str], clock: HandClock) -> None:
    """Never before its time, and the timeout is told after the answer."""
    operation = Operation(delay_ms=100)
    purgatory.try_complete_else_watch(operation, ["a"])
    clock.pass_ms(99.9)
    assert operation.log == []
    clock.pass_ms(1.5)
    assert operation.log == ["complete", "expired"]
    assert (purgatory.delayed, purgatory.expired) == (0, 1)


def test_its_owner_may_complete_it_directly(purgatory: Purgatory[str], clock: HandClock) -> None:
    operation = Operation()
    purgatory.try_complete_else_watch(operation, ["a"])
    assert operation.force_complete()
    assert not operation.force_complete()
    assert purgatory.delayed == 0
    clock.pass_ms(1_000)
    assert operation.log == ["complete"]


@pytest.mark.spec("P2")
def test_completed_entries_are_purged_so_the_lists_stay_bounded(clock: HandClock) -> None:
    """Keys that are never checked again do not keep their entries: at most the interval's worth of them stays."""
    purgatory: Purgatory[str] = Purgatory("produce", clock, purge_interval=10)
    for number in range(500):
        operation = Operation()
        purgatory.try_complete_else_watch(operation, ["busy", f"quiet-{number}"])
        operation.ready = True
        purgatory.check_and_complete("busy")
        assert purgatory.watched <= 2 * 11
    assert purgatory.purges > 40
    waiting = [Operation() for _ in range(50)]
    for operation in waiting:
        purgatory.try_complete_else_watch(operation, ["busy"])
    assert purgatory.delayed == 50
    assert not any(operation.completed for operation in waiting)


def test_past_the_limit_an_operation_gets_its_timeout_at_once(clock: HandClock) -> None:
    purgatory: Purgatory[str] = Purgatory("fetch", clock, max_delayed=2)
    operations = [Operation() for _ in range(3)]
    outcomes = [purgatory.try_complete_else_watch(operation, ["a"]) for operation in operations]
    assert outcomes == [False, False, True]
    assert operations[2].log == ["complete", "expired"]


def test_a_failing_operation_does_not_fail_the_others(
    purgatory: Purgatory[str], clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Operation):
        def try_complete(self) -> bool:
            self.tries += 1
            if self.tries > 2:
                raise RuntimeError("broken")
            return False

    failing, fine = Failing(), Operation()
    purgatory.try_complete_else_watch(failing, ["a"])
    purgatory.try_complete_else_watch(fine, ["a"])
    fine.ready = True
    assert purgatory.check_and_complete("a") == 1
    assert "a delayed operation failed" in caplog.text
    clock.pass_ms(200)
    assert failing.log == ["complete", "expired"]


def test_completing_one_may_check_the_same_key_again(purgatory: Purgatory[str]) -> None:
    """An answer can lead to another append: the inner check and the outer one complete each operation once."""
    second = Operation()

    class First(Operation):
        def on_complete(self) -> None:
            super().on_complete()
            second.ready = True
            purgatory.check_and_complete("a")
            purgatory.try_complete_else_watch(third, ["a"])

    first, third = First(), Operation()
    purgatory.try_complete_else_watch(second, ["a"])
    purgatory.try_complete_else_watch(first, ["a"])
    first.ready = True
    assert purgatory.check_and_complete("a") == 1
    assert (first.log, second.log, third.log) == (["complete"], ["complete"], [])
    assert (purgatory.watched, purgatory.delayed) == (1, 1)


def test_a_key_that_goes_completes_what_waits_for_it(purgatory: Purgatory[str]) -> None:
    one, other = Operation(), Operation()
    purgatory.try_complete_else_watch(one, ["a"])
    purgatory.try_complete_else_watch(other, ["b"])
    assert purgatory.complete_all("a") == 1
    assert (one.log, other.log) == (["complete"], [])
    purgatory.close()
    assert other.log == ["complete"]


@pytest.mark.spec("P3")
def test_an_idle_timer_never_wakes_and_a_busy_one_has_one_alarm(clock: HandClock) -> None:
    """No ticking: one clock timer for the next bucket, none when nothing waits."""
    timer, fired = Timer(clock), []
    clock.pass_ms(60_000)
    assert (timer.wakeups, clock.armed) == (0, 0)
    for delay_ms in (5_000, 30_000, 700):
        timer.add(delay_ms, lambda: fired.append(clock.time_ms))
        assert clock.armed == 1
    started = clock.time_ms
    clock.pass_ms(60_000)
    assert all(0 <= each - started - wanted <= 1 for each, wanted in zip(fired, (700, 5_000, 30_000), strict=True))
    assert timer.wakeups <= 12
    assert (timer.waiting, clock.armed) == (0, 0)
