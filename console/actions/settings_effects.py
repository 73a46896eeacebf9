"""How much a change of retention would delete, as far as that can be counted before it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.clock import now_ms
from console.gateway.errors import GatewayError
from console.gateway.kafka_cluster import KafkaCluster
from console.models import Cluster
from console.rules.settings.model import Owner, Setting
from console.rules.settings.units import told
from console.rules.words import counted, size, whole
from console.snapshot.read import Snapshot, SnapshotUnavailable

PARTITIONS_COUNTED = 200
"""Of larger topics it is not counted: each partition's log is looked into."""
NOT_COUNTED = "How many records that are is not known."


def effects_of(
    cluster: Cluster, kafka: KafkaCluster, owner: Owner, settings: Sequence[Setting], changes: Mapping[str, str | None]
) -> list[str]:
    """In sentences; nothing where nothing that is stored goes."""
    if owner.kind != "topic":
        return []
    known = {one.name: one for one in settings}
    found = []
    for name, count in (("retention.ms", _older), ("retention.bytes", _beyond)):
        limit = _shorter(known.get(name), changes.get(name)) if name in changes else None
        if limit is not None:
            try:
                found.append(count(cluster, kafka, owner.name, limit))
            except (GatewayError, SnapshotUnavailable):
                found.append(NOT_COUNTED)
    return found


def _shorter(setting: Setting | None, value: str | None) -> int | None:
    """The new limit where it is less than the present one."""
    then = _number(value if value is not None or setting is None else setting.otherwise)
    now = _number(setting.value if setting else None)
    return then if then is not None and then >= 0 and (now is None or now < 0 or then < now) else None


def _number(text: str | None) -> int | None:
    digits = (text or "").strip().removeprefix("-")
    return int(text or "") if digits.isascii() and digits.isdigit() and len(digits) < 20 else None


def _older(cluster: Cluster, kafka: KafkaCluster, topic: str, limit_ms: int) -> str:
    places = [(topic, p["partition_index"]) for found in kafka.topics([topic]) for p in found["partitions"]]
    if not 0 < len(places) <= PARTITIONS_COUNTED:
        return NOT_COUNTED
    first, last = kafka.offsets(places, "earliest"), kafka.offsets(places, "latest")
    if len(first) < len(places) or len(last) < len(places):
        return NOT_COUNTED
    kept_from = {**last, **kafka.offsets(places, max(now_ms() - limit_ms, 0))}
    older = sum(max(min(kept_from[place], last[place]) - first[place], 0) for place in places)
    total = sum(last[place] - first[place] for place in places)
    limit = told("retention.ms", "long", str(limit_ms))
    age = limit.exact or limit.about or f"{whole(limit_ms)} ms"
    if not older:
        return f"No record of {topic} is older than {age} now."
    return f"Up to {whole(older)} of {counted(total, 'record')} are older than {age} now: they go within minutes, for good."


def _beyond(cluster: Cluster, kafka: KafkaCluster, topic: str, limit_bytes: int) -> str:
    snapshot = Snapshot(cluster.snapshot_id)
    known = snapshot.topic(topic)
    count = (known.partitions or 0) if known else 0
    if not 0 < count <= PARTITIONS_COUNTED:
        return NOT_COUNTED
    sizes = [row.size_bytes for row in snapshot.some_partitions(topic, list(range(count)))]
    if len(sizes) < count or any(one is None for one in sizes):
        return NOT_COUNTED
    large = [one - limit_bytes for one in sizes if one is not None and one > limit_bytes]
    if not large:
        return f"No partition of {topic} is larger than that now."
    return (
        f"{counted(len(large), 'partition is', 'partitions are')} larger than that now: up to {size(sum(large))} of each copy go, for good."
    )
