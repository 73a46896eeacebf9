"""What a throttle would change, before it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.rules.throttle import RATES, joined, wanted
from console.rules.words import size

SHOWN_CHARS = 60


def preview_throttle(cluster: Cluster, rows: Sequence[Mapping[str, Any]], rate: int) -> list[dict[str, Any]]:
    """`[{label, before, after}]` of the settings that hold while the moves {topic, partition, from, to} last."""
    kafka = KafkaCluster(connection_of(cluster))
    found = wanted(rows, kafka.brokers())
    said = []
    for broker in found["brokers"]:
        own = kafka.own_broker_configs(broker)
        said += [{"label": f"broker {broker}: {key}", "before": _rate(own.get(key)), "after": f"{size(rate)}/s"} for key in RATES]
    for topic, lists in found["topics"].items():
        own = {row["name"]: row["value"] for row in kafka.topic_configs(topic) if row["source"] == "topic"}
        said += [
            {"label": f"{topic}: {key}", "before": _list(own.get(key)), "after": _list(joined(own.get(key), entries))}
            for key, entries in lists.items()
        ]
    return said


def _rate(text: str | None) -> str | None:
    return None if text is None else f"{size(int(text))}/s"


def _list(text: str | None) -> str | None:
    return text if text is None or len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({text.count(',') + 1} entries)"
