"""What pages and REST read: from the Redis snapshot and the database, a page at a time. Nothing here asks a broker but `topic_configs`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from django.conf import settings
from django.db.models import QuerySet

from broker_core.contract import live
from broker_core.contract.groups import Group, Lag, Member
from broker_core.contract.jobs import Job as JobValue
from broker_core.contract.moments import Differences, Kept, Track
from broker_core.contract.partitions import Partition, Topic
from broker_core.contract.sentences import KeptEvent, Level
from console.addressing import base_of
from console.clock import now_ms
from console.gateway.connection import connection_of
from console.gateway.kafka_cluster import KafkaCluster
from console.gateway.topic_keys import CREATE_KEYS, known
from console.models import (
    AuditEntry,
    Cluster,
    Event,
    Job,
    OffsetChange,
    event_value,
    job_value,
)
from console.rules.controller_words import controller_sentence
from console.rules.states import CLUSTER_WORDS
from console.rules.words import spans, whole
from console.snapshot import keys, moments
from console.snapshot.freshness import as_of
from console.snapshot.glances import Glance, glances
from console.snapshot.read import Snapshot, SnapshotUnavailable
from console.snapshot.sorting import STATE_RANK

Value = dict[str, Any]
Item = TypeVar("Item")
Row = TypeVar("Row")
TROUBLE_SHOWN = 20
GROUPS_SHOWN = 10
READERS_SHOWN = 50
TRACK_MOST = 300
NAME_MAX = 300
"""Characters of what may be asked for by name."""


class BadQuery(Exception):
    """A value of an address's query that nothing can be asked with; `field` names the parameter."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field


class BadCursor(BadQuery):
    """A page cursor that was not made by us."""

    def __init__(self) -> None:
        super().__init__("cursor", "The cursor is not one of ours: take it from `next` of the page before.")


class NotKnown(Exception):
    """Nobody tells now whether what was asked for is there."""


class NotFound(Exception):
    """The thing asked for is not in the snapshot or the database; the message names it."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """One page of rows out of `total`."""

    rows: list[Row]
    page: int
    last: int
    total: int


def local_cluster() -> Cluster:
    return Cluster.objects.get(pk=settings.LOCAL_CLUSTER)


def cluster_of(cluster_id: str) -> Cluster:
    found = Cluster.objects.filter(pk=cluster_id).first()
    if found is None:
        raise NotFound(f"There is no cluster {cluster_id!r}.")
    return found


def cluster_at(name: str) -> Cluster:
    """A registered cluster as it is now, or by `local@1763882590000` as it was then: what is read of it is that moment's."""
    cluster_id, at, _ = name.partition("@")
    cluster = cluster_of(cluster_id)
    if at:
        look_back(cluster, moments.time_of(name))
    return cluster


def look_back(cluster: Cluster, at_ms: int | None) -> None:
    """From now on what is read of it is what was recorded then."""
    if at_ms is None:
        raise NotFound("A moment is a number of milliseconds since 1970.")
    moments.lay_out(cluster.pk, at_ms)
    cluster.moment_ms = at_ms


def kept(cluster: Cluster) -> Kept:
    """What there is of its past."""
    return moments.kept(cluster.pk)


def changes(cluster: Cluster, from_ms: int | None, to_ms: int | None) -> Differences:
    """What changed between two moments, the earlier first; the oldest that is kept and the newest where none are given."""
    known = kept(cluster)
    first, last = from_ms if from_ms is not None else known.oldest_ms or 0, to_ms if to_ms is not None else known.newest_ms or 0
    if first > last:
        raise BadQuery("from_ms", "The first moment is later than the second.")
    return moments.compare(cluster.pk, first, last).differences or Differences(from_ms=first, to_ms=last)


def track(cluster: Cluster, kind: str, name: str, *, minutes: int, most: int = TRACK_MOST) -> Track:
    """Figures of a group, a topic or a broker in the last minutes, before the moment that the cluster is shown at."""
    return tracks(cluster, kind, [name], minutes=minutes, most=most)[0]


