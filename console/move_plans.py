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


def planned(snapshot: Snapshot, topics: Sequence[str], partitions: Iterable[Place], goal: Goal, moves_max: int = ASSIGNMENTS_LIMIT) -> Plan:
    """For all partitions of the topics and for those that are named; with neither for all of the brokers to be emptied, else of the
    cluster. `Invalid` names what is not there."""
    standing = {Place(now.topic, now.partition): now for now in _meant(snapshot, topics, list(partitions), goal)}
    hosts = hosts_of(snapshot.brokers())
    if not goal.aims:
        return plan(standing.values(), hosts, goal, moves_max)
    from console.planning.balanced_plan import balanced_plan  # here: NumPy and a solver, only for who asks for a balance

    return balanced_plan(standing.values(), hosts, goal, moves_max)


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
    brokers = list(brokers)
    disks = {broker.broker_id: _disk_of(broker) for broker in brokers}
    return [
        Host(
            broker_id=broker.broker_id,
            rack=broker.rack,
            is_online=broker.state == "online",
            replicas=broker.replicas or 0,
            preferred=broker.preferred or 0,
            log_bytes=broker.size_bytes,
            disk_bytes=disks[broker.broker_id][0],
            free_bytes=disks[broker.broker_id][1],
        )
        for broker in brokers
    ]


def _disk_of(broker: Broker) -> tuple[int | None, int | None]:
    """Bytes of its disks, and those that are free; folders that say the same of their disk are taken to be on one."""
    folders = [folder for folder in (broker.log_dir, *broker.other_log_dirs) if folder is not None and folder.offline_since_ms is None]
    disks = {
        (folder.total_bytes, folder.free_bytes) for folder in folders if folder.total_bytes is not None and folder.free_bytes is not None
    }
    return (sum(total for total, _ in disks), sum(free for _, free in disks)) if disks else (None, None)


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
    """What a broker to be emptied has; without one the whole cluster, for leaders or a balance: nobody moves all of it by an omission."""
    if goal.away and not goal.aims:
        return {place for broker in goal.away for place in snapshot.hosted(broker)}
    if (goal.to or goal.replication_factor) and not goal.aims:
        raise Invalid("topics", "Choose topics or partitions.")
    return {place for broker in snapshot.brokers() for place in snapshot.hosted(broker.broker_id)}
