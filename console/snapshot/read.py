"""Reading the snapshot: for pages and REST (sync) and for websockets (a pipeline that the caller runs)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import redis
from django.conf import settings
from msgspec.structs import replace

from broker_core.contract.groups import Group, Lag, Reader
from broker_core.contract.live import AsOf, Broker, Cluster, Point, SilentClient
from broker_core.contract.partitions import Partition, Topic
from broker_core.contract.sentences import KeptEvent
from console.clock import now_ms
from console.snapshot import keys
from console.snapshot.connect import sync_client
from console.snapshot.encoding import decode, decode_all
from console.snapshot.freshness import STALE_MS, as_of, read_age, read_cluster
from console.snapshot.moments import time_of
from console.snapshot.ordered import ALL, Mark, slice_after, slice_from
from console.snapshot.placed import Place, hosted, place_of
from console.snapshot.sorting import NAME, UNKNOWN, Kind, index_of

T = TypeVar("T")
KEYS_AT_ONCE = 500


class SnapshotUnavailable(Exception):
    """Redis does not answer: nothing live can be shown; the message says where it was asked."""


def aged(partition: Partition, now_ms: int) -> Partition:
    """A partition as it is read now: what was last seen of a replica grows old although nobody writes it anew."""
    if all(replica.last_seen_ms is None for replica in partition.replicas):
        return partition
    seen = (r if r.last_seen_ms is None else replace(r, age_ms=max(now_ms - r.last_seen_ms, 0)) for r in partition.replicas)
    return replace(partition, replicas=tuple(seen))


def beats() -> dict[str, int | None]:
    """When `live`, of the system's own cluster, the collector and the recorder last said that they live."""
    names = {"live": keys.named(settings.LOCAL_CLUSTER, "beat"), "collector": keys.COLLECTOR, "history": keys.RECORDER}
    try:
        texts: Any = sync_client().mget(list(names.values()))
    except redis.RedisError as error:
        raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
    return {name: int(text) if text else None for name, text in zip(names, texts, strict=True)}


SETTLE_S = 2.0
SETTLE_STEP_S = 0.05


def await_snapshot(shown: Callable[[], bool]) -> bool:
    """Waits a little until a change that the cluster has taken is shown too, so that whoever made it reads it back."""
    end = time.monotonic() + SETTLE_S
    try:
        while not shown():
            if time.monotonic() >= end:
                return False
            time.sleep(SETTLE_STEP_S)
    except SnapshotUnavailable:
        return False
    return True


