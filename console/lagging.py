"""What a group has lost to retention, or is about to: the health report's rule, asked of one group."""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.contract.groups import Lag
from console.rules.report.facts import Facts, Lags, Logs, PartitionLog
from console.rules.report.finding import Outcome
from console.rules.report.loss_ahead import loss_ahead
from console.snapshot.read import Snapshot

PARTITIONS_MOST = 20_000
"""Of its topics: of those beyond it is not looked at where their logs begin, and that is said."""


def losses(snapshot: Snapshot, rows: Sequence[Lag]) -> Outcome:
    """By what was known when the snapshot was last known to be true."""
    behind = [row for row in rows if row.lag]
    at_ms = snapshot.as_of().at_ms
    if not behind or at_ms is None:
        return Outcome()
    topics = snapshot.topics(sorted({row.topic for row in behind}))
    names, total = [], 0
    for topic in topics:
        total += topic.partitions or 0
        if total <= PARTITIONS_MOST:
            names.append(topic.topic)
    logs = Logs(snapshot.in_partitions(names, PartitionLog))
    return loss_ahead(Facts(now_ms=at_ms, topics=topics, logs=logs, lags=Lags(behind)))
