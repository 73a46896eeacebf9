"""What is asked of the brokers, as values that a child process is told on its command line."""

from __future__ import annotations

from msgspec import Struct

SMALL_BATCH, LARGE_BATCH = 16_384, 1_000_000
LINGER_MS = {SMALL_BATCH: 0, LARGE_BATCH: 10}
BATCH_WORDS = {SMALL_BATCH: "16 KB", LARGE_BATCH: "1 MB"}
"""16 KB without waiting is what Java's producer does unless told otherwise; librdkafka is told to do the same."""


class Load(Struct, frozen=True):
    """Records of `record_bytes` as fast as they are taken; `acks` is `1` or `all`."""

    record_bytes: int
    batch_bytes: int = SMALL_BATCH
    acks: str = "1"
    replicas: int = 1
    partitions: int = 1

    @property
    def linger_ms(self) -> int:
        return LINGER_MS[self.batch_bytes]

    @property
    def name(self) -> str:
        size = {100: "100b", 1024: "1k", 10_240: "10k"}[self.record_bytes]
        batch = "" if self.batch_bytes == SMALL_BATCH else "-large"
        return f"{size}{batch}-acks{self.acks}-rf{self.replicas}-p{self.partitions}"

    @property
    def words(self) -> str:
        size = {100: "100 B", 1024: "1 KB", 10_240: "10 KB"}[self.record_bytes]
        many = "1 partition" if self.partitions == 1 else f"{self.partitions:,} partitions".replace(",", " ")
        copies = "1 replica" if self.replicas == 1 else f"{self.replicas} replicas"
        return f"{size}, batches of {BATCH_WORDS[self.batch_bytes]}, acks={self.acks}, {copies}, {many}"


class ProduceTask(Struct, frozen=True, tag=True):
    """Sends for `seconds`, then waits for the last acknowledgement."""

    bootstrap: str
    topic: str
    load: Load
    seconds: float
    broker_pids: list[int]


class ConsumeTask(Struct, frozen=True, tag=True):
    """Reads `records` records from the beginning of all partitions."""

    bootstrap: str
    topic: str
    partitions: int
    records: int
    broker_pids: list[int]


class PacedTask(Struct, frozen=True, tag=True):
    """Sends `per_second` records of 1 KB for `seconds`, each at its time whether or not those before were acknowledged, but for the few
    thousands that wait at most; the first `settle_seconds` are not counted."""

    bootstrap: str
    topic: str
    per_second: float
    seconds: float
    settle_seconds: float
    broker_pids: list[int]


class ArrivalTask(Struct, frozen=True, tag=True):
    """Reads what a `PacedTask` sends and tells how old each record was, but for those of the first `settle_seconds`; prints `ready` once
    it stands at the ends of all partitions, ends with its input."""

    bootstrap: str
    topic: str
    partitions: int
    settle_seconds: float


class TransactTask(Struct, frozen=True, tag=True):
    """Transactions of `records` records of 1 KB each, over all partitions, one after the other for `seconds`; those of the first
    `settle_seconds` are not counted."""

    bootstrap: str
    topic: str
    partitions: int
    records: int
    seconds: float
    settle_seconds: float
    broker_pids: list[int]


Task = ProduceTask | ConsumeTask | PacedTask | ArrivalTask | TransactTask


class Throughput(Struct, frozen=True):
    """What a load found: `requests` are the client's Produce or Fetch requests, CPU is in seconds."""

    records: int
    seconds: float
    requests: float
    client_cpu: float
    broker_cpu: float


class Latency(Struct, frozen=True):
    """Milliseconds of `records` counted records; a sender also tells how many it `sent` in all, in how many `seconds`."""

    records: int
    p50: float
    p99: float
    p999: float
    broker_cpu: float = 0.0
    sent: int = 0
    seconds: float = 0.0
