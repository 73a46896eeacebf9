"""Followers that a new leader waits for to name a partition, and for how long their fetches may be held meanwhile.

A follower names a partition that it is to follow in its next fetch to the new leader. If its last one waits there for records of other
partitions, the first acks=all produce waits with it (in Kafka for `replica.fetch.wait.max.ms`). So what waits is answered when a
leadership begins, and for a while after that all is answered soon: the follower may hear of its role later than the leader. Each fetch may
be held twice as long as the one before: where thousands of partitions begin one after the other that costs no more than a few fetches.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from broker_core.seams import Clock

HELD_MS, MOST_HELD_MS = 10.0, 160.0
AWAITED_MS = 1_000.0
"""Since a leadership last began: who has not named its partition by then will not soon."""


class _Awaited(Struct):
    until_ms: float
    held_ms: float = HELD_MS


class AwaitedFollowers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._awaited: dict[int, _Awaited] = {}

    def begin(self, followers: Iterable[int]) -> list[int]:
        """Those of them that were not awaited before: what they have left here may be held for long."""
        now_ms = self._clock.monotonic_ms()
        fresh = []
        for follower in followers:
            awaited = self._awaited.get(follower)
            if awaited is None or awaited.until_ms <= now_ms:
                awaited = self._awaited[follower] = _Awaited(now_ms)
                fresh.append(follower)
            awaited.until_ms = now_ms + AWAITED_MS
        return fresh

    def hold_ms(self, follower: int) -> float | None:
        """How long its present fetch may be held; None where it is not waited for."""
        awaited = self._awaited.get(follower)
        if awaited is None:
            return None
        if awaited.until_ms <= self._clock.monotonic_ms():
            del self._awaited[follower]
            return None
        held_ms = awaited.held_ms
        awaited.held_ms = min(2 * held_ms, MOST_HELD_MS)
        return held_ms
