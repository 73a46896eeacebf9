"""Hierarchical timing wheels with a queue of buckets: O(1) insert and cancel, no work while nothing is due.

A wheel has `WHEEL_SIZE` buckets of one tick each. The first wheel's tick is 1 ms, so it reaches 20 ms ahead; what is
further goes into the overflow wheel, whose tick is the whole reach of the wheel below, and so on:

    level 0: tick    1 ms, reach    20 ms      level 2: tick  400 ms, reach   8 000 ms
    level 1: tick   20 ms, reach   400 ms      level 3: tick 8 000 ms, reach 160 000 ms   (made when first needed)

Example at time 0: an entry for 450 ms is beyond levels 0 and 1, so it goes into level 2's bucket [400, 800). That
bucket comes up at 400 ms; the entry, now 50 ms away, is inserted again and lands in level 1's bucket [440, 460). That
one comes up at 440 ms, and the entry moves to level 0's bucket [450, 451), which fires at 450 ms. So an entry moves
down at most once per level, never fires early, and fires exactly on its own millisecond if `advance` is called then.

Buckets that hold something wait in one heap ordered by the time they come up (`next_due_ms`): whoever drives the wheels
sleeps until then. A bucket is queued once per turn of its wheel, when its first entry for that turn comes; cancelled
entries leave it at once, and an empty bucket costs one wake-up.

Everything here is pure: the caller passes the time, in whole milliseconds of any monotonic clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

TICK_MS = 1
WHEEL_SIZE = 20


class TimerEntry:
    """One deadline; `bucket` is where it waits, None once it has fired or was cancelled."""

    __slots__ = ("bucket", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        self.deadline_ms = deadline_ms
        self.callback = callback
        self.bucket: _Bucket | None = None


class _Bucket:
    """Entries of one slot of one wheel, in order of insertion; `due_ms` is -1 while it is not queued."""

    __slots__ = ("due_ms", "entries")

    def __init__(self) -> None:
        self.due_ms = -1
        self.entries: dict[TimerEntry, None] = {}


class _Wheel:
    """`time_ms` is the present, rounded down to the tick; entries lie in (time + tick, time + reach)."""

    __slots__ = ("buckets", "reach_ms", "tick_ms", "time_ms")

    def __init__(self, tick_ms: int, now_ms: int) -> None:
        self.tick_ms = tick_ms
        self.reach_ms = tick_ms * WHEEL_SIZE
        self.time_ms = now_ms - now_ms % tick_ms
        self.buckets = [_Bucket() for _ in range(WHEEL_SIZE)]

    def advance(self, now_ms: int) -> bool:
        """Whether a tick has ended."""
        if now_ms < self.time_ms + self.tick_ms:
            return False
        self.time_ms = now_ms - now_ms % self.tick_ms
        return True

    def standing(self) -> list[int]:
        present = self.time_ms // self.tick_ms
        return [len(self.buckets[(present + slot) % WHEEL_SIZE].entries) for slot in range(WHEEL_SIZE)]


class TimingWheels:
    """All levels and their bucket queue. `count` is the number of waiting entries."""

    def __init__(self, now_ms: int) -> None:
        self._wheels = [_Wheel(TICK_MS, now_ms)]
        self._queue: list[tuple[int, int, _Bucket]] = []
        self._queued = 0
        self.count = 0

    @property
    def levels(self) -> int:
        return len(self._wheels)

    def standing(self) -> list[tuple[int, list[int]]]:
        """Of each wheel its tick in ms, and how many entries lie in each of its slots, that of the present first."""
        return [(wheel.tick_ms, wheel.standing()) for wheel in self._wheels]

    def next_due_ms(self) -> int | None:
        """When the earliest bucket comes up, or None while nothing waits."""
        return self._queue[0][0] if self._queue else None

    def touch(self, now_ms: int) -> None:
        """Moves the present to `now_ms` unless a bucket is due first: then `advance` has to come before."""
        if not self._queue or self._queue[0][0] > now_ms:
            self._move_to(now_ms)

    def add(self, entry: TimerEntry) -> bool:
        """False when the deadline is not after the present: the caller runs the entry itself."""
        if not self._place(entry):
            return False
        self.count += 1
        return True

    def cancel(self, entry: TimerEntry) -> bool:
        """False when the entry no longer waits."""
        if entry.bucket is None:
            return False
        del entry.bucket.entries[entry]
        entry.bucket = None
        self.count -= 1
        return True

    def advance(self, now_ms: int) -> list[TimerEntry]:
        """Moves the present to `now_ms`; returns the entries that are due, earlier buckets first."""
        due: list[TimerEntry] = []
        while self._queue and self._queue[0][0] <= now_ms:
            self._flush(heapq.heappop(self._queue)[2], due)
        self._move_to(now_ms)
        return due

    def _move_to(self, now_ms: int) -> None:
        for wheel in self._wheels:
            if not wheel.advance(now_ms):
                return  # nor do the larger ticks of those above end now

    def _flush(self, bucket: _Bucket, due: list[TimerEntry]) -> None:
        self._move_to(bucket.due_ms)
        bucket.due_ms = -1
        entries, bucket.entries = bucket.entries, {}
        for entry in entries:
            if not self._place(entry):
                entry.bucket = None
                self.count -= 1
                due.append(entry)

    def _place(self, entry: TimerEntry) -> bool:
        deadline_ms = entry.deadline_ms
        if deadline_ms < self._wheels[0].time_ms + TICK_MS:
            return False
        wheel = self._wheel_for(deadline_ms)
        slot = deadline_ms // wheel.tick_ms
        bucket = wheel.buckets[slot % WHEEL_SIZE]
        bucket.entries[entry] = None
        entry.bucket = bucket
        if bucket.due_ms != slot * wheel.tick_ms:
            self._enqueue(bucket, slot * wheel.tick_ms)
        return True

    def _wheel_for(self, deadline_ms: int) -> _Wheel:
        for wheel in self._wheels:
            if deadline_ms < wheel.time_ms + wheel.reach_ms:
                return wheel
        top = self._wheels[-1]
        self._wheels.append(_Wheel(top.reach_ms, self._wheels[0].time_ms))
        return self._wheel_for(deadline_ms)

    def _enqueue(self, bucket: _Bucket, due_ms: int) -> None:
        bucket.due_ms = due_ms
        self._queued += 1
        heapq.heappush(self._queue, (due_ms, self._queued, bucket))
