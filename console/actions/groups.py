"""Groups: move offsets, delete."""

from __future__ import annotations

from typing import Any

from console.actions.audit import Conflict, Invalid, audited
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, OPERATOR, Actor
from console.snapshot.read import Snapshot, SnapshotUnavailable
from workers.rules.words import counted

TopicPartition = tuple[str, int]


def plan_offsets(cluster: Cluster, group: str, topic: str, partition: int | None, to: str) -> list[dict[str, Any]]:
    """`[{topic, partition, before, after, lag_after}]`: where each offset would go; numbers are kept within the log."""
    kafka = KafkaCluster(cluster.bootstrap_servers)
    partitions = _partitions(kafka, topic, partition)
    first, end, now = kafka.offsets(partitions, "earliest"), kafka.offsets(partitions, "latest"), kafka.group_offsets(group)
    rows = []
    for tp in partitions:
        after = first[tp] if to == "earliest" else end[tp] if to == "latest" else min(max(_number(to), first[tp]), end[tp])
        rows.append({"topic": tp[0], "partition": tp[1], "before": now.get(tp), "after": after, "lag_after": end[tp] - after})
    return rows


def _partitions(kafka: KafkaCluster, topic: str, partition: int | None) -> list[TopicPartition]:
    found = [t for t in kafka.topics([topic]) if t["partitions"]]
    numbers = sorted(p["partition_index"] for t in found for p in t["partitions"])
    if not numbers:
        raise Invalid("topic", f"There is no topic {topic}.")
    if partition is not None and partition not in numbers:
        raise Invalid("partition", f"{topic} has partitions 0 to {numbers[-1]}.")
    return [(topic, n) for n in numbers if partition is None or n == partition]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Invalid("to", "Give earliest, latest or an offset.")
    return int(text)


def set_offsets(actor: Actor, cluster: Cluster, group: str, *, topic: str, partition: int | None, to: str) -> list[dict[str, Any]]:
    """Moves the committed offsets of a group without members; returns what was done."""
    with audited(actor, OPERATOR, "move offsets", group) as entry:
        kafka = KafkaCluster(cluster.bootstrap_servers)
        members = kafka.describe_group(group).get("members") or []
        if members:
            raise Conflict(f"Group {group} has {counted(len(members), 'member')}: stop them first, or their next commit undoes the change.")
        plan = plan_offsets(cluster, group, topic, partition, to)
        entry.before = {f"{row['topic']}-{row['partition']}": row["before"] for row in plan}
        entry.after = {f"{row['topic']}-{row['partition']}": row["after"] for row in plan}
        kafka.set_group_offsets(group, {(row["topic"], row["partition"]): row["after"] for row in plan})
        return plan


def delete_group(actor: Actor, cluster: Cluster, group: str, *, confirm: str) -> None:
    with audited(actor, ADMIN, "delete group", group) as entry:
        entry.before = _known(cluster, group)
        if confirm != group:
            raise Invalid("confirm", f"Type the group's name, {group}, to delete it with its committed offsets.")
        KafkaCluster(cluster.bootstrap_servers).delete_group(group)


def _known(cluster: Cluster, group: str) -> dict[str, Any] | None:
    """What goes with the group, as it was last seen."""
    try:
        found = Snapshot(cluster.pk).group(group)
    except SnapshotUnavailable:
        return None
    return found and {key: found[key] for key in ("state", "topics", "lag")}
