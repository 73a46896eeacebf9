"""What of a cluster can be compared with a wanted state, as its brokers have it at this moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.gateway.kafka_cluster import KafkaCluster
from console.wanted.model import Actual, ActualTopic, Wanted

ASKED_AT_ONCE = 100
"""Topics whose settings one question is about."""


def read_actual(kafka: KafkaCluster, wanted: Wanted, load: Mapping[int, int], *, everything: bool) -> Actual:
    """What the wanted objects are, or with `everything` all that can be wanted; settings are read of the wanted topics alone, the brokers'
    defaults and quotas only where any are wanted. `load` is passed on."""
    found = kafka.topics(None) if everything else kafka.topics(sorted(wanted.topics)) if wanted.topics else []
    moving = {tp: _target(move) for tp, move in kafka.reassignments().items()} if found else {}
    names = [topic["name"] for topic in found if topic["name"] in wanted.topics]
    configs = {name: own for part in _parts(names) for name, own in kafka.own_topic_configs(part).items()}
    topics = {topic["name"]: _topic(topic, configs.get(topic["name"], {}), moving) for topic in found}
    limits = None if wanted.quotas is None else kafka.quotas()
    if limits is not None and wanted.quotas is not None and not everything:
        limits = {entity: one for entity, one in limits.items() if entity in wanted.quotas}
    return Actual(topics, kafka.broker_defaults() if wanted.broker_configs is not None else {}, load, limits)


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[start : start + ASKED_AT_ONCE] for start in range(0, len(names), ASKED_AT_ONCE))


def _topic(found: Mapping[str, Any], own: Mapping[str, str], moving: Mapping[tuple[str, int], tuple[int, ...]]) -> ActualTopic:
    name = found["name"]
    rows = sorted((p["partition_index"], tuple(p["replica_nodes"])) for p in found["partitions"])
    assignment = tuple(moving.get((name, number), replicas) for number, replicas in rows)
    return ActualTopic(assignment, own, bool(found.get("is_internal")) or name.startswith("__"))


def _target(move: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """What a partition has once its move is over."""
    return tuple(broker for broker in move["replicas"] if broker not in move["removing_replicas"])
