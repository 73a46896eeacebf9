"""Offsets of a topic's partitions by what Kafka's ListOffsets knows. Nothing is changed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.queries import NotFound


class PartitionOffset(Struct):
    partition: int
    offset: Annotated[int | None, Meta(description="null: no record is so new, or none is kept there")]
    timestamp_ms: Annotated[int | None, Meta(description="of the record, where it was looked for by its time")]


def look_up(cluster: Cluster, topic: str, spec: str | int, first: int, count: int) -> tuple[list[PartitionOffset], int]:
    """Of up to `count` partitions from number `first` on, and the number of the topic's last one."""
    kafka = KafkaCluster(connection_of(cluster))
    numbers = sorted(row["partition_index"] for found in kafka.topics([topic]) for row in found["partitions"])
    if not numbers:
        raise NotFound(f"There is no topic {topic}.")
    places = [(topic, number) for number in numbers if number >= first][:count]
    found = kafka.offsets_at(places, spec) if places else {}
    return [PartitionOffset(number, *found.get((topic, number), (None, None))) for _, number in places], numbers[-1]
