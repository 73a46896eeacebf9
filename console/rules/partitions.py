"""How safe one partition is, and in what words.

Rules, first match wins:
0. DELETING: its topic is being deleted: what it lacks is no alarm.
1. STARTING: it was made, and whoever is to lead it has not reported on it yet.
2. OFFLINE: no leader: neither reads nor writes.
3. UNKNOWN: its leader is registered and silent: what was last known may be true no more.
4. UNDER MIN ISR: fewer in-sync replicas than `min.insync.replicas`: producers with acks=all are refused, the HW stands still.
5. UNDER REPLICATED: `missing` names someone: fewer copies than wanted.
6. SAFE: all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from broker_core.contract.partitions import Partition, PartitionState
from broker_core.contract.sentences import Level

SAFE: PartitionState = "safe"
UNDER_REPLICATED: PartitionState = "under_replicated"
UNDER_MIN_ISR: PartitionState = "under_min_isr"
OFFLINE: PartitionState = "offline"
DELETING: PartitionState = "deleting"
STARTING: PartitionState = "starting"
UNKNOWN: PartitionState = "unknown"
LEVEL: dict[PartitionState, Level] = {UNDER_REPLICATED: "warn", UNDER_MIN_ISR: "bad", OFFLINE: "bad"}
"""Of what is in danger; all else is ok, or nobody knows."""


def missing(isr: Collection[int], assignment: Sequence[int], adding: Collection[int] = ()) -> list[int]:
    """The replicas that a partition lacks in sync: none while the ISR has as many as are wanted. Those that a reassignment adds are
    not wanted yet (`isUnderReplicated` of Kafka's Partition, `kafka-topics --under-replicated-partitions`)."""
    wanted = [broker for broker in assignment if broker not in adding]
    return [broker for broker in wanted if broker not in isr] if len(isr) < len(wanted) else []


def partition_state(
    leader: int | None,
    isr: Sequence[int],
    assignment: Sequence[int],
    min_insync_replicas: int | None,
    *,
    adding: Collection[int] = (),
    deleting: bool = False,
    starting: bool = False,
    silent: bool = False,
) -> PartitionState:
    """`starting`: whoever is to lead it has not reported on it yet; `silent`: its leader is not heard."""
    if deleting or starting:
        return DELETING if deleting else STARTING
    if leader is None or leader < 0:
        return OFFLINE
    if silent:
        return UNKNOWN
    if min_insync_replicas is not None and len(isr) < min(min_insync_replicas, max(len(assignment), 1)):
        return UNDER_MIN_ISR
    if missing(isr, assignment, adding):
        return UNDER_REPLICATED
    return SAFE


def worst_state(counts: Mapping[str, int], *, deleting: bool) -> PartitionState:
    """The state of a topic's worst partition, from how many it has in each."""
    if deleting:
        return DELETING
    return next((state for state in (OFFLINE, UNDER_MIN_ISR, UNDER_REPLICATED, UNKNOWN, STARTING) if counts[state]), SAFE)


def not_preferred(leader: int | None, assignment: Sequence[int]) -> bool:
    """Led by another than the first assigned replica (spec O3)."""
    return leader is not None and leader >= 0 and bool(assignment) and leader != assignment[0]


def partition_sentence(value: Partition) -> str:
    return f"{value.name} {partition_words(value)}"


def partition_words(value: Partition) -> str:
    """What follows on a partition's name: why it is not safe, and by its `advice` what can be done."""
    advice = f" {value.advice.text}" if value.advice else ""
    if value.state == OFFLINE:
        return f"has no leader: it takes no reads and no writes.{advice}"
    if value.state == UNDER_MIN_ISR:
        out = brokers([b for b in value.assignment if b not in value.isr])
        return f"refuses acks=all: {out} out of the ISR and min.insync.replicas is {value.min_insync_replicas}.{advice}"
    if value.state == UNDER_REPLICATED:
        adding = value.reassigning.adding if value.reassigning else ()
        return f"has fewer copies than wanted: {brokers(missing(value.isr, value.assignment, adding))} out of the ISR."
    words = {
        DELETING: "is being deleted",
        STARTING: "is starting: whoever is to lead it has not reported on it yet",
        UNKNOWN: "has a leader that is silent: its state is unknown",
    }
    return f"{words.get(value.state, 'is safe')}."


def deletion_words(dead: Sequence[int], *, moving: bool, offline: Sequence[int] = ()) -> str:
    """What follows on the name of a topic that is being deleted: what that waits for (spec Z4). `dead` are the brokers that hold a copy
    and are down, `offline` those whose data folder is offline; `moving`: a reassignment is not over."""
    why = []
    if dead:
        why.append(f"{brokers(dead)}, which {'is' if len(dead) == 1 else 'are'} down and hold{'s' if len(dead) == 1 else ''} copies of it")
    if offline:
        why.append(f"a restart of {brokers(offline)}, whose data folder is offline")
    if moving:
        why.append("the move of its partitions to end")
    return "is being deleted" + (f"; this waits for {and_list(why)}." if why else ".")


def brokers(ids: Sequence[int]) -> str:
    """`broker 2`, `brokers 1 and 3`."""
    return ("broker " if len(ids) == 1 else "brokers ") + and_list([str(i) for i in sorted(ids)])


def and_list(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
