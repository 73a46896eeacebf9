"""What of a cluster can be compared with a wanted state, as its brokers have it at this moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from console.gateway.kafka_cluster import KafkaCluster
from console.wanted.model import Actual, ActualTopic

ASKED_AT_ONCE = 100
"""Topics whose settings one question is about."""


def read_actual(kafka: KafkaCluster, wanted: Collection[str], load: Mapping[int, int], *, all_topics: bool, brokers: bool) -> Actual:
    """Settings are read of the topics that are `wanted`, and the brokers' defaults where `brokers`; `load` is passed on."""
    found = kafka.topics(None if all_topics else sorted(wanted))
    moving = {tp: _target(move) for tp, move in kafka.reassignments().items()}
    names = [topic["name"] for topic in found if topic["name"] in wanted]
    configs = {name: own for part in _parts(names) for name, own in kafka.own_topic_configs(part).items()}
    topics = {topic["name"]: _topic(topic, configs.get(topic["name"], {}), moving) for topic in found}
    return Actual(topics, kafka.broker_defaults() if brokers else {}, load)


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
