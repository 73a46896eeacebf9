"""Counters and histograms of one broker; plain numbers on the broker's loop, read by Prometheus and the state feed (spec N1, O1)."""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct, field

from broker_core.telemetry.old_requests import OldRequests

LATENCY_BUCKETS_MS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 5000.0, 30_000.0, 300_000.0)


class Histogram:
    """Counts of durations by upper bound; the last bucket has none."""

    __slots__ = ("count", "counts", "total_ms")

    def __init__(self) -> None:
        self.counts = [0] * (len(LATENCY_BUCKETS_MS) + 1)
        self.count = 0
        self.total_ms = 0.0

    def observe(self, duration_ms: float) -> None:
        self.counts[bisect_left(LATENCY_BUCKETS_MS, duration_ms)] += 1
        self.count += 1
        self.total_ms += duration_ms

    def quantile_ms(self, fraction: float) -> float | None:
        """The upper bound of the bucket that the fraction falls into; None without observations, and beyond the last bound."""
        if not self.count:
            return None
        wanted, seen = fraction * self.count, 0
        for bound, count in zip(LATENCY_BUCKETS_MS, self.counts, strict=False):
            seen += count
            if seen >= wanted:
                return bound
        return None


STAGES = ("request_queue", "local", "remote", "response_send", "total")


class StageTimes(Struct):
    """Where one API key's requests spend their time: Kafka's stages, as far as a broker of one loop has them.

    request_queue  RequestQueueTimeMs: from the frame's last byte to the start of its handling
    local          LocalTimeMs: on the loop, from decoding to the encoded answer, also after a wait
    remote         RemoteTimeMs: waiting for others: in a purgatory, for ZooKeeper, the disk, another broker, and for its turn after that
    response_send  ResponseSendTimeMs: from the answer until the transport has taken it (what its buffer holds counts as taken)
    total          TotalTimeMs: all of these

    ResponseQueueTimeMs does not exist here, since whoever makes an answer hands it to the transport itself; how long clients were told
    to wait for their quotas is counted apart (`quotas/client_quotas.py`), since no answer waits for that.
    """

    request_queue: Histogram = field(default_factory=Histogram)
    local: Histogram = field(default_factory=Histogram)
    remote: Histogram = field(default_factory=Histogram)
    response_send: Histogram = field(default_factory=Histogram)
    total: Histogram = field(default_factory=Histogram)

    def observe(self, queue_ms: float, local_ms: float, remote_ms: float, send_ms: float) -> None:
        """One request that has been answered."""
        self.request_queue.observe(queue_ms)
        self.local.observe(local_ms)
        self.remote.observe(remote_ms)
        self.response_send.observe(send_ms)
        self.total.observe(queue_ms + local_ms + remote_ms + send_ms)


class ApiMetrics(Struct):
    """One API key's requests: how many, how large, how long from the start of the handling to the answer ready, and in which stage."""

    requests: int = 0
    failures: int = 0
    in_flight: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    latency: Histogram = field(default_factory=Histogram)
    stages: StageTimes = field(default_factory=StageTimes)


class BrokerMetrics(Struct):
    """Everything counted in one broker since its start."""

    apis: dict[str, ApiMetrics] = field(default_factory=dict)
    connections: int = 0
    connections_total: int = 0
    protocol_violations: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    produced_bytes: int = 0
    fetched_bytes: int = 0
    replicated_bytes: int = 0
    messages_in: int = 0
    produce_by_acks: dict[int, int] = field(default_factory=dict)
    loop_stalls: int = 0
    loop_stall_longest_ms: float = 0.0
    idle_percent: float | None = None
    old_requests: OldRequests = field(default_factory=OldRequests)

    def count_fetched(self, count_bytes: int, *, by_follower: bool) -> None:
        """Records sent to consumers and to followers are counted apart: what is read is not what is copied."""
        if by_follower:
            self.replicated_bytes += count_bytes
        else:
            self.fetched_bytes += count_bytes

    def api(self, name: str) -> ApiMetrics:
        """The metrics of one API; names come from the table of keys, so there are few."""
        found = self.apis.get(name)
        if found is None:
            found = self.apis[name] = ApiMetrics()
        return found
