"""Plans of moves for pages and REST: which partitions are meant, how they stand, and what the planner makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition
from console.errors import Invalid
from console.jobs.reassignment import ASSIGNMENTS_LIMIT
from console.planning.model import Goal, Host, Move, Plan, Standing
from console.planning.plan import plan, told
from console.rules.words import counted, whole
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot

LOOKED_AT_LIMIT = 20_000
"""Partitions of one plan: each is read from the snapshot."""
TOPICS_AT_ONCE = 500


def planned(snapshot: Snapshot, topics: Sequence[str], partitions: Iterable[Place], goal: Goal) -> Plan:
    """For all partitions of the topics and for those that are named; with neither for all of the brokers to be emptied, else of the
    cluster. `Invalid` names what is not there."""
    standing = {Place(now.topic, now.partition): now for now in _meant(snapshot, topics, list(partitions), goal)}
    return plan(standing.values(), hosts_of(snapshot.brokers()), goal, ASSIGNMENTS_LIMIT)


def as_chosen(snapshot: Snapshot, assignments: Sequence[Mapping[str, Any]]) -> Plan:
    """What assignments would do that somebody chose."""
    places = [Place(row["topic"], row["partition"]) for row in assignments]
    found = {Place(now.topic, now.partition): now for now in standing_at(snapshot, places)}
    wanted = [(found[at], tuple(row["replicas"])) for at, row in zip(places, assignments, strict=True) if at in found]
    return told(wanted, hosts_of(snapshot.brokers()), None)


def reassignment_json(moves: Iterable[Move]) -> dict[str, Any]:
    """As `kafka-reassign-partitions.sh --reassignment-json-file` takes it."""
    return {
        "version": 1,
        "partitions": [{"topic": move.topic, "partition": move.partition, "replicas": list(move.replicas)} for move in moves],
    }


def hosts_of(brokers: Iterable[Broker]) -> list[Host]:
    return [
        Host(
            broker_id=broker.broker_id,
            rack=broker.rack,
            is_online=broker.state == "online",
            replicas=broker.replicas or 0,
            preferred=broker.preferred or 0,
        )
        for broker in brokers
    ]


def standing_at(snapshot: Snapshot, places: Sequence[Place]) -> list[Standing]:
    return [_standing(value) for value in snapshot.partitions_at(places)]


def _standing(value: Partition) -> Standing:
    return Standing(
        topic=value.topic,
        partition=value.partition,
        replicas=value.assignment,
        isr=value.isr,
        leader=value.leader,
        size_bytes=value.size_bytes,
        is_moving=value.reassigning is not None,
    )


def _meant(snapshot: Snapshot, topics: Sequence[str], partitions: list[Place], goal: Goal) -> list[Standing]:
    places = _named(snapshot, topics, partitions) if topics or partitions else _of_goal(snapshot, goal)
    if len(places) > LOOKED_AT_LIMIT:
        raise Invalid("topics", f"That is {counted(len(places), 'partition')}: a plan is made for at most {whole(LOOKED_AT_LIMIT)}.")
    found = [now for now in standing_at(snapshot, sorted(places)) if now.replicas]
    missing = {Place(*place) for place in partitions} - {Place(now.topic, now.partition) for now in found}
    if missing:
        first = min(missing)
        raise Invalid("partitions", f"There is no partition {first.topic}-{first.partition}.")
    return found


def _named(snapshot: Snapshot, topics: Sequence[str], partitions: Iterable[Place]) -> set[Place]:
    names, places = sorted(set(topics)), set(partitions)
    for start in range(0, len(names), TOPICS_AT_ONCE):
        some = names[start : start + TOPICS_AT_ONCE]
        sizes = {topic.topic: topic.partitions or 0 for topic in snapshot.topics(some)}
        if absent := [name for name in some if name not in sizes]:
            raise Invalid("topics", f"There is no topic {absent[0]}.")
        places |= {Place(name, number) for name, size in sizes.items() for number in range(size)}
    return places


def _of_goal(snapshot: Snapshot, goal: Goal) -> set[Place]:
    """What a broker to be emptied has; without one the whole cluster, for leaders only: nobody moves all of it by an omission."""
    if goal.away:
        return {place for broker in goal.away for place in snapshot.hosted(broker)}
    if goal.to or goal.replication_factor:
        raise Invalid("topics", "Choose topics or partitions.")
    return {place for broker in snapshot.brokers() for place in snapshot.hosted(broker.broker_id)}
