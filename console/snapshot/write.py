"""Writing the snapshot and announcing it, in one transaction: whoever reads `seq` with the values knows what they contain.

Commands are built on a pipeline so that the async owner (`live`) and sync callers (jobs) share them. An announcement is
`<seq> <json>` on the channel `changes`; the sequence number is taken in the same step as it is published, by a script.
A value is written as JSON once, for the snapshot and the announcement; values of one Redis key go into it by one command.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.contract.groups import Group, Lag, Reader
from broker_core.contract.jobs import Job
from broker_core.contract.live import Broker, Cluster, Point
from broker_core.contract.partitions import Partition, Topic
from broker_core.contract.sentences import KeptEvent
from console.rules.rhythm import Rhythm
from console.snapshot import keys, sorting
from console.snapshot.encoding import encode
from console.snapshot.freshness import STALE_MS
from console.snapshot.placed import put_places

Value = Cluster | Broker | Topic | Partition | Group | Lag | Reader | Rhythm | Job
ANNOUNCE = "local seq = redis.call('INCR', KEYS[1]); redis.call('PUBLISH', KEYS[2], seq .. ' ' .. ARGV[1]); return seq"
EVENTS_KEPT = 200
SERIES_KEPT = 90


def put(pipe: Any, cluster_id: str, values: Mapping[str, Value | None]) -> None:
    """Queues the values (None deletes) and their announcement on a transactional pipeline."""
    _announce_values(pipe, cluster_id, store(pipe, cluster_id, values))


def store(pipe: Any, cluster_id: str, values: Mapping[str, Value | None]) -> dict[str, str]:
    """Queues the values without announcing them; returns them as JSON."""
    texts = {key: encode(value) for key, value in values.items()}
    written: dict[str, dict[str, str]] = defaultdict(dict)
    deleted: dict[str, list[str]] = defaultdict(list)
    for key, text in texts.items():
        name, field = keys.place(cluster_id, key)
        if values[key] is None:
            deleted[name].append(field)
        else:
            written[name][field] = text
    for name, fields in written.items():
        pipe.hset(name, mapping=fields)
    for name, gone in deleted.items():
        pipe.hdel(name, *gone)
    _index(pipe, cluster_id, values)
    put_places(pipe, cluster_id, values)
    return texts


def _index(pipe: Any, cluster_id: str, values: Mapping[str, Value | None]) -> None:
    """Names of topics and groups by each column; topics and partitions that are not safe."""
    there: dict[str, dict[str, float]] = defaultdict(dict)
    gone: dict[str, list[str]] = defaultdict(list)
    for key, value in values.items():
        for index, member, score in _places(cluster_id, key, value):
            if score is None:
                gone[index].append(member)
            else:
                there[index][member] = score
    for index, members in there.items():
        pipe.zadd(keys.named(cluster_id, index), members)
    for index, names in gone.items():
        pipe.zrem(keys.named(cluster_id, index), *names)


def _places(cluster_id: str, key: str, value: Any) -> list[tuple[str, str, float | None]]:
    """(sorted set, member, score or None for none) of a value, which is gone where it is None."""
    kind, _, rest = key.partition("/")
    if kind == "partition":
        return [("trouble", rest, _rank(value, rest))]
    if kind == "topic":
        return [*sorting.scores("topic", rest, value), ("trouble_topics", rest, _rank(value, rest))]
    if kind == "group":
        name = keys.place(cluster_id, key)[1]
        return [*sorting.scores("group", name, value), ("groups_behind", name, _behind(value))]
    if kind == "reader":
        place, name = keys.place(cluster_id, key)
        return [(f"reader_lag:{place.rpartition(':')[2]}", name, _unread(value))]
    return []


def _behind(group: Group | None) -> float | None:
    """The longest behind in time comes first, and of two alike the one with more records; None for who has read all."""
    return -((group.lag_s or 0) + group.lag / (group.lag + 1e9)) if group and group.lag else None


def _unread(reader: Reader | None) -> int | None:
    return None if reader is None else -(reader.lag or 0)


def _rank(value: Partition | Topic | None, name: str) -> int | None:
    """None for what is safe."""
    return sorting.topic_rank(value.state, name) if value is not None and value.state in sorting.RANK else None


def announce_reset(pipe: Any, cluster_id: str) -> None:
    """Readers are to read everything anew."""
    _announce(pipe, cluster_id, '{"reset":true}')


def _announce_values(pipe: Any, cluster_id: str, texts: Mapping[str, str]) -> None:
    _announce(pipe, cluster_id, '{"values":{' + ",".join([f"{encode(key)}:{text}" for key, text in texts.items()]) + "}}")


def _announce(pipe: Any, cluster_id: str, text: str) -> None:
    pipe.eval(ANNOUNCE, 2, keys.named(cluster_id, "seq"), keys.named(cluster_id, "changes"), text)


def put_events(pipe: Any, cluster_id: str, events: Iterable[KeptEvent]) -> None:
    """Events newest first in a bounded list, and announced as values."""
    texts = {keys.event(event.id): encode(event) for event in events}
    name = keys.named(cluster_id, "events")
    for text in texts.values():
        pipe.lpush(name, text)
    pipe.ltrim(name, 0, EVENTS_KEPT - 1)
    _announce_values(pipe, cluster_id, texts)


def put_series(pipe: Any, cluster_id: str, point: Point) -> None:
    """One point of the overview's plot (every 10 s, 15 minutes kept)."""
    name = keys.named(cluster_id, "series")
    pipe.lpush(name, encode(point))
    pipe.ltrim(name, 0, SERIES_KEPT - 1)


def put_group_lag(pipe: Any, cluster_id: str, lag: int) -> None:
    """The sum over all groups, so that nobody has to read all of them for it."""
    pipe.set(keys.named(cluster_id, "group_lag"), lag)


def beat(pipe: Any, cluster_id: str, now_ms: int, oldest_ms: int, due_ms: int | None = None) -> None:
    """The owner lives, all that it wrote was true at `oldest_ms`, and the first part of it is stale after `due_ms`."""
    told = {"beat": now_ms, "oldest": oldest_ms, "due": oldest_ms + STALE_MS if due_ms is None else due_ms}
    pipe.mset({keys.named(cluster_id, name): ms for name, ms in told.items()})
    pipe.publish(keys.named(cluster_id, "changes"), " ".join(map(str, ("beat", *told.values()))))
