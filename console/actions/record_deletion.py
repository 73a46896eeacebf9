"""Deleting records from the beginning of one partition, or of several: counted first, then confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from console.actions.audit import audited
from console.actions.offsets import AtTime, chosen
from console.errors import Invalid, Risky, Unconfirmed
from console.gateway.connection import connection_of
from console.gateway.errors import ClusterUnreachable, GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor
from console.rules.records import deleting
from console.rules.records.deleting import Gone
from console.rules.words import counted, whole
from console.snapshot.read import Snapshot, SnapshotUnavailable

PARTITIONS_MAX = 200
"""Of one deletion: each partition is a request of its own."""
GROUPS_MAX = 50
Before = int | AtTime | None
"""An offset, a time (what is older goes), or None: all that there is."""
Spans = Sequence[tuple[int, int]] | None


class Deletion(NamedTuple):
    """Where the log begins after it, where it ends, and how many offsets go."""

    first: int
    end: int
    offsets: int


def plan_deletion(cluster: Cluster, topic: str, partition: int, before: int) -> Deletion:
    """What would go, by the offsets of this moment."""
    kafka, place = KafkaCluster(connection_of(cluster)), (topic, partition)
    first, end = kafka.offsets([place], "earliest").get(place, 0), kafka.offsets([place], "latest").get(place, 0)
    if before > end:
        raise Invalid("before", f"The log of {topic}-{partition} ends at {whole(end)}: give an offset up to that.")
    return Deletion(max(before, first), end, max(before - first, 0))


def delete_records(actor: Actor, cluster: Cluster, topic: str, partition: int, before: int, *, confirm: bool = False) -> Deletion:
    with audited(actor, ADMIN, "delete records", f"{topic}-{partition}", cluster=cluster, after={"before": before}):
        plan = plan_deletion(cluster, topic, partition, before)
        if not confirm:
            raise Risky(
                [f"The records of {counted(plan.offsets, 'offset')} of {topic}-{partition} are deleted for good, up to {whole(before)}."]
            )
        first = KafkaCluster(connection_of(cluster)).delete_records(topic, partition, before)
    return plan._replace(first=first)


def plan_topic_deletion(cluster: Cluster, topic: str, spans: Spans, before: Before) -> deleting.Deletion:
    """What would go of these partitions (None: all), by the offsets of this moment; bytes and groups by the live snapshot."""
    kafka = KafkaCluster(connection_of(cluster))
    there = [row["partition_index"] for found in kafka.topics([topic]) for row in found["partitions"]]
    if not there:
        raise Invalid("topic", f"There is no topic {topic}.")
    numbers = chosen(topic, there, spans)
    if not 1 <= len(numbers) <= PARTITIONS_MAX:
        raise Invalid("partitions", f"Name 1 to {PARTITIONS_MAX} partitions at a time: these are {counted(len(numbers), 'partition')}.")
    ends = _ends(kafka, topic, numbers, before)
    bytes_of = _bytes(cluster, topic, numbers)
    rows = [deleting.gone(number, *ends[number], bytes_of.get(number)) for number in numbers]
    return _with_readers(cluster, deleting.Deletion(topic=topic, partitions=rows, unread=None))


def _ends(kafka: KafkaCluster, topic: str, numbers: list[int], before: Before) -> dict[int, tuple[int, int, int]]:
    """Where each log begins, ends, and is to begin then."""
    places = [(topic, number) for number in numbers]
    first, end = kafka.offsets(places, "earliest"), kafka.offsets(places, "latest")
    at_time = kafka.offsets(places, before.at_ms) if isinstance(before, AtTime) else {}
    unknown = [place for place in places if place not in first or place not in end]
    if unknown:
        raise Invalid("partitions", f"Where the log of partition {unknown[0][1]} begins and ends was not told: has it a leader?")
    found = {}
    for place in places:
        wanted = before if isinstance(before, int) else at_time.get(place, end[place])
        if isinstance(before, int) and len(numbers) == 1 and before > end[place]:
            raise Invalid("before", f"The log of {topic}-{place[1]} ends at {whole(end[place])}: give an offset up to that.")
        found[place[1]] = (first[place], end[place], wanted)
    return found


def _bytes(cluster: Cluster, topic: str, numbers: list[int]) -> dict[int, int]:
    """The size of each leader's log, as far as it is told."""
    try:
        rows = Snapshot(cluster.pk).some_partitions(topic, numbers)
    except SnapshotUnavailable:
        return {}
    return {row.partition: row.size_bytes for row in rows if row.size_bytes is not None}


def _with_readers(cluster: Cluster, plan: deleting.Deletion) -> deleting.Deletion:
    """With what groups have not read, of those with the most lag on the topic."""
    snapshot = Snapshot(cluster.pk)
    try:
        readers, total = snapshot.readers(plan.topic, GROUPS_MAX)
        committed: dict[str, dict[int, int]] = {}
        for row in plan.partitions if readers else ():
            for lag in snapshot.lags_on(plan.topic, row.partition, [reader.group for reader in readers]) if row.offsets else ():
                if lag.committed is not None:
                    committed.setdefault(lag.group, {})[row.partition] = lag.committed
    except SnapshotUnavailable:
        return plan
    return replace(plan, unread=deleting.unread(plan.partitions, committed), more_groups=max(total - len(readers), 0))


def delete_topic_records(
    actor: Actor, cluster: Cluster, topic: str, spans: Spans, before: Before, *, confirm: str | bool = False
) -> deleting.Deletion:
    """`confirm` is the topic's name as somebody typed it, or True of a program. A partition that refuses stops no other; where all do it
    is raised."""
    asked = {"partitions": spans, "before": before.at_ms if isinstance(before, AtTime) else before, "by": type(before).__name__}
    with audited(actor, ADMIN, "delete records", topic, cluster=cluster, after=asked) as entry:
        plan = plan_topic_deletion(cluster, topic, spans, before)
        if confirm is False:
            raise Risky(deleting.risks(plan))
        if confirm not in (True, topic):
            raise Unconfirmed("confirm", f"Type the topic's name, {topic}, to delete these records.")
        kafka = KafkaCluster(connection_of(cluster))
        errors: list[GatewayError] = []
        rows = [_deleted(kafka, topic, row, errors) if row.offsets else row for row in plan.partitions]
        entry.before = {str(row.partition): row.first for row in plan.partitions if row.offsets}
        entry.after = {"first": {str(row.partition): row.then for row in rows if row.offsets and not row.error}}
        entry.after |= {"refused": {str(row.partition): row.error for row in rows if row.error}}
        if errors and all(row.error or not row.offsets for row in rows):
            raise errors[0]
    return replace(plan, partitions=rows)


def _deleted(kafka: KafkaCluster, topic: str, row: Gone, errors: list[GatewayError]) -> Gone:
    """A cluster that does not answer ends the deletion; one that refuses a partition does not."""
    try:
        return replace(row, then=kafka.delete_records(topic, row.partition, row.then))
    except ClusterUnreachable:
        raise
    except GatewayError as error:
        errors.append(error)
        return replace(row, error=str(error), then=row.first)
