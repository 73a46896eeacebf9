"""Rows of throughput: how much is taken and given, and what each GB and each million of requests costs the brokers in processor time."""

from __future__ import annotations

from collections.abc import Mapping

from tests.kafka_bench import children, java_tools
from tests.kafka_bench.loads import LARGE_BATCH, ConsumeTask, Load, ProduceTask, Throughput
from tests.kafka_bench.row import Better, Measure, Row, Turn

RATE = "mb_per_s"
MEASURES = (
    Measure(RATE, "throughput", "MB/s", Better.MORE, goal=1.5),
    Measure("cpu_s_per_gb", "brokers' CPU a GB", "s", Better.LESS, goal=0.6),
    Measure("cpu_s_per_million_requests", "brokers' CPU a million requests", "s", Better.LESS),
)
NATIVE = "Throughput with librdkafka"
JAVA = "Throughput with Kafka's own tools"
NATIVE_LOADS = (
    Load(100),
    Load(1024),
    Load(10_240),
    Load(1024, LARGE_BATCH),
    Load(100, acks="all", replicas=3, partitions=100),
    Load(1024, acks="all", replicas=3, partitions=1),
    Load(1024, acks="all", replicas=3, partitions=100),
    Load(1024, acks="all", replicas=3, partitions=1000),
    Load(1024, LARGE_BATCH, acks="all", replicas=3, partitions=100),
    Load(10_240, LARGE_BATCH, acks="all", replicas=3, partitions=1),
)
JAVA_LOADS = (
    Load(1024),
    Load(100, acks="all", replicas=3, partitions=100),
    Load(1024, acks="all", replicas=3, partitions=100),
    Load(1024, LARGE_BATCH, acks="all", replicas=3, partitions=100),
)
CONSUMED = (Load(100), Load(1024), Load(1024, LARGE_BATCH, partitions=100))
JAVA_BYTES_PER_SECOND = 30_000_000
JAVA_BYTES_PER_SECOND_SMALL = 10_000_000
"""About what either kind takes: Kafka's tools know a number of records, not a time."""


def figures_of(record_bytes: int, found: Mapping[str, float]) -> dict[str, float]:
    """`found`: `records`, `seconds`, `requests`, `broker_cpu` and whatever else."""
    size = found["records"] * record_bytes
    return {
        **found,
        RATE: size / found["seconds"] / 1e6,
        "records_per_s": found["records"] / found["seconds"],
        "cpu_s_per_gb": found["broker_cpu"] / size * 1e9,
        "cpu_s_per_million_requests": found["broker_cpu"] / max(found["requests"], 1) * 1e6,
    }


def measured(load: Load, found: Throughput) -> dict[str, float]:
    plain = {"records": float(found.records), "seconds": found.seconds, "requests": found.requests, "broker_cpu": found.broker_cpu}
    return figures_of(load.record_bytes, {**plain, "client_cpu_share": found.client_cpu / found.seconds})


def native_produce(load: Load) -> Row:
    def run(turn: Turn) -> None:
        cluster = turn.cluster
        with cluster.topic(f"t{turn.number}-{load.name}", load.partitions, load.replicas) as topic:
            task = ProduceTask(cluster.bootstrap, topic, load, turn.pace.produce_seconds, cluster.pids())
            turn.figures.update(measured(load, children.native(task, Throughput)))

    return Row(f"native-{load.name}", f"produce {load.words}", NATIVE, MEASURES, run)


def native_consume(load: Load) -> Row:
    def run(turn: Turn) -> None:
        cluster = turn.cluster
        with cluster.topic(f"c{turn.number}-{load.name}", load.partitions, load.replicas) as topic:
            filling = ProduceTask(cluster.bootstrap, topic, load, turn.pace.produce_seconds, cluster.pids())
            filled = children.native(filling, Throughput).records
            task = ConsumeTask(cluster.bootstrap, topic, load.partitions, filled, cluster.pids())
            turn.figures.update(measured(load, children.native(task, Throughput)))

    return Row(f"native-consume-{load.name}", f"consume {load.words}", NATIVE, MEASURES, run)


def java_records(load: Load, seconds: float, most: int) -> int:
    """So many that they take about that long."""
    rate = JAVA_BYTES_PER_SECOND_SMALL if load.record_bytes < 1000 else JAVA_BYTES_PER_SECOND
    return min(most, int(rate * seconds / load.record_bytes))


def java(load: Load) -> Row:
    def run(turn: Turn) -> None:
        cluster, records = turn.cluster, java_records(load, turn.pace.java_seconds, turn.pace.most_records)
        with cluster.topic(f"j{turn.number}-{load.name}", load.partitions, load.replicas) as topic:
            before = cluster.cpu_seconds()
            said = children.run(java_tools.produce_command(cluster.bootstrap, topic, load, records))
            used = cluster.cpu_seconds() - before
            turn.figures.update(figures_of(load.record_bytes, {**java_tools.produced(said), "broker_cpu": used}))

    return Row(f"java-{load.name}", f"produce {load.words}", JAVA, MEASURES, run)


def java_consume(load: Load) -> Row:
    def run(turn: Turn) -> None:
        cluster = turn.cluster
        with cluster.topic(f"k{turn.number}-{load.name}", load.partitions, load.replicas) as topic:
            filling = ProduceTask(cluster.bootstrap, topic, load, turn.pace.produce_seconds, cluster.pids())
            records = children.native(filling, Throughput).records
            before = cluster.cpu_seconds()
            said = children.run(java_tools.consume_command(cluster.bootstrap, topic, records, f"group-{topic}"))
            used = cluster.cpu_seconds() - before
            turn.figures.update(figures_of(load.record_bytes, {**java_tools.consumed(said), "broker_cpu": used}))

    return Row(f"java-consume-{load.name}", f"consume {load.words}", JAVA, MEASURES, run)


ROWS = (
    *map(native_produce, NATIVE_LOADS),
    *map(native_consume, CONSUMED),
    *map(java, JAVA_LOADS),
    java_consume(Load(1024)),
)