def tracks(cluster: Cluster, kind: str, names: Sequence[str], *, minutes: int, most: int = TRACK_MOST) -> tuple[Track, ...]:
    """The same of several of a kind."""
    until = cluster.moment_ms if cluster.moment_ms is not None else now_ms()
    known = [keys.group(name) if kind == "group" else f"{kind}/{name}" for name in names]
    return moments.tracks(cluster.pk, known, max(until - minutes * 60_000, 0), until, most) if known else ()


def cluster_ids() -> list[str]:
    return sorted(Cluster.objects.values_list("pk", flat=True))


def seen(cluster: Cluster) -> tuple[live.Cluster | None, live.AsOf]:
    """What is known of the cluster live, and how old that is; nothing where Redis does not answer."""
    try:
        snapshot = Snapshot(cluster.snapshot_id)
        return snapshot.cluster(), snapshot.as_of()
    except SnapshotUnavailable:
        return None, as_of(None, None, 0)


class ControllerSeen(NamedTuple):
    """Who the controller is, as last seen, with the words of its page; `broker` is null where none is, or not told."""

    live: live.Cluster | None
    as_of: live.AsOf
    broker: live.Broker | None
    level: Level
    sentence: str


def controller(snapshot: Snapshot, brokers: Sequence[live.Broker]) -> ControllerSeen:
    found, age = snapshot.cluster(), snapshot.as_of()
    own = next((broker for broker in brokers if broker.is_controller), None)
    return ControllerSeen(found, age, own, *controller_sentence(found, age, own.controller if own else None))


class ClusterRow(NamedTuple):
    """A cluster among others: how it is in words, with the level that colours them."""

    cluster: Cluster
    url: str
    is_own: bool
    level: str
    words: str
    sentence: str
    live: live.Cluster | None
    as_of: live.AsOf
    behind: int | None


def clusters_at_a_glance() -> list[ClusterRow]:
    """All of them, the own one first, the others by name; `SnapshotUnavailable` without Redis."""
    rows = sorted(Cluster.objects.all(), key=lambda one: (one.pk != settings.LOCAL_CLUSTER, one.name.casefold()))
    return [_cluster_row(*pair) for pair in zip(rows, glances([row.pk for row in rows]), strict=True)]


def clusters_or_none() -> list[ClusterRow]:
    """For the top bar, which a page without Redis has too."""
    try:
        return clusters_at_a_glance()
    except SnapshotUnavailable:
        rows = sorted(Cluster.objects.all(), key=lambda one: (one.pk != settings.LOCAL_CLUSTER, one.name.casefold()))
        return [_cluster_row(row, Glance(None, as_of(None, None, 0), None)) for row in rows]


def _cluster_row(cluster: Cluster, glance: Glance) -> ClusterRow:
    verdict = glance.live.verdict if glance.live else None
    level = verdict.level if verdict else "unknown"
    sentence = verdict.text if verdict else "Nothing is known of this cluster yet."
    if level == "unknown" and not (glance.live and glance.live.brokers_total):
        glance = Glance(None, as_of(None, None, 0), None)  # nobody has ever answered: no figure of it is one
    is_own, url = cluster.pk == settings.LOCAL_CLUSTER, base_of(cluster.pk) + "/"
    return ClusterRow(cluster, url, is_own, level, CLUSTER_WORDS[level], sentence, *glance)


# --- pages of names


