"""Throttled replication (KIP-73): a moved replica copies at most so many bytes a second.

The rate is set per broker (`leader.` and `follower.replication.throttled.rate`), the replicas it applies to per topic
(`*.replication.throttled.replicas`: `partition:broker,…` or `*`; each broker looks for its own id). All traffic of such
replicas is counted, but only one that is not in sync is ever held back: a member of the ISR is never made to fall out.
The rate is that of the samples before (`replication.quota.window.num` less one, of `replication.quota.window.size.seconds` each: ten
seconds by default) and the present one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from broker_core.config import ConfigHolder
from broker_core.model import TopicPartition

SAMPLE_MS = 1_000
SAMPLES = 11
"""Kafka's defaults."""
UNLIMITED = 2**63 - 1


class Rate:
    """Bytes a second over a sliding window of samples."""

    def __init__(self, samples: int = SAMPLES, sample_ms: float = SAMPLE_MS) -> None:
        self._sample_ms = sample_ms
        self._window_ms = samples * sample_ms
        self._samples: deque[list[float]] = deque()

    def record(self, size: int, now_ms: float) -> None:
        if not self._samples or now_ms - self._samples[-1][0] >= self._sample_ms:
            self._samples.append([now_ms, 0])
        self._samples[-1][1] += size

    def per_second(self, now_ms: float) -> float:
        while self._samples and now_ms - self._samples[0][0] >= self._window_ms:
            self._samples.popleft()
        if not self._samples:
            return 0.0
        elapsed_ms = max(self._sample_ms, now_ms - self._samples[0][0])
        return sum(size for _, size in self._samples) * 1_000 / elapsed_ms


class ReplicationQuotaManager:
    """One direction of one broker: `limit` gives its rate now, `listed` a topic's throttled replicas."""

    def __init__(
        self, broker_id: int, limit: Callable[[], int], listed: Callable[[str], tuple[str, ...]], rate: Rate | None = None
    ) -> None:
        self._broker_id = broker_id
        self._limit = limit
        self._listed = listed
        self._rate = rate or Rate()

    def applies_to(self, tp: TopicPartition) -> bool:
        if self._limit() == UNLIMITED:
            return False
        listed = self._listed(tp.topic)
        return "*" in listed or f"{tp.partition}:{self._broker_id}" in listed

    def record(self, tp: TopicPartition, size: int, now_ms: float) -> None:
        if size and self.applies_to(tp):
            self._rate.record(size, now_ms)

    def holds_back(self, tp: TopicPartition, now_ms: float, *, in_sync: bool) -> bool:
        """Whether this replica has to wait now."""
        return not in_sync and self.applies_to(tp) and self._rate.per_second(now_ms) > self._limit()


def leader_quota(broker_id: int, config: ConfigHolder) -> ReplicationQuotaManager:
    """What this broker sends to throttled replicas."""
    return ReplicationQuotaManager(
        broker_id,
        lambda: config.current.leader_replication_throttled_rate,
        lambda topic: config.topic(topic).leader_replication_throttled_replicas,
        _rate(config),
    )


def follower_quota(broker_id: int, config: ConfigHolder) -> ReplicationQuotaManager:
    """What this broker fetches for throttled replicas."""
    return ReplicationQuotaManager(
        broker_id,
        lambda: config.current.follower_replication_throttled_rate,
        lambda topic: config.topic(topic).follower_replication_throttled_replicas,
        _rate(config),
    )


def _rate(config: ConfigHolder) -> Rate:
    static = config.static
    return Rate(static.replication_quota_window_num, static.replication_quota_window_size_seconds * 1_000)
