"""The samples that analytics reads: what one moment's state becomes, as JSON records of the topic `__cluster_samples`. Pure.

Record key: `["local", "orders", 3]` (partition), `["local", "orders", 3, "billing"]` (group on a partition), `["local", null, 1]` (broker).
Record value: {"v": 1, "at_ms", "cluster", "kind": "partition", "topic", "partition", "leader", "leader_epoch", "high_watermark",
"log_end_offset", "log_start_offset", "size_bytes", "isr", "replicas"} or {..., "kind": "group", "group", "topic", "partition",
"committed", "log_end_offset", "high_watermark", "lag"} or, of each data folder that a running broker told of, {..., "kind": "broker",
"broker", "folder", "disk_used_bytes", "disk_total_bytes"}. Unknown is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from broker_core.contract.groups import Lag
from broker_core.contract.live import Broker, LogDir
from broker_core.contract.partitions import Partition

SAMPLES_TOPIC = "__cluster_samples"
SAMPLES_CONFIG = {
    "cleanup.policy": "delete",
    "retention.ms": str(7 * 24 * 3600 * 1000),
    "retention.bytes": str(128 * 1024 * 1024),
    "segment.bytes": str(16 * 1024 * 1024),
}
SAMPLES_PARTITIONS = 3
PARTITION_FIELDS = ("topic", "partition", "leader", "leader_epoch", "high_watermark", "log_end_offset", "log_start_offset", "size_bytes")
GROUP_FIELDS = ("group", "topic", "partition", "committed", "log_end_offset", "high_watermark", "lag")
Record = tuple[bytes, bytes]
encode = msgspec.json.Encoder().encode


def samples(
    cluster_id: str, partitions: Iterable[Partition], lag_rows: Iterable[Lag], brokers: Iterable[Broker], at_ms: int
) -> Iterator[Record]:
    base = {"v": 1, "at_ms": at_ms, "cluster": cluster_id}
    for value in partitions:
        if value.topic == SAMPLES_TOPIC:
            continue
        row = {**base, "kind": "partition", **{n: getattr(value, n) for n in PARTITION_FIELDS}}
        row |= {"isr": len(value.isr), "replicas": len(value.assignment)}
        yield encode([cluster_id, value.topic, value.partition]), encode(row)
    for lag in lag_rows:
        row = {**base, "kind": "group", **{n: getattr(lag, n) for n in GROUP_FIELDS}}
        yield encode([cluster_id, lag.topic, lag.partition, lag.group]), encode(row)
    for broker in brokers:
        for folder in _folders(broker):
            row = {**base, "kind": "broker", "broker": broker.broker_id, "folder": folder.path}
            row |= {"disk_used_bytes": _used(folder), "disk_total_bytes": folder.total_bytes}
            yield encode([cluster_id, None, broker.broker_id]), encode(row)


def _folders(broker: Broker) -> Iterator[LogDir]:
    """Of a broker that runs: what a silent one said last is no sample of now."""
    if broker.state == "online" and broker.feed.state == "live" and broker.log_dir is not None:
        yield broker.log_dir
        yield from broker.other_log_dirs


def _used(folder: LogDir) -> int | None:
    known = folder.total_bytes is not None and folder.free_bytes is not None
    return folder.total_bytes - folder.free_bytes if known else None  # type: ignore[operator]
