"""Writing the snapshot and announcing it, in one transaction: whoever reads `seq` with the values knows what they contain.

Commands are built on a pipeline so that the async owner (`live`) and sync callers (jobs) share them. An announcement is
`<seq> <json>` on the channel `changes`; the sequence number is taken in the same step as it is published, by a script.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from console.snapshot import keys
from workers.rules.partitions import worst_state

ANNOUNCE = "local seq = redis.call('INCR', KEYS[1]); redis.call('PUBLISH', KEYS[2], seq .. ' ' .. ARGV[1]); return seq"
EVENTS_KEPT = 200
SERIES_KEPT = 90
RANK = {"offline": -3, "under_min_isr": -2, "under_replicated": -1}
"""The score of what is not safe: the worst comes first, and names are in order within a score."""


def put(pipe: Any, cluster_id: str, values: Mapping[str, Any]) -> None:
    """Queues the values (None deletes) and their announcement on a transactional pipeline."""
    for key, value in values.items():
        name, field = keys.place(cluster_id, key)
        if value is None:
            pipe.hdel(name, field)
        else:
            pipe.hset(name, field, json.dumps(value, separators=(",", ":")))
        _index(pipe, cluster_id, key, value)
    announce(pipe, cluster_id, {"values": values})


def _index(pipe: Any, cluster_id: str, key: str, value: Any) -> None:
    kind, _, rest = key.partition("/")
    if kind == "topic":
        names = keys.named(cluster_id, "topic_names")
        pipe.zrem(names, rest) if value is None else pipe.zadd(names, {rest: 0})
        _rank(pipe, keys.named(cluster_id, "trouble_topics"), rest, value and worst_state(value))
    elif kind == "group":
        field = keys.place(cluster_id, key)[1]
        names = keys.named(cluster_id, "group_names")
        pipe.zrem(names, field) if value is None else pipe.zadd(names, {field: 0})
    elif kind == "partition":
        _rank(pipe, keys.named(cluster_id, "trouble"), rest, value and value["state"])


def _rank(pipe: Any, name: str, member: str, state: str | None) -> None:
    rank = RANK.get(state or "")
    pipe.zrem(name, member) if rank is None else pipe.zadd(name, {member: rank})


def announce(pipe: Any, cluster_id: str, message: Mapping[str, Any]) -> None:
    text = json.dumps(message, separators=(",", ":"))
    pipe.eval(ANNOUNCE, 2, keys.named(cluster_id, "seq"), keys.named(cluster_id, "changes"), text)


def put_events(pipe: Any, cluster_id: str, events: Iterable[Mapping[str, Any]]) -> None:
    """Events newest first in a bounded list, and announced as values."""
    told = list(events)
    name = keys.named(cluster_id, "events")
    for event in told:
        pipe.lpush(name, json.dumps(event, separators=(",", ":")))
    pipe.ltrim(name, 0, EVENTS_KEPT - 1)
    announce(pipe, cluster_id, {"values": {keys.event(e["id"]): e for e in told}})


def put_series(pipe: Any, cluster_id: str, point: Mapping[str, Any]) -> None:
    """One point of the overview's plot (every 10 s, 15 minutes kept)."""
    name = keys.named(cluster_id, "series")
    pipe.lpush(name, json.dumps(point, separators=(",", ":")))
    pipe.ltrim(name, 0, SERIES_KEPT - 1)


def beat(pipe: Any, cluster_id: str, now_ms: int) -> None:
    pipe.set(keys.named(cluster_id, "beat"), now_ms)
    pipe.publish(keys.named(cluster_id, "changes"), f"beat {now_ms}")


def clear(pipe: Any, cluster_id: str, found: Iterable[str]) -> None:
    """Empties what an owner before left, as one step with what the new owner puts; readers are told to start over."""
    kept = {keys.named(cluster_id, name) for name in ("seq", "lease", "events", "series", "beat")}
    for name in sorted(set(found) - kept):
        pipe.delete(name)
    announce(pipe, cluster_id, {"reset": True})
