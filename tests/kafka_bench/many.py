"""Rows of many partitions: created, idle, through the controller's end and through a rolling restart."""

from __future__ import annotations

import time

from tests.kafka_bench.cluster import Cluster, until
from tests.kafka_bench.row import Better, Measure, Row, Stage, Turn
from tests.kafka_bench.start import idle_percent

OF_A_TOPIC = 100
REPLICAS = 3
SETTLE_SECONDS = 5.0
EACH_SECONDS = 240.0
MEASURES = (
    Measure("create_s", "created, all replicas in sync", "s", Better.LESS, goal=0.5),
    Measure("idle_percent", "CPU of three idle brokers", "% of a core", Better.LESS),
    Measure("rss_mb", "memory of the three (RSS)", "MB", Better.LESS, goal=0.12),
    Measure("controller_s", "the controller is killed → another", "s", Better.LESS, goal=0.3),
    Measure("led_s", "the controller is killed → all partitions led by others", "s", Better.LESS, goal=0.3),
    Measure("rolling_s", "rolling restart, in sync after each", "s", Better.LESS),
)


def many(which: int) -> Row:
    """`which` of the pace's two counts."""

    def run(turn: Turn) -> None:
        count = turn.pace.partitions[which]
        cluster, figures = turn.cluster, turn.figures
        cluster.start()
        figures["partitions"] = count
        figures["create_s"] = create(cluster, count)
        time.sleep(SETTLE_SECONDS)
        figures["idle_percent"] = idle_percent(turn)
        figures["rss_mb"] = cluster.rss_mb()
        figures["controller_s"], figures["led_s"] = controller_failover(cluster, count)
        figures["rolling_s"] = rolling_restart(cluster, count)

    words = ("1 000 partitions of 3 replicas", "10 000 partitions of 3 replicas")[which]
    name = ("partitions-1000", "partitions-10000")[which]
    return Row(name, words, "Many partitions", MEASURES, run, stage=Stage.ALONE, most_rounds=1, most_seconds=600.0)


def create(cluster: Cluster, count: int) -> float:
    """Seconds; in one request, `OF_A_TOPIC` partitions a topic."""
    began = time.monotonic()
    cluster.create([f"many-{number}" for number in range(max(1, count // OF_A_TOPIC))], min(count, OF_A_TOPIC), REPLICAS)
    return time.monotonic() - began


def controller_failover(cluster: Cluster, count: int) -> tuple[float, float]:
    """Seconds from kill -9 until a survivor names another controller, and until none of the partitions is led by the dead; heals it."""
    dead = cluster.controller()
    killed = time.monotonic()
    cluster.kill(dead)
    until(lambda: cluster.controller() not in (dead, -1), EACH_SECONDS, "another controller")
    known = time.monotonic() - killed
    until(lambda: led_by_others(cluster, count, dead), EACH_SECONDS, "leaders of all partitions")
    led = time.monotonic() - killed
    cluster.brokers[dead].launch()
    until_healed(cluster, count)
    return known, led


def led_by_others(cluster: Cluster, count: int, dead: int) -> bool:
    leaders = [p.leader for p in cluster.partitions()]
    return len(leaders) >= count and all(leader > 0 and leader != dead for leader in leaders)


def rolling_restart(cluster: Cluster, count: int) -> float:
    """Seconds: each is stopped as an operator does it, started, and the next is taken once all replicas are in sync again."""
    began = time.monotonic()
    for broker in cluster.brokers.values():
        broker.stop()
        broker.launch()
        until_healed(cluster, count)
    return time.monotonic() - began


def until_healed(cluster: Cluster, count: int) -> None:
    until(cluster.agreed, EACH_SECONDS, "three brokers that know each other")
    until(lambda: cluster.in_sync(count, REPLICAS), EACH_SECONDS, "replicas in sync")


ROWS = tuple(map(many, (0, 1)))
