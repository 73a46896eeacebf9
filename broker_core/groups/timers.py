"""The timers of all groups, as delayed operations in purgatories over one timing wheel (spec P2, P3).

A session's operation completes when its member is heard of, a rebalance's when all have joined or synced: in both cases the group has
stopped or replaced the timer, which is what `try_complete` looks at. If it is not completed in time, the group is told.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.groups.group import Group
from broker_core.groups.liveness import is_due
from broker_core.groups.messages import StartTimer, TimerKey, TimerKind
from broker_core.purgatory.purgatory import DelayedOperation, Purgatory
from broker_core.purgatory.timer import Timer
from broker_core.seams import Clock

WatchKey = tuple[str, TimerKey]
Ring = Callable[[Group, TimerKey, int], None]


class DelayedTimer(DelayedOperation):
    """One running timer of one group."""

    def __init__(self, group: Group, timer: StartTimer, ring: Ring) -> None:
        super().__init__(timer.delay_ms)
        self._group = group
        self._timer = timer
        self._ring = ring

    def try_complete(self) -> bool:
        return not is_due(self._group, self._timer.key, self._timer.serial)

    def on_complete(self) -> None:
        """Nothing waits for this operation but its own timeout."""

    def on_expiration(self) -> None:
        self._ring(self._group, self._timer.key, self._timer.serial)


class GroupTimers:
    def __init__(self, clock: Clock) -> None:
        timer = Timer(clock)
        self.heartbeats: Purgatory[WatchKey] = Purgatory("Heartbeat", clock, timer=timer)
        self.rebalances: Purgatory[WatchKey] = Purgatory("Rebalance", clock, timer=timer)
        self.retention: Purgatory[WatchKey] = Purgatory("GroupRetention", clock, timer=timer)

    def start(self, group: Group, timer: StartTimer, ring: Ring) -> None:
        """`ring(group, key, serial)` is called when the timer's time is up."""
        self.stop(group, timer.key)
        purgatory = self._purgatory(timer.key.kind)
        purgatory.try_complete_else_watch(DelayedTimer(group, timer, ring), [(group.group_id, timer.key)])

    def stop(self, group: Group, key: TimerKey) -> None:
        """Completes what waits under this key, if the group has indeed stopped or replaced it."""
        self._purgatory(key.kind).check_and_complete((group.group_id, key))

    def close(self) -> None:
        for purgatory in (self.heartbeats, self.rebalances, self.retention):
            purgatory.close()

    def _purgatory(self, kind: TimerKind) -> Purgatory[WatchKey]:
        if kind in (TimerKind.SESSION, TimerKind.PENDING):
            return self.heartbeats
        return self.retention if kind is TimerKind.RETENTION else self.rebalances
