"""What the owner before knew of the replicas and had learnt of groups: read from the snapshot before it is written anew, so that a
restart of `live` forgets neither where the log of a broker that is down ended nor how far behind a reader usually is."""

from __future__ import annotations

import logging
from typing import Any

import redis

from broker_core.contract.partitions import Partition, Replica, Topic
from console.live.merging.replica_log import ReplicaLog
from console.rules.rhythm import Rhythm, taken_up
from console.snapshot import keys
from console.snapshot.encoding import decode, decode_all

log = logging.getLogger(__name__)
Predecessor = dict[str, tuple[str | None, dict[int, dict[int, ReplicaLog]]]]
"""{topic: (topic id, {partition: {broker: what was last seen}})}"""


async def predecessor(client: Any, cluster_id: str) -> Predecessor:
    """Empty where there is no snapshot, or no Redis to read it from."""
    try:
        beat = await client.get(keys.named(cluster_id, "beat"))
        topics = await client.hgetall(keys.named(cluster_id, "topics"))
        if beat is None:
            return {}
        known = {topic.topic: topic.topic_id for topic in decode_all(topics.values(), Topic)}
        return {name: (topic_id, await _partitions(client, cluster_id, name, int(beat))) for name, topic_id in known.items()}
    except (redis.RedisError, OSError) as error:
        log.warning("what was known before is not read: %s", error)
        return {}


async def _partitions(client: Any, cluster_id: str, topic: str, beat_ms: int) -> dict[int, dict[int, ReplicaLog]]:
    known: dict[int, dict[int, ReplicaLog]] = {}
    async for _, text in client.hscan_iter(keys.named(cluster_id, f"partitions:{topic}"), count=500):
        if value := decode(text, Partition):
            known[value.partition] = {r.broker_id: _replica_log(r, beat_ms) for r in value.replicas if r.log_end_offset is not None}
    return known


def _replica_log(replica: Replica, beat_ms: int) -> ReplicaLog:
    """What was current was so until the owner's last beat."""
    return ReplicaLog(replica.log_end_offset, replica.high_watermark, beat_ms if replica.last_seen_ms is None else replica.last_seen_ms)


async def kept_rhythms(client: Any, cluster_id: str, now_ms: int) -> dict[str, Rhythm]:
    """{group: its rhythm}; as `predecessor`."""
    try:
        beat = await client.get(keys.named(cluster_id, "beat"))
        kept = await client.hgetall(keys.named(cluster_id, "rhythms"))
        away_ms = now_ms - int(beat or 0)
        return {group: taken_up(rhythm, away_ms) for group, text in kept.items() if (rhythm := decode(text, Rhythm))}
    except (redis.RedisError, OSError) as error:
        log.warning("what was learnt of groups is not read: %s", error)
        return {}
