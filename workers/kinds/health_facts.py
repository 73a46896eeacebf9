"""What a health report is judged from, gathered once from the snapshot, the events and the jobs, in bounds."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Max

from broker_core.contract.groups import Group
from broker_core.contract.partitions import Topic
from console.models import Cluster, Event, Job
from console.rules.report.facts import Facts, Happened, Lags, Logs, PartitionLog, Shrinks, Throttling
from console.snapshot.read import Snapshot

TROUBLE_LIMIT = 100_000
PARTITIONS_LIMIT = 20_000
"""Whose sizes and beginnings are looked at: of the topics that lagging groups read, then of the largest."""
LAGS_LIMIT = 40_000
SHRINKS_LIMIT = 2_000
DAY_MS = 24 * 3_600_000


def facts(cluster: Cluster, now_ms: int) -> Facts:
    snapshot = Snapshot(cluster.pk)
    topics = [topic for topic in snapshot.topics(snapshot.topic_names()) if topic.deleting is None]
    groups = snapshot.groups(snapshot.group_names())
    lags = _lags(snapshot, groups)
    return Facts(
        now_ms=now_ms,
        trouble=snapshot.trouble(TROUBLE_LIMIT)[0],
        brokers=snapshot.brokers(),
        topics=topics,
        groups=groups,
        clients=snapshot.silent_clients(),
        logs=_logs(snapshot, topics, {row.topic for row in lags.rows}),
        lags=lags,
        happened=happened(cluster, now_ms),
        throttling=throttling(cluster),
    )


def _lags(snapshot: Snapshot, groups: Sequence[Group]) -> Lags:
    """Of the groups that are behind, as far as is known; what has read everything can lose nothing."""
    behind = sorted((group for group in groups if group.lag), key=lambda group: (-(group.lag_s or 0), -(group.lag or 0)))
    rows, skipped = snapshot.lags_of([group.group for group in behind], LAGS_LIMIT)
    return Lags(rows, skipped, sum(group.lag is None and bool(group.topics) for group in groups))


def _logs(snapshot: Snapshot, topics: Sequence[Topic], read: set[str]) -> Logs:
    ordered = sorted(topics, key=lambda topic: (topic.topic not in read, -(topic.size_bytes or 0)))
    names, total = [], 0
    for topic in ordered:
        total += topic.partitions or 0
        if total > PARTITIONS_LIMIT:
            break
        names.append(topic.topic)
    return Logs(snapshot.in_partitions(names, PartitionLog), len(ordered) - len(names))


def happened(cluster: Cluster, now_ms: int) -> Happened:
    """Of the last day, or of as much of it as events are kept of."""
    rows = Event.objects.filter(cluster=cluster)
    since_ms = max(now_ms - DAY_MS, int(cluster.created_at.timestamp() * 1000))
    oldest = Event.objects.order_by("id").values_list("at_ms", flat=True).first()
    if oldest is not None and oldest > since_ms and Event.objects.count() >= Event.KEEP:
        since_ms = oldest
    lately = rows.filter(at_ms__gte=since_ms)
    shrinks = lately.filter(kind="isr_shrink", broker_id__isnull=False).values("broker_id", "topic", "partition")
    counted = shrinks.annotate(times=Count("id"), last_ms=Max("at_ms")).order_by("-times", "topic", "partition", "broker_id")
    return Happened(
        since_ms,
        [Shrinks(row["broker_id"] or 0, row["topic"], row["partition"], row["times"], row["last_ms"]) for row in counted[:SHRINKS_LIMIT]],
        lately.filter(kind="controller_moved").count(),
    )


def throttling(cluster: Cluster) -> list[Throttling]:
    """Jobs that hold copying back, or are about to take that away again."""
    found = []
    for pk, plan in Job.objects.filter(cluster=cluster, kind="reassignment", state__in=Job.ACTIVE).values_list("pk", "plan"):
        if set_ := (plan or {}).get("throttle"):
            found.append(Throttling(pk, frozenset(map(int, set_["before"])), frozenset(set_["topics"])))
    return found
