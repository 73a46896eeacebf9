"""Rows of latency: the same records a second for both kinds, a share of what the slower of them takes from the same clients."""

from __future__ import annotations

from statistics import median

from tests.kafka_bench import children
from tests.kafka_bench.cluster import Failed
from tests.kafka_bench.kinds import KINDS
from tests.kafka_bench.loads import ArrivalTask, Latency, Load, PacedTask
from tests.kafka_bench.results import Document
from tests.kafka_bench.row import Better, Measure, Row, Turn

LOAD = Load(1024, acks="all", replicas=3, partitions=1)
CHAPTER = f"Latency: {LOAD.words}"
FULL_ROW = "latency-full"
FULL = Measure("records_per_s", "taken, with a reader beside", "records/s", Better.MORE)
MORE_THAN_ANY = 200_000.0
"""Records a second that no cluster on one machine takes from one such client."""
SHARES = (30, 70)
MEASURES = tuple(
    Measure(f"{what}_{name}_ms", f"{words} {label}", "ms", Better.LESS, goal=0.7 if name == "p99" else None)
    for what, words in (("ack", "sent → acknowledged"), ("end", "sent → read"))
    for name, label in (("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
)


def full(turn: Turn) -> None:
    sent, _ = _sent_and_read(turn, MORE_THAN_ANY, 0.0)
    turn.figures[FULL.name] = sent.sent / sent.seconds


def full_load(document: Document) -> float:
    """Records a second, 100 % of the load: those that the slower kind takes, by the medians of its row."""
    found = [document.of(FULL_ROW, kind.name, FULL.name).values() for kind in KINDS]
    if not all(found):
        raise Failed(f"{FULL_ROW} was not measured")
    return min(median(values) for values in found)


def at_share(percent: int) -> Row:
    def run(turn: Turn) -> None:
        rate = full_load(turn.document) * percent / 100
        sent, read = _sent_and_read(turn, rate, turn.pace.settle_seconds)
        turn.figures.update(_named("ack", sent) | _named("end", read))
        turn.figures.update(asked_per_s=rate, sent_per_s=sent.sent / sent.seconds, brokers_cpu_percent=sent.broker_cpu / sent.seconds * 100)

    return Row(f"latency-{percent}", f"at {percent} % load", CHAPTER, MEASURES, run, needs=FULL_ROW)


def _sent_and_read(turn: Turn, per_second: float, settle_seconds: float) -> tuple[Latency, Latency]:
    cluster = turn.cluster
    with cluster.topic(f"l{turn.number}-{per_second:.0f}", LOAD.partitions, LOAD.replicas) as topic:
        sending = PacedTask(cluster.bootstrap, topic, per_second, turn.pace.paced_seconds, settle_seconds, cluster.pids())
        with children.arrivals(ArrivalTask(cluster.bootstrap, topic, LOAD.partitions, settle_seconds)) as read:
            sent = children.native(sending, Latency)
    return sent, read[0]


def _named(what: str, found: Latency) -> dict[str, float]:
    return {f"{what}_p50_ms": found.p50, f"{what}_p99_ms": found.p99, f"{what}_p999_ms": found.p999}


ROWS = (Row(FULL_ROW, "at full load", CHAPTER, (FULL,), full), *map(at_share, SHARES))