class Snapshot:
    """One cluster's snapshot, read with as few round trips as there are questions."""

    def __init__(self, cluster_id: str, client: redis.Redis | None = None) -> None:
        self.cluster_id = cluster_id
        self._redis: Any = client or sync_client()
        self._moment_ms = time_of(cluster_id)

    def _now_ms(self) -> int:
        """Of a moment of the past that moment: nothing in it grows older."""
        return now_ms() if self._moment_ms is None else self._moment_ms

    def _read_broker(self, broker: Broker) -> Broker:
        return replace(broker, feed=read_age(broker.feed, self._now_ms()))

    def _ask(self, command: str, *args: Any, **options: Any) -> Any:
        try:
            return getattr(self._redis, command)(*args, **options)
        except redis.RedisError as error:
            raise SnapshotUnavailable(f"Redis does not answer: {error}") from error

    def _name(self, name: str) -> str:
        return keys.named(self.cluster_id, name)

    def _one(self, key: str, kind: type[T]) -> T | None:
        return decode(self._ask("hget", *keys.place(self.cluster_id, key)), kind)

    def _many(self, some: Sequence[str], kind: type[T]) -> list[T]:
        """The values of several keys that lie in one hash, without those that are gone."""
        if not some:
            return []
        places = [keys.place(self.cluster_id, key) for key in some]
        return decode_all(self._ask("hmget", places[0][0], [field for _, field in places]), kind)

    def cluster(self) -> Cluster | None:
        """As it is read now: with the ages of its parts, and what its owner's silence means."""
        found = self._one(keys.CLUSTER, Cluster)
        return found and read_cluster(found, self.beat_ms(), self._now_ms())

    def beat_ms(self) -> int | None:
        """When the owner last said that it lives."""
        text = self._ask("get", self._name("beat"))
        return int(text) if text else None

    def is_kept(self) -> bool:
        """Its owner lives, and has written all of it."""
        beat_ms = self.beat_ms()
        return beat_ms is not None and self._now_ms() - beat_ms <= STALE_MS

    def as_of(self) -> AsOf:
        """How old what is here may be."""
        beat, oldest, due = [int(text) if text else None for text in self._ask("mget", list(map(self._name, ("beat", "oldest", "due"))))]
        return as_of(beat, oldest, self._now_ms(), due)

    def broker(self, broker_id: int) -> Broker | None:
        found = self._one(keys.broker(broker_id), Broker)
        return found and self._read_broker(found)

    def brokers(self) -> list[Broker]:
        found = decode_all(self._ask("hgetall", self._name("brokers")).values(), Broker)
        return sorted(map(self._read_broker, found), key=lambda b: b.broker_id)

    def topic(self, name: str) -> Topic | None:
        return self._one(keys.topic(name), Topic)

    def topic_names(self, count: int = 0) -> list[str]:
        """The first so many (0: all), those of topics that the system made for itself last."""
        return list(self._ask("zrange", self._name("topic_names"), 0, count - 1))

    def how_many(self, kind: Kind) -> int:
        return int(self._ask("zcard", self._name(index_of(kind, NAME))))

    def ordered(self, kind: Kind, column: str, first: int = 0, count: int = ALL, *, turned: bool = False) -> list[Mark]:
        """Up to `count` topics or groups from that place on, by the column in its usual order, or turned round."""
        return slice_from(self._ask, self._name(index_of(kind, column)), turned=turned, first=first, count=count)

    def ordered_after(self, kind: Kind, column: str, mark: Mark, count: int, *, turned: bool = False) -> list[Mark]:
        return slice_after(self._ask, self._name(index_of(kind, column)), mark, turned=turned, count=count)

    def scored(self, kind: Kind, column: str, low: float, high: float) -> set[str]:
        """The names whose score in the column's index lies between these, both included."""
        return set(self._ask("zrangebyscore", self._name(index_of(kind, column)), low, high))

    def scores(self, kind: Kind, columns: Sequence[str], names: Sequence[str]) -> list[tuple[float | None, ...]]:
        """Of each name its figures in these columns, as lists are sorted by them: none of the values is read for it."""
        pipe = self._redis.pipeline(transaction=False)
        for name in names:
            for column in columns:
                pipe.zscore(self._name(index_of(kind, column)), name)
        try:
            found = [None if score is None or score == UNKNOWN else score for score in pipe.execute()]
        except redis.RedisError as error:
            raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
        return list(zip(*(found[at :: len(columns)] for at in range(len(columns))), strict=True))

    def topics(self, names: Iterable[str]) -> list[Topic]:
        return self._many([keys.topic(name) for name in names], Topic)

    def group(self, name: str) -> Group | None:
        return self._one(keys.group(name), Group)

    def group_names(self, count: int = 0) -> list[str]:
        """The first so many (0: all)."""
        return list(self._ask("zrange", self._name("group_names"), 0, count - 1))

    def groups(self, names: Iterable[str]) -> list[Group]:
        return self._many([keys.group(name) for name in names], Group)

    def group_lag(self) -> int | None:
        """The sum over all groups whose lag is known."""
        text = self._ask("get", self._name("group_lag"))
        return int(text) if text else None

    def groups_behind(self, count: int) -> list[str]:
        """Those with the most lag, the longest behind in time first."""
        return list(self._ask("zrange", self._name("groups_behind"), 0, count - 1))

    def reader_names(self, topic: str) -> set[str]:
        """All groups that read the topic."""
        return set(self._ask("zrange", self._name(f"reader_lag:{topic}"), 0, -1))

    def readers(self, topic: str, count: int) -> tuple[list[Reader], int]:
        """Those that read the topic, the most lag first, and how many there are in all."""
        names = self._ask("zrange", self._name(f"reader_lag:{topic}"), 0, count - 1)
        total = int(self._ask("zcard", self._name(f"reader_lag:{topic}")))
        return self._many([keys.reader(topic, name) for name in names], Reader), total

    def lag_rows(self, group: str) -> list[Lag]:
        found = decode_all(self._ask("hgetall", self._name(f"lag:{group}")).values(), Lag)
        return sorted(found, key=lambda row: (row.topic, row.partition))

    def lags_on(self, topic: str, number: int, groups: Iterable[str]) -> list[Lag]:
        """Where these groups stand on one partition, without those that do not read it."""
        pipe = self._redis.pipeline(transaction=False)
        for name in groups:
            pipe.hget(*keys.place(self.cluster_id, keys.lag(name, topic, number)))
        try:
            return decode_all(pipe.execute(), Lag)
        except redis.RedisError as error:
            raise SnapshotUnavailable(f"Redis does not answer: {error}") from error

    def lags_of(self, groups: Sequence[str], rows_max: int) -> tuple[list[Lag], int]:
        """All rows of the first of these groups, as many as have `rows_max` together, and how many groups were left out for it."""
        counts = self._in_one("hlen", [self._name(f"lag:{name}") for name in groups])
        within = sum(total <= rows_max for total in accumulate(counts))
        found = self._in_one("hvals", [self._name(f"lag:{name}") for name in groups[:within]])
        return [row for texts in found for row in decode_all(texts, Lag)], len(groups) - within

    def in_partitions(self, topics: Sequence[str], kind: type[T]) -> list[T]:
        """Of all partitions of these topics what `kind` has of them."""
        found = self._in_one("hvals", [self._name(f"partitions:{name}") for name in topics])
        return [value for texts in found for value in decode_all(texts, kind)]

    def _in_one(self, command: str, names: Sequence[str]) -> list[Any]:
        """The same asked of several keys, `KEYS_AT_ONCE` a round trip."""
        answers: list[Any] = []
        for first in range(0, len(names), KEYS_AT_ONCE):
            pipe = self._redis.pipeline(transaction=False)
            for name in names[first : first + KEYS_AT_ONCE]:
                getattr(pipe, command)(name)
            try:
                answers += pipe.execute()
            except redis.RedisError as error:
                raise SnapshotUnavailable(f"Redis does not answer: {error}") from error
        return answers

    def partitions(self, topic: str, first: int, last: int) -> list[Partition]:
        """Partitions `first` to `last`, both included."""
        return self.some_partitions(topic, range(first, last + 1))

    def partition(self, topic: str, number: int) -> Partition | None:
        found = self._one(keys.partition(topic, number), Partition)
        return found and aged(found, self._now_ms())

    def trouble(self, count: int) -> tuple[list[Partition], int]:
        """The worst partitions that are not safe, worst first, and how many there are in all."""
        names = self._ask("zrange", self._name("trouble"), 0, count - 1)
        return self.partitions_at([place_of(name) for name in names]), self._ask("zcard", self._name("trouble"))

    def hosted(self, broker_id: int, *, leads: bool = False) -> list[Place]:
        """The partitions that a broker has a replica of, or leads, the worst first, then by name."""
        return [place_of(member) for member in self._ask("zrange", self._name(hosted(broker_id, leads=leads)), 0, -1)]

    def worst_hosted(self, broker_id: int) -> Partition | None:
        """Of all partitions that a broker has a replica of, the one that is the least safe; None where it has none."""
        found = self._ask("zrange", self._name(hosted(broker_id)), 0, 0)
        return self.partition(*place_of(found[0])) if found else None

    def partitions_at(self, places: Sequence[Place]) -> list[Partition]:
        """In this order, without those that are gone."""
        numbers: dict[str, list[int]] = {}
        for place in places:
            numbers.setdefault(place.topic, []).append(place.partition)
        found = {(topic, v.partition): v for topic, some in numbers.items() for v in self.some_partitions(topic, some)}
        return [found[place] for place in places if place in found]

    def troubled_topics(self) -> list[str]:
        """Topics with a partition that is not safe, the worst first."""
        return list(self._ask("zrange", self._name("trouble_topics"), 0, -1))

    def troubled_topics_count(self) -> int:
        return int(self._ask("zcard", self._name("trouble_topics")))

    def troubled_partitions(self, topic: str) -> list[int]:
        """The numbers of a topic's partitions that are not safe, the worst first."""
        found: dict[str, float] = {}
        cursor: int | None = None
        while cursor != 0:
            cursor, some = self._ask("zscan", self._name("trouble"), cursor or 0, match=f"{topic}/*", count=5_000)
            found |= dict(some)
        return sorted((int(name.rpartition("/")[2]) for name in found), key=lambda number: (found[f"{topic}/{number}"], number))

    def some_partitions(self, topic: str, numbers: Iterable[int]) -> list[Partition]:
        return [aged(value, self._now_ms()) for value in self._many([keys.partition(topic, number) for number in numbers], Partition)]

    def events(self, count: int) -> list[KeptEvent]:
        return decode_all(self._ask("lrange", self._name("events"), 0, count - 1), KeptEvent)

    def silent_clients(self) -> list[SilentClient]:
        """Our own clients that get nothing done."""
        return decode(self._ask("get", self._name("clients")), list[SilentClient]) or []

    def series(self) -> list[Point]:
        """Points of the overview's plot, oldest first."""
        return decode_all(reversed(self._ask("lrange", self._name("series"), 0, -1)), Point)
