"""Copying records to another topic: what would be copied, by the offsets of this moment. The copy itself is a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.actions.jobs import create_job, refuse_hidden, refuse_unknown
from console.actions.masking import would_show
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.jobs.record_copy import CopyFilter, RecordCopy, query_of
from console.models import Cluster, Job
from console.roles import OPERATOR, Actor
from console.rules.records.copying import CopyPlan, Range, notes, range_of

KIND = RecordCopy()
SETTINGS = ("message.timestamp.type", "cleanup.policy")


def plan_copy(actor: Actor, cluster: Cluster, params: Mapping[str, Any]) -> CopyPlan:
    """Changes nothing; refused to whom the copy would be refused."""
    actor.require(OPERATOR, "copy records")
    checked = KIND.checked(params)
    refuse_hidden(actor, cluster, KIND, checked)
    refuse_unknown(cluster, KIND, checked)
    source, target, kafka = checked["source"], checked["target"], KafkaCluster(connection_of(cluster))
    sizes = {topic["name"]: len(topic["partitions"]) for topic in kafka.topics([source, target])}
    numbers = checked["partitions"] if checked["partitions"] is not None else list(range(sizes[source]))
    rows = _ranges(kafka, source, numbers, checked)
    settings = {row["name"]: row["value"] for row in kafka.topic_configs(target) if row["name"] in SETTINGS}
    shown = would_show(cluster, source, target)
    return CopyPlan(
        source=source,
        target=target,
        partitions=rows,
        offsets=sum(row.offsets for row in rows),
        is_filtered=checked["filter"] is not None,
        notes=notes(checked, sizes, settings, shown),
    )


def _ranges(kafka: KafkaCluster, source: str, numbers: list[int], checked: Mapping[str, Any]) -> list[Range]:
    places = [(source, number) for number in numbers]
    first, last = kafka.offsets(places, "earliest"), kafka.offsets(places, "latest")
    since_ms = query_of(CopyFilter(**checked["filter"])).since_ms if checked["filter"] else None
    since = {} if since_ms is None else kafka.offsets(places, since_ms)
    wanted = checked["from_offset"], checked["to_offset"]
    found = []
    for place in places:
        begins = None if since_ms is None else since.get(place, last.get(place, 0))
        found.append(range_of(place[1], (first.get(place, 0), last.get(place, 0)), wanted, begins))
    return found


def copy_records(actor: Actor, cluster: Cluster, params: Mapping[str, Any]) -> Job:
    return create_job(actor, cluster, KIND.name, params)
