"""What groups have lost to retention, or are about to: the health report's rule, asked of one group, or of some as a figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from broker_core.contract.groups import Lag
from broker_core.contract.partitions import Topic
from console.rules.report.facts import Facts, Lags, Logs, PartitionLog
from console.rules.report.finding import Outcome
from console.rules.report.loss_ahead import left_ms, loss_ahead
from console.snapshot.read import Snapshot

PARTITIONS_MOST = 20_000
"""Of its topics: of those beyond it is not looked at where their logs begin, and that is said."""
ROWS_MOST = 5_000
"""Partitions of groups, and of the topics that they read, that a figure is made of."""


def losing_in_s(snapshot: Snapshot, groups: Sequence[str]) -> Mapping[str, float | None]:
    """Of each group in how many seconds retention may take a record that it has not read: 0 where it has taken some, inf where nothing is
    ahead, None where that is not known."""
    rows, skipped = snapshot.lags_of(groups, ROWS_MOST)
    behind = [row for row in rows if row.lag]
    topics = {topic.topic: topic for topic in snapshot.topics(sorted({row.topic for row in behind}))}
    starts = {(one.topic, one.partition): one.log_start_offset for one in _logs(snapshot, topics.values(), ROWS_MOST)}
    found: dict[str, float | None] = dict.fromkeys(groups[: len(groups) - skipped], math.inf)
    for row in behind:
        topic = topics.get(row.topic)
        left = left_ms(row, starts.get((row.topic, row.partition)), topic.own_settings) if topic else math.inf
        found[row.group] = _nearest(found[row.group], None if isinstance(left, str) else max(left / 1000, 0.0))
    return found


def _nearest(one: float | None, other: float | None) -> float | None:
    """A loss that is known to be ahead counts, whatever is not known of other partitions."""
    known = [value for value in (one, other) if value is not None]
    nearest = min(known, default=math.inf)
    return nearest if len(known) == 2 or nearest < math.inf else None


def _logs(snapshot: Snapshot, topics: Iterable[Topic], most: int) -> list[PartitionLog]:
    """Of the topics until they have `most` partitions together."""
    names, total = [], 0
    for topic in topics:
        total += topic.partitions or 0
        if total <= most:
            names.append(topic.topic)
    return snapshot.in_partitions(names, PartitionLog)


def losses(snapshot: Snapshot, rows: Sequence[Lag]) -> Outcome:
    """By what was known when the snapshot was last known to be true."""
    behind = [row for row in rows if row.lag]
    at_ms = snapshot.as_of().at_ms
    if not behind or at_ms is None:
        return Outcome()
    topics = snapshot.topics(sorted({row.topic for row in behind}))
    logs = Logs(_logs(snapshot, topics, PARTITIONS_MOST))
    return loss_ahead(Facts(now_ms=at_ms, topics=topics, logs=logs, lags=Lags(behind)))