def page_of(names: Sequence[Item], page: int, size: int) -> tuple[Sequence[Item], int, int]:
    """The names (or numbers) on a page (the nearest there is), its number, and the last page's."""
    last = max((len(names) + size - 1) // size, 1)
    page = min(max(page, 1), last)
    return names[(page - 1) * size : page * size], page, last


def troubled_page(snapshot: Snapshot, topic: Topic, page: int, size: int) -> Page[Partition]:
    """The partitions that are not safe, the worst first."""
    shown, page, last = page_of(numbers := snapshot.troubled_partitions(topic.topic), page, size)
    return Page(snapshot.some_partitions(topic.topic, shown), page, last, len(numbers))


SORTED_MOST = 2_000
"""Partitions of one topic that are read to sort them by what only their values hold."""
PARTITION_COLUMNS: dict[str, Callable[[Partition], float | None]] = {
    "partition": lambda row: row.partition,
    "state": lambda row: -STATE_RANK[row.state],
    "leader": lambda row: row.leader,
    "isr": lambda row: len(row.isr),
    "high_watermark": lambda row: row.high_watermark,
    "log_end_offset": lambda row: row.log_end_offset,
    "kept": lambda row: row.kept,
    "furthest_behind": lambda row: row.furthest_behind,
    "size_bytes": lambda row: row.size_bytes,
    "leader_epoch": lambda row: row.leader_epoch,
}
RISING = ("partition", "leader", "isr")
"""Of these the usual order is the ascending one: the fewest in sync come first."""


def partitions_sorted(snapshot: Snapshot, topic: Topic, page: int, size: int, column: str, *, falling: bool) -> Page[Partition]:
    """Of all the topic's partitions, those whose figure is not known last; `BadQuery` where there are too many to be sorted."""
    total, score = topic.partitions or 0, PARTITION_COLUMNS[column]
    if total > SORTED_MOST and column != "partition":
        raise BadQuery("sort", f"{topic.topic} has more than {whole(SORTED_MOST)} partitions: they are shown by number.")
    scored = [(score(row), row.partition) for row in snapshot.partitions(topic.topic, 0, total - 1)]
    ordered = sorted(scored, key=lambda one: (one[0] is None, -(one[0] or 0) if falling else one[0] or 0, one[1]))
    shown, page, last = page_of([number for _, number in ordered], page, size)
    return Page(snapshot.some_partitions(topic.topic, shown), page, last, total)


def absent(snapshot: Snapshot, what: str, *, is_group: bool = False) -> Exception:
    """What the snapshot does not have is not there where somebody keeps it up to date; of groups all brokers tell."""
    if snapshot.is_kept() and not (is_group and snapshot.as_of().stale):
        return NotFound(f"There is no {what}.")
    who = "not all brokers are heard" if snapshot.is_kept() else "nobody tells of the cluster"
    return NotKnown(f"Whether there is a {what} is not known now: {who}.")


def partition_or_fail(snapshot: Snapshot, topic: str, number: int) -> Partition:
    found = snapshot.partition(topic, number)
    if found is None:
        raise absent(snapshot, f"partition {number} of a topic {topic!r}")
    return found


def partitions_page(snapshot: Snapshot, topic: Topic, page: int, size: int = 100) -> Page[Partition]:
    total = topic.partitions or 0
    last = max((total + size - 1) // size, 1)
    page = min(max(page, 1), last)
    first = (page - 1) * size
    return Page(snapshot.partitions(topic.topic, first, min(first + size, total) - 1), page, last, total)


def topic_or_fail(snapshot: Snapshot, name: str) -> Topic:
    topic = snapshot.topic(name)
    if topic is None:
        raise absent(snapshot, f"topic {name!r}")
    return topic


def group_or_fail(snapshot: Snapshot, name: str) -> Group:
    group = snapshot.group(name)
    if group is None:
        raise absent(snapshot, f"group {name!r}", is_group=True)
    return group


def trouble(snapshot: Snapshot, count: int = TROUBLE_SHOWN) -> tuple[list[Partition], int]:
    """The worst partitions, and how many more there are."""
    found, total = snapshot.trouble(count)
    return found, max(total - len(found), 0)


def groups_behind(snapshot: Snapshot) -> list[Group]:
    """Of all groups those with the most lag: the index has them in order."""
    groups = snapshot.groups(snapshot.groups_behind(GROUPS_SHOWN))
    return sorted((g for g in groups if g.lag), key=lambda g: (-(g.lag_s or 0), -(g.lag or 0)))


class ReadBy(NamedTuple):
    """A group that reads a topic, with its lag there."""

    group: str
    state: str | None
    lag: int | None
    members: tuple[tuple[Member, str], ...]
    """Who reads partitions of it for the group, and which of them: `0-2, 5`."""


def groups_reading(snapshot: Snapshot, topic: str) -> tuple[list[ReadBy], int]:
    """Of all groups that read the topic those with the most lag on it, and how many more there are."""
    readers, total = snapshot.readers(topic, READERS_SHOWN)
    known = {group.group: group for group in snapshot.groups(reader.group for reader in readers)}
    found = ((known[reader.group], reader.lag) for reader in readers if reader.group in known)
    rows = [ReadBy(group.group, group.state, lag, members_of(group, topic)) for group, lag in found]
    return rows, max(total - len(rows), 0)


def members_of(group: Group, topic: str) -> tuple[tuple[Member, str], ...]:
    """The members that are assigned partitions of the topic, with the numbers of these."""
    read = ((member, [place.partition for place in member.partitions if place.topic == topic]) for member in group.members)
    return tuple((member, spans(numbers)) for member, numbers in read if numbers)


class Position(NamedTuple):
    """Where a group that reads a partition stands."""

    group: str
    state: str | None
    lag: Lag


def positions(snapshot: Snapshot, topic: str, number: int) -> tuple[list[Position], int]:
    """Of the groups with the most lag on the topic those that read this partition of it, and how many groups were not looked at."""
    readers, total = snapshot.readers(topic, READERS_SHOWN)
    names = [reader.group for reader in readers]
    states = {group.group: group.state for group in snapshot.groups(names)}
    rows = [Position(row.group, states.get(row.group), row) for row in snapshot.lags_on(topic, number, names)]
    return sorted(rows, key=lambda row: (-(row.lag.lag or 0), row.group)), max(total - len(readers), 0)


def series(snapshot: Snapshot) -> Value:
    points = snapshot.series()
    return {
        "t": [p.at_ms for p in points],
        "produce": [p.produce_bytes_per_s for p in points],
        "fetch": [p.fetch_bytes_per_s for p in points],
        "messages": [p.messages_per_s for p in points],
    }


# --- configs


def topic_configs(cluster: Cluster, name: str) -> list[Value]:
    """The topic's settings with what Kafka's table says of each."""
    return [{**row, **known(row["name"], row["doc"])} for row in KafkaCluster(connection_of(cluster)).topic_configs(name)]


def creation_settings(chosen: Value) -> list[Value]:
    """The settings offered when a topic is created, with the defaults of a local broker; and any other that is chosen already."""
    names = [*CREATE_KEYS, *sorted(chosen.keys() - set(CREATE_KEYS))]
    rows = [{"name": name, "value": known(name)["default"], **known(name), "chosen": chosen.get(name, "")} for name in names]
    rows[0]["value"] = "2"
    return rows


# --- database


def jobs(cluster: Cluster, page: int, size: int = 25) -> Page[JobValue]:
    rows = Job.objects.filter(cluster=cluster).order_by("-id")
    return _database_page(rows, page, size, job_value)


def active_jobs(cluster: Cluster) -> list[JobValue]:
    """None of the past: what a job's state was then is not kept."""
    if cluster.moment_ms is not None:
        return []
    return [job_value(job) for job in Job.objects.filter(cluster=cluster, state__in=Job.ACTIVE).order_by("-id")[:20]]


def job_or_fail(job_id: int, cluster: Cluster | None = None) -> Job:
    """Of one cluster, or of any."""
    found = Job.objects.select_related("cluster").filter(pk=job_id).first()
    if found is None or (cluster is not None and found.cluster_id != cluster.pk):
        raise NotFound(f"There is no job {job_id}.")
    return found


def offset_changes(cluster: Cluster, group: str, before: int | None = None, count: int = 10) -> list[OffsetChange]:
    """Newest first; none on a page of the past, which they are not part of."""
    if cluster.moment_ms is not None:
        return []
    rows = OffsetChange.objects.filter(cluster=cluster, group=group).order_by("-id")
    return list((rows.filter(id__lt=before) if before is not None else rows)[:count])


def offset_change_or_fail(cluster: Cluster, change_id: int, group: str | None = None) -> OffsetChange:
    found = OffsetChange.objects.filter(cluster=cluster, pk=change_id if change_id < 2**63 else -1).first()
    if found is None or group not in (None, found.group):
        raise NotFound(f"No change {change_id} of {'a group' if group is None else group} is kept: only the last ones of this console are.")
    return found


def _database_page(rows: QuerySet[Any], page: int, size: int, value: Callable[[Any], Row]) -> Page[Row]:
    total = rows.count()
    last = max((total + size - 1) // size, 1)
    page = min(max(page, 1), last)
    return Page([value(row) for row in rows[(page - 1) * size : page * size]], page, last, total)


class EventQuery(NamedTuple):
    """Which events: what is empty or None leaves nothing out. `text` is a part of the sentence, in any case of letters; times are ms since
    1970, the first and the last that are meant."""

    text: str = ""
    kind: str = ""
    level: str = ""
    topic: str = ""
    partition: int | None = None
    broker: int | None = None
    group: str = ""
    from_ms: int | None = None
    until_ms: int | None = None

    def conditions(self) -> Value:
        asked: Value = {
            "sentence__icontains": self.text,
            "kind": self.kind,
            "level": self.level,
            "topic": self.topic,
            "partition": self.partition,
            "broker_id": self.broker,
            "group": self.group,
            "at_ms__gte": self.from_ms,
            "at_ms__lte": self.until_ms,
        }
        return {name: value for name, value in asked.items() if value not in ("", None)}


ALL_EVENTS = EventQuery()


def _events(cluster: Cluster, query: EventQuery) -> QuerySet[Event]:
    conditions = query.conditions()
    if any("\0" in value for value in conditions.values() if isinstance(value, str)):
        return Event.objects.none()  # no text has it, and PostgreSQL refuses to be asked
    rows = Event.objects.filter(cluster=cluster, **conditions)
    return rows if cluster.moment_ms is None else rows.filter(at_ms__lte=cluster.moment_ms)


def events(cluster: Cluster, query: EventQuery = ALL_EVENTS, *, before: int | None = None, count: int = 50) -> list[KeptEvent]:
    """Newest first; `before` is an event id."""
    rows = _events(cluster, query)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return [event_value(row) for row in rows.order_by("-id")[:count]]


def events_counted(cluster: Cluster, query: EventQuery, most: int) -> int:
    """How many there are, `most` if there are more."""
    return _events(cluster, query).order_by("-id")[:most].count()


def last_events(cluster: Cluster, snapshot: Snapshot, count: int) -> list[KeptEvent]:
    """Newest first; up to its moment, where it is looked at in the past."""
    return snapshot.events(count) if cluster.moment_ms is None else events(cluster, count=count)


def events_around(cluster: Cluster, at_ms: int) -> tuple[KeptEvent | None, KeptEvent | None]:
    """The last before a moment and the first after it."""
    rows = Event.objects.filter(cluster=cluster)
    before = rows.filter(at_ms__lt=at_ms).order_by("-at_ms", "-id").first()
    after = rows.filter(at_ms__gt=at_ms).order_by("at_ms", "id").first()
    return None if before is None else event_value(before), None if after is None else event_value(after)


def events_between(cluster: Cluster, from_ms: int, to_ms: int, count: int) -> list[KeptEvent]:
    """Newest first."""
    return [
        event_value(row) for row in Event.objects.filter(cluster=cluster, at_ms__range=(from_ms, to_ms)).order_by("-at_ms", "-id")[:count]
    ]


def marks(cluster: Cluster, from_ms: int, to_ms: int, count: int) -> list[KeptEvent]:
    """Of what happened between two moments what was worth a warning, the newest of it."""
    rows = Event.objects.filter(cluster=cluster, at_ms__range=(from_ms, to_ms), level__in=("warn", "bad"))
    return [event_value(row) for row in rows.order_by("-at_ms")[:count]]


def event_kinds(cluster: Cluster) -> list[str]:
    """Those that are known, and any other that has happened."""
    seen = Event.objects.filter(cluster=cluster).values_list("kind", flat=True).distinct()
    return sorted({*Event.KINDS, *seen})


def known_choice(field: str, value: str, choices: Sequence[str]) -> str:
    """The value, empty (any) or one of the choices; else `BadQuery`."""
    if value and value not in choices:
        raise BadQuery(field, f"{value[:60]!r} is no {field}: give one of {', '.join(choices)}.")
    return value


def audit(before: int | None, count: int = 50, cluster: str = "") -> list[AuditEntry]:
    """Newest first, of one cluster or (empty) of all and of the console itself."""
    rows = AuditEntry.objects.order_by("-id")
    rows = rows.filter(cluster=cluster) if cluster else rows
    return list((rows.filter(id__lt=before) if before is not None else rows)[:count])


def last_job(cluster: Cluster, kind: str) -> JobValue | None:
    found = Job.objects.filter(cluster=cluster, kind=kind).order_by("-id").first()
    return job_value(found) if found else None


# --- cursors


def cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> str:
    """What `cursor` was made of."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise BadCursor from error
