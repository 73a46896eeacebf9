"""Which brokers, topics and groups a picture has: few enough to be told apart, the worst and busiest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from broker_core.contract.groups import Group
from broker_core.contract.live import Broker
from broker_core.contract.partitions import Partition
from console import heat_map
from console.queries import BadQuery, absent
from console.snapshot.placed import Place
from console.snapshot.read import Snapshot
from console.snapshot.sorting import topic_rank
from console.topology.model import KINDS, BrokerNode, Focus, GroupNode, Reads, Stands, TopicNode, Topology

BROKERS_MAX = TOPICS_MAX = GROUPS_MAX = 24
PARTITIONS_MAX = 1_000
READERS_MAX = 8
"""Of a topic among others; alone it has all that fit."""
Standing = Mapping[tuple[str, int], Counter[heat_map.Kind]]


def focus_of(text: str) -> Focus | None:
    """`topic:orders`, `broker:2`, `group:billing`; raises `BadQuery`."""
    if not text:
        return None
    kind, colon, name = text.partition(":")
    if kind not in KINDS or not colon or (kind == "broker" and not (name.isascii() and name.isdigit())):
        raise BadQuery("focus", "Name one thing to look at, as in topic:orders, broker:2 or group:billing.")
    return Focus(next(known for known in KINDS if known == kind), name)


def topology(snapshot: Snapshot, focus: Focus | None = None, text: str = "") -> Topology:
    """`text` is a part of the topics' names, in any case of letters; raises `NotFound` or `NotKnown` where nothing of the focus's name is
    there."""
    brokers = {one.broker_id: one for one in snapshot.brokers()}
    names, total = _topic_names(snapshot, focus, text.lower(), brokers)
    topics = sorted(snapshot.topics(names), key=lambda one: (topic_rank(one.state, one.topic), one.topic))
    each = PARTITIONS_MAX // max(len(topics), 1)
    places = [Place(one.topic, number) for one in topics for number in range(min(one.partitions or 0, each))]
    standing = _standing(snapshot.partitions_at(places), brokers)
    shown, more_brokers = _brokers(brokers, standing, focus)
    groups, reads, more_groups = _readers(snapshot, [one.topic for one in topics], focus)
    return Topology(
        focus=focus.text if focus else None,
        brokers=tuple(shown),
        topics=tuple(TopicNode(topic=one.topic, state=one.state, partitions=one.partitions, groups=one.groups) for one in topics),
        groups=tuple(GroupNode(group=one.group, state=one.state, trend=one.trend, lag=one.lag) for one in groups),
        stands=tuple(_stands(standing, {one.broker_id for one in shown})),
        reads=tuple(reads),
        more_brokers=more_brokers,
        more_topics=max(total - len(topics), 0),
        more_groups=more_groups,
        more_partitions=sum(max((one.partitions or 0) - each, 0) for one in topics),
        as_of=snapshot.as_of(),
    )


# --- topics


def _topic_names(snapshot: Snapshot, focus: Focus | None, text: str, brokers: Mapping[int, Broker]) -> tuple[list[str], int]:
    """Those that are shown, and how many there are."""
    if focus is None:
        return _of_all(snapshot, text)
    if focus.kind == "topic":
        if snapshot.topic(focus.name) is None:
            raise absent(snapshot, f"topic {focus.name!r}")
        return [focus.name], 1
    found = list(_group(snapshot, focus.name).topics) if focus.kind == "group" else _hosted(snapshot, int(focus.name), brokers)
    found = [name for name in found if text in name.lower()]
    return found[:TOPICS_MAX], len(found)


def _of_all(snapshot: Snapshot, text: str) -> tuple[list[str], int]:
    troubled = snapshot.troubled_topics()
    if text:
        known = [name for name in snapshot.topic_names() if text in name.lower()]
        return _first([name for name in troubled if text in name.lower()], known), len(known)
    busy = [mark.name for column in ("lag", "messages_per_s") for mark in snapshot.ordered("topic", column, 0, TOPICS_MAX)]
    own = [name for name in busy if not name.startswith("__")]
    return _first(troubled, own, snapshot.topic_names(TOPICS_MAX)), snapshot.how_many("topic")


def _first(*lists: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))[:TOPICS_MAX]


def _hosted(snapshot: Snapshot, broker_id: int, brokers: Mapping[int, Broker]) -> list[str]:
    found = list(dict.fromkeys(place.topic for place in snapshot.hosted(broker_id)))
    if not found and broker_id not in brokers:
        raise absent(snapshot, f"broker {broker_id}")
    return found


# --- brokers


def _standing(partitions: Sequence[Partition], brokers: Mapping[int, Broker]) -> Standing:
    online = {one.broker_id: one.state == "online" for one in brokers.values()}
    found: dict[tuple[str, int], Counter[heat_map.Kind]] = {}
    for one in partitions:
        for broker in one.assignment:
            found.setdefault((one.topic, broker), Counter())[heat_map.kind_of(one, broker, online)] += 1
    return found


def _brokers(brokers: Mapping[int, Broker], standing: Standing, focus: Focus | None) -> tuple[list[BrokerNode], int]:
    """In the order of their ids; where there are too many, those that do not run and those that lead the most are taken."""
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    for (_, broker), kinds in standing.items():
        leads[broker] += kinds["leader"]
        replicas[broker] += kinds.total()
    ids = {int(focus.name)} if focus and focus.kind == "broker" else {*replicas, *(() if focus else brokers)}
    states = {broker: brokers[broker].state if broker in brokers else "unknown" for broker in ids}
    taken = sorted(ids, key=lambda broker: (states[broker] == "online", -leads[broker], broker))[:BROKERS_MAX]
    nodes = [BrokerNode(broker_id=one, state=states[one], leads=leads[one], replicas=replicas[one]) for one in sorted(taken)]
    return nodes, len(ids) - len(nodes)


def _stands(standing: Standing, shown: set[int]) -> Iterable[Stands]:
    for (topic, broker), kinds in standing.items():
        if broker in shown:
            yield Stands(
                topic=topic,
                broker_id=broker,
                leads=kinds["leader"],
                in_sync=kinds["follower"],
                joining=kinds["joining"],
                out_of_sync=kinds["behind"],
                absent=kinds["lost"],
            )


# --- groups


def _group(snapshot: Snapshot, name: str) -> Group:
    found = snapshot.group(name)
    if found is None:
        raise absent(snapshot, f"group {name!r}", is_group=True)
    return found


def _readers(snapshot: Snapshot, topics: Sequence[str], focus: Focus | None) -> tuple[list[Group], list[Reads], int]:
    if focus and focus.kind == "group":
        return [_group(snapshot, focus.name)], _reads_of(snapshot, focus.name, topics), 0
    found, more = [], 0
    for topic in topics:
        readers, total = snapshot.readers(topic, GROUPS_MAX if len(topics) == 1 else READERS_MAX)
        found += [Reads(group=one.group, topic=topic, lag=one.lag) for one in readers]
        more = max(more, total - len(readers))
    by_lag = sorted(found, key=_lag_rank)
    names = list(dict.fromkeys(one.group for one in by_lag))
    taken = names[:GROUPS_MAX]
    groups = snapshot.groups(taken)
    known = {one.group for one in groups}
    return groups, [one for one in found if one.group in known], more + len(names) - len(taken)


def _lag_rank(reads: Reads) -> tuple[int, int]:
    """Those that lag, the most first, then those of which it is not known, then those that do not."""
    return (1, 0) if reads.lag is None else (0 if reads.lag > 0 else 2, -reads.lag)


def _reads_of(snapshot: Snapshot, group: str, topics: Sequence[str]) -> list[Reads]:
    lags: dict[str, list[int | None]] = {}
    for row in snapshot.lag_rows(group):
        lags.setdefault(row.topic, []).append(row.lag)
    return [Reads(group=group, topic=topic, lag=_sum(lags.get(topic, []))) for topic in topics]


def _sum(lags: Sequence[int | None]) -> int | None:
    """Known where all of them are."""
    known = [lag for lag in lags if lag is not None]
    return sum(known) if known and len(known) == len(lags) else None
