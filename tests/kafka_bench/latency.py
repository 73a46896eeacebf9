"""Rows of latency: the same records a second for both kinds, a share of what the slower of them takes."""

from __future__ import annotations

from statistics import median

from tests.kafka_bench import children
from tests.kafka_bench.cluster import Failed
from tests.kafka_bench.kinds import KINDS
from tests.kafka_bench.loads import ArrivalTask, Latency, Load, PacedTask
from tests.kafka_bench.results import Document
from tests.kafka_bench.row import Better, Measure, Row, Turn

FULL = Load(1024, acks="all", replicas=3, partitions=1)
FULL_ROW = f"native-{FULL.name}"
SHARES = (30, 70)
MEASURES = tuple(
    Measure(f"{what}_{name}_ms", f"{words} {label}", "ms", Better.LESS, goal=0.7 if name == "p99" else None)
    for what, words in (("ack", "sent → acknowledged"), ("end", "sent → read"))
    for name, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
)


def full_load(document: Document) -> float:
    """Records a second, 100 % of the load: those that the slower kind takes, by the medians of the row of the same load."""
    found = [document.of(FULL_ROW, kind.name, "records_per_s").values() for kind in KINDS]
    if not all(found):
        raise Failed(f"{FULL_ROW} was not measured")
    return min(median(values) for values in found)


def at_share(percent: int) -> Row:
    def run(turn: Turn) -> None:
        cluster, rate = turn.cluster, full_load(turn.document) * percent / 100
        with cluster.topic(f"l{turn.number}-{percent}", FULL.partitions, FULL.replicas) as topic:
            pace = turn.pace
            sending = PacedTask(cluster.bootstrap, topic, rate, pace.paced_seconds, pace.settle_seconds, cluster.pids())
            with children.arrivals(ArrivalTask(cluster.bootstrap, topic, FULL.partitions, pace.settle_seconds)) as read:
                sent = children.native(sending, Latency)
        turn.figures.update(_named("ack", sent) | _named("end", read[0]))
        turn.figures.update(records_per_s=rate, brokers_cpu_percent=sent.broker_cpu / sent.seconds * 100)

    return Row(f"latency-{percent}", f"at {percent} % load", f"Latency: {FULL.words}", MEASURES, run, needs=FULL_ROW)


def _named(what: str, found: Latency) -> dict[str, float]:
    return {f"{what}_p50_ms": found.p50, f"{what}_p99_ms": found.p99, f"{what}_p999_ms": found.p999}


ROWS = tuple(map(at_share, SHARES))
