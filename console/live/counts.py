"""Counters of cluster, topics and brokers, kept by difference: a changed partition takes its old share out and puts its new one in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from workers.rules.partitions import DELETING, OFFLINE, UNDER_MIN_ISR, not_preferred

Key = tuple[str, Any, str]


def shares(value: dict[str, Any]) -> Iterator[tuple[Key, int]]:
    """What one partition adds to (scope, id, counter)."""
    topic, leader, assignment = value["topic"], value["leader"], value["assignment"]
    deleting = value["state"] == DELETING
    missing = [] if deleting else [r["broker_id"] for r in value["replicas"] if not r["in_isr"]]
    under = leader is not None and bool(missing)
    common = {
        "partitions": 1,
        "offline": value["state"] == OFFLINE,
        "under_min_isr": value["state"] == UNDER_MIN_ISR,
        "under_replicated": under,
        "out_of_sync_replicas": len(missing),
        "not_preferred": not deleting and not_preferred(leader, assignment),
        "deleting": deleting,
    }
    for name, amount in common.items():
        if amount:
            yield ("cluster", None, name), int(amount)
            yield ("topic", topic, name), int(amount)
    end, start = value["log_end_offset"], value["log_start_offset"]
    if end is not None:
        yield ("topic", topic, "end_sum"), end
        yield ("topic", topic, "messages"), end - (start or 0)
    if value["size_bytes"]:
        yield ("topic", topic, "size_bytes"), value["size_bytes"]
    yield from _broker_shares(value, leader, missing, under)


def _broker_shares(value: dict[str, Any], leader: int | None, missing: list[int], under: bool) -> Iterator[tuple[Key, int]]:
    for broker in value["assignment"]:
        yield ("broker", broker, "replicas"), 1
        if value["size_bytes"]:
            yield ("broker", broker, "size_bytes"), value["size_bytes"]
    for broker in missing:
        yield ("broker", broker, "out_of_sync"), 1
    if value["assignment"]:
        yield ("broker", value["assignment"][0], "preferred"), 1
    if leader is not None:
        yield ("broker", leader, "leaders"), 1
        if under:
            yield ("broker", leader, "under_replicated"), 1


class Counts:
    """The sums. `replace` is O(replicas of one partition)."""

    def __init__(self) -> None:
        self._sums: Counter[Key] = Counter()

    def get(self, scope: str, identity: Any, name: str) -> int:
        return self._sums[(scope, identity, name)]

    def replace(self, before: dict[str, Any] | None, after: dict[str, Any] | None) -> set[tuple[str, Any]]:
        """Swaps one partition's shares; returns the (scope, id) whose sums changed."""
        delta: Counter[Key] = Counter()
        for key, amount in shares(after) if after else ():
            delta[key] += amount
        for key, amount in shares(before) if before else ():
            delta[key] -= amount
        touched = set()
        for key, amount in delta.items():
            if amount:
                self._sums[key] += amount
                touched.add(key[:2])
                if not self._sums[key]:
                    del self._sums[key]
        return touched
