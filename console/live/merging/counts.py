"""Counters of cluster, topics and brokers, kept by difference: a changed partition takes its old share out and puts its new one in."""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.contract.partitions import Partition
from console.rules.partitions import DELETING, OFFLINE, STARTING, UNDER_MIN_ISR, UNKNOWN, missing, not_preferred

Key = tuple[str, Any, str]
EVERYWHERE = (
    *("partitions", "offline", "under_min_isr", "under_replicated", "out_of_sync_replicas", "not_preferred"),
    *("deleting", "starting", "unknown", "under_min_isr_moving"),
)
"""`under_min_isr_moving`: under min ISR and not under-replicated, since min.insync.replicas counts the replicas that a move adds."""
OF_TOPIC = ("end_sum", "messages", "size_bytes", "unmeasured")
"""`unmeasured`: partitions of whose log no leader tells, so that they add nothing to the other three."""


class Share(NamedTuple):
    """What one partition adds: amounts of `EVERYWHERE` to cluster and topic, of `OF_TOPIC` to its topic, the rest to brokers."""

    everywhere: tuple[int, ...]
    of_topic: tuple[int, ...]
    assignment: tuple[int, ...]
    size_bytes: int
    unmeasured: bool
    missing: tuple[int, ...]
    leader: int | None
    under: bool


NOTHING = Share((0,) * len(EVERYWHERE), (0,) * len(OF_TOPIC), (), 0, False, (), None, False)


def end_of(value: Partition) -> int | None:
    """Of its log; what consumers can read to where no more is told."""
    return value.high_watermark if value.log_end_offset is None else value.log_end_offset


def share(value: Partition) -> Share:
    leader, assignment, state = value.leader, value.assignment, value.state
    deleting = state == DELETING
    adding = value.reassigning.adding if value.reassigning else ()
    lacking = () if state in (DELETING, STARTING) else tuple(missing(value.isr, assignment, adding))
    under = leader is not None and state != UNKNOWN and bool(lacking)
    away = not deleting and not_preferred(leader, assignment)
    end, size = end_of(value), value.size_bytes or 0
    return Share(
        (
            *(1, int(state == OFFLINE), int(state == UNDER_MIN_ISR), int(under), len(lacking), int(away)),
            *(int(deleting), int(state == STARTING), int(state == UNKNOWN), int(state == UNDER_MIN_ISR and not under)),
        ),
        (0, 0, 0, 1) if end is None else (end, end - (value.log_start_offset or 0), size, 0),
        assignment,
        size,
        end is None,
        lacking,
        leader,
        under,
    )


class Counts:
    """The sums. `replace` looks at what one partition added and adds, and touches only the sums that differ."""

    def __init__(self) -> None:
        self._sums: dict[Key, int] = {}

    def get(self, scope: str, identity: Any, name: str) -> int:
        return self._sums.get((scope, identity, name), 0)

    def replace(self, before: Partition | None, after: Partition | None) -> set[tuple[str, Any]]:
        """Swaps one partition's shares; returns the (scope, id) whose sums changed."""
        old, new = share(before) if before else NOTHING, share(after) if after else NOTHING
        if old == new:
            return set()
        some = after or before
        assert some is not None
        topic = some.topic
        delta: dict[Key, int] = {}
        if old.everywhere != new.everywhere:
            for name, was, now in zip(EVERYWHERE, old.everywhere, new.everywhere, strict=True):
                if was != now:
                    delta["cluster", None, name] = delta["topic", topic, name] = now - was
        if old.of_topic != new.of_topic:
            for name, was, now in zip(OF_TOPIC, old.of_topic, new.of_topic, strict=True):
                delta["topic", topic, name] = now - was
        if old[2:] != new[2:]:
            _add_brokers(delta, old, -1)
            _add_brokers(delta, new, 1)
        if old.leader != new.leader:
            _add_leader(delta, topic, old.leader, -1)
            _add_leader(delta, topic, new.leader, 1)
        return self._apply(delta)

    def _apply(self, delta: dict[Key, int]) -> set[tuple[str, Any]]:
        sums, touched = self._sums, set()
        for key, amount in delta.items():
            if amount:
                sums[key] = sums.get(key, 0) + amount
                touched.add(key[:2])
                if not sums[key]:
                    del sums[key]
        return touched


def _add_leader(delta: dict[Key, int], topic: str, leader: int | None, amount: int) -> None:
    """How many of a topic's partitions each broker leads."""
    if leader is not None:
        delta["leads", (topic, leader), "leaders"] = delta.get(("leads", (topic, leader), "leaders"), 0) + amount


def _add_brokers(delta: dict[Key, int], share: Share, sign: int) -> None:
    def add(broker: int, name: str, amount: int) -> None:
        key = ("broker", broker, name)
        delta[key] = delta.get(key, 0) + sign * amount

    for broker in share.assignment:
        add(broker, "replicas", 1)
        add(broker, "size_bytes", share.size_bytes)
        add(broker, "unmeasured", int(share.unmeasured))
    for broker in share.missing:
        add(broker, "out_of_sync", 1)
    if share.assignment:
        add(share.assignment[0], "preferred", 1)
    if share.leader is not None:
        add(share.leader, "leaders", 1)
        add(share.leader, "under_replicated", int(share.under))
