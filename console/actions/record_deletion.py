"""Deleting records from the beginning of a partition: counted first, then confirmed."""

from __future__ import annotations

from typing import NamedTuple

from console.actions.audit import audited
from console.errors import Invalid, Risky
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.roles import ADMIN, Actor
from console.rules.words import counted, whole


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
