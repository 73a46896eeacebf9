"""What the owner before knew of the replicas and had learnt of groups: read from the snapshot before it is written anew, so that a
restart of `live` forgets neither where the log of a broker that is down ended nor how far behind a reader usually is."""

from __future__ import annotations

import json
import logging
from typing import Any

import redis

from console.live.sight import Sight
from console.rules.rhythm import Rhythm, taken_up
from console.snapshot import keys

log = logging.getLogger(__name__)
Recalled = dict[str, tuple[str | None, dict[int, dict[int, Sight]]]]
"""{topic: (topic id, {partition: {broker: what was last seen}})}"""


async def recall(client: Any, cluster_id: str) -> Recalled:
    """Empty where there is no snapshot, or no Redis to read it from."""
    try:
        beat = await client.get(keys.named(cluster_id, "beat"))
        topics = await client.hgetall(keys.named(cluster_id, "topics"))
        if beat is None:
            return {}
        return {
            name: (json.loads(topic).get("topic_id"), await _partitions(client, cluster_id, name, int(beat)))
            for name, topic in topics.items()
        }
    except (redis.RedisError, OSError, ValueError, KeyError, TypeError) as error:
        log.warning("what was known before is not read: %s", error)
        return {}


async def _partitions(client: Any, cluster_id: str, topic: str, beat_ms: int) -> dict[int, dict[int, Sight]]:
    known: dict[int, dict[int, Sight]] = {}
    async for number, text in client.hscan_iter(keys.named(cluster_id, f"partitions:{topic}"), count=500):
        known[int(number)] = {r["broker_id"]: _sight(r, beat_ms) for r in json.loads(text)["replicas"] if r["log_end_offset"] is not None}
    return known


def _sight(replica: dict[str, Any], beat_ms: int) -> Sight:
    """What was current was so until the owner's last beat."""
    seen_ms = replica.get("last_seen_ms")
    return Sight(replica["log_end_offset"], replica["high_watermark"], beat_ms if seen_ms is None else seen_ms)


async def recall_rhythms(client: Any, cluster_id: str, now_ms: int) -> dict[str, Rhythm]:
    """{group: its rhythm}; as `recall`."""
    try:
        beat = await client.get(keys.named(cluster_id, "beat"))
        kept = await client.hgetall(keys.named(cluster_id, "rhythms"))
        away_ms = now_ms - int(beat or 0)
        return {group: taken_up(json.loads(text), away_ms) for group, text in kept.items()}
    except (redis.RedisError, OSError, ValueError, KeyError, TypeError) as error:
        log.warning("what was learnt of groups is not read: %s", error)
        return {}
