"""Followers that a new leader has not heard of yet, and for how long their other fetches may be held meanwhile.

A follower names a partition that it is to follow in its next fetch to the new leader. If its last one waits there for records of other
partitions, the first acks=all produce waits with it (in Kafka for `replica.fetch.wait.max.ms`). So what waits is answered when a
leadership begins, and until the follower has named the partition it is answered soon: it may hear of its role later than the leader.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker_core.model import TopicPartition
from broker_core.seams import Clock

HELD_MS = 20.0
"""A fetch of a follower that is waited for."""
AWAITED_MS = 1_000.0
"""From the beginning of the leadership: who has not fetched by then will not soon."""


class AwaitedFollowers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[int, dict[TopicPartition, float]] = {}
        """By follower and partition, what began first first."""

    def begin(self, tp: TopicPartition, followers: Iterable[int]) -> None:
        until_ms = self._clock.monotonic_ms() + AWAITED_MS
        for follower in followers:
            awaited = self._until.setdefault(follower, {})
            awaited.pop(tp, None)
            awaited[tp] = until_ms

    def heard(self, tp: TopicPartition, follower: int) -> None:
        """It has fetched the partition from its leader."""
        awaited = self._until.get(follower)
        if awaited is not None:
            awaited.pop(tp, None)

    def is_awaited(self, follower: int) -> bool:
        awaited = self._until.get(follower)
        while awaited:
            tp = next(iter(awaited))
            if awaited[tp] > self._clock.monotonic_ms():
                return True
            del awaited[tp]
        self._until.pop(follower, None)
        return False
