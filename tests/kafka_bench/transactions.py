"""The row of transactions: one producer that writes and commits, one transaction after the other."""

from __future__ import annotations

from tests.kafka_bench import children
from tests.kafka_bench.loads import Latency, TransactTask
from tests.kafka_bench.row import Better, Measure, Row, Turn

RECORDS, PARTITIONS, REPLICAS = 100, 3, 3

MEASURES = (
    Measure("transactions_per_s", "rate", "transactions/s", Better.MORE, goal=1.0),
    Measure("p50_ms", "begin → committed p50", "ms", Better.LESS),
    Measure("p99_ms", "begin → committed p99", "ms", Better.LESS, goal=1.0),
    Measure("brokers_cpu_ms", "brokers' CPU a transaction", "ms", Better.LESS),
)


def transact(turn: Turn) -> None:
    cluster = turn.cluster
    with cluster.topic(f"t{turn.number}", PARTITIONS, REPLICAS) as topic:
        pace = turn.pace
        task = TransactTask(cluster.bootstrap, topic, PARTITIONS, RECORDS, pace.paced_seconds, pace.settle_seconds, cluster.pids())
        found = children.native(task, Latency)
    turn.figures["transactions_per_s"] = found.sent / found.seconds
    turn.figures.update(p50_ms=found.p50, p99_ms=found.p99, brokers_cpu_ms=found.broker_cpu / found.sent * 1000)


ROWS = (
    Row(
        "transactions",
        f"transactions of {RECORDS} records of 1 KB over {PARTITIONS} partitions of {REPLICAS} replicas",
        "Transactions",
        MEASURES,
        transact,
    ),
)
