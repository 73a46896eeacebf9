"""Groups: move offsets, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.actions.audit import audited
from console.actions.offsets import AtTime, Shift, Where, chosen, target
from console.errors import Conflict, Invalid, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, OPERATOR, Actor
from console.rules.words import counted
from console.snapshot.asking import ask_now
from console.snapshot.read import Snapshot, SnapshotUnavailable

Spans = Sequence[tuple[int, int]] | None


def plan_offsets(cluster: Cluster, group: str, topic: str, spans: Spans, to: Where) -> list[dict[str, Any]]:
    """`[{topic, partition, before, after, lag_after, note}]`: where each offset would go. One beyond the log goes to its end (or start),
    and `note` says so. `spans` are the partitions, None all."""
    kafka = KafkaCluster(connection_of(cluster))
    there = [p["partition_index"] for t in kafka.topics([topic]) for p in t["partitions"]]
    if not there:
        raise Invalid("topic", f"There is no topic {topic}.")
    if not isinstance(to, Shift):
        target(to, 0, 2**63)
    partitions = [(topic, n) for n in chosen(topic, there, spans)]
    first, end, now = kafka.offsets(partitions, "earliest"), kafka.offsets(partitions, "latest"), kafka.group_offsets(group)
    at_time = kafka.offsets(partitions, to.at_ms) if isinstance(to, AtTime) else {}
    rows = []
    for tp in partitions:
        after, note = target(to, first[tp], end[tp], committed=now.get(tp), at_time=at_time.get(tp))
        rows.append({"topic": topic, "partition": tp[1], "before": now.get(tp), "after": after, "lag_after": end[tp] - after, "note": note})
    return rows


def set_offsets(
    actor: Actor, cluster: Cluster, group: str, *, topic: str, spans: Spans, to: Where, confirm: bool = False
) -> list[dict[str, Any]]:
    """Moves the committed offsets of a group without members; returns what was done. An offset beyond the log is refused without
    `confirm`."""
    with audited(actor, OPERATOR, "move offsets", group, cluster=cluster) as entry:
        kafka = KafkaCluster(connection_of(cluster))
        members = kafka.describe_group(group).get("members") or []
        if members:
            raise Conflict(f"Group {group} has {counted(len(members), 'member')}: stop them first, or their next commit undoes the change.")
        plan = plan_offsets(cluster, group, topic, spans, to)
        _refuse_beyond(plan, confirm=confirm)
        entry.before = {f"{row['topic']}-{row['partition']}": row["before"] for row in plan}
        entry.after = {f"{row['topic']}-{row['partition']}": row["after"] for row in plan}
        kafka.set_group_offsets(group, {(row["topic"], row["partition"]): row["after"] for row in plan})
    ask_now(cluster.pk, "groups")
    return plan


def _refuse_beyond(plan: list[dict[str, Any]], *, confirm: bool) -> None:
    beyond = [row for row in plan if row["note"]]
    if not beyond or confirm:
        return
    first, more = beyond[0], len(beyond) - 1
    others = f" ({counted(more, 'other partition')} likewise)" if more else ""
    raise Unconfirmed("to", f"{first['topic']}-{first['partition']}: {first['note']}{others}. Confirm that, or give another offset.")


def delete_group(actor: Actor, cluster: Cluster, group: str, *, confirm: str) -> None:
    with audited(actor, ADMIN, "delete group", group, cluster=cluster) as entry:
        entry.before = _known(cluster, group)
        if confirm != group:
            raise Unconfirmed("confirm", f"Type the group's name, {group}, to delete it with its committed offsets.")
        KafkaCluster(connection_of(cluster)).delete_group(group)
    ask_now(cluster.pk, "groups")


def _known(cluster: Cluster, group: str) -> dict[str, Any] | None:
    """What goes with the group, as it was last seen."""
    try:
        found = Snapshot(cluster.pk).group(group)
    except SnapshotUnavailable:
        return None
    return {key: getattr(found, key) for key in ("state", "topics", "lag")} if found else None
