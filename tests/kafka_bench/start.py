"""Rows of a cluster at rest: its start, what it remembers, what it costs while nobody asks anything."""

from __future__ import annotations

import time

from tests.kafka_bench.cluster import until
from tests.kafka_bench.row import Better, Measure, Row, Stage, Turn

REST = "At rest"
SETTLE_SECONDS = 2.0


def start(turn: Turn) -> None:
    """From three launches in empty folders to three brokers that each know all three and the controller."""
    began = time.monotonic()
    turn.cluster.start()
    turn.figures["start_s"] = time.monotonic() - began
    turn.figures["start_cpu_s"] = turn.cluster.cpu_seconds()
    time.sleep(SETTLE_SECONDS)
    turn.figures["rss_mb"] = turn.cluster.rss_mb()


def idle(turn: Turn) -> None:
    turn.figures["idle_percent"] = idle_percent(turn)


def idle_percent(turn: Turn) -> float:
    """Processor time of the three brokers together, percent of a core, over the idle seconds."""
    before, began = turn.cluster.cpu_seconds(), time.monotonic()
    time.sleep(turn.pace.idle_seconds)
    return (turn.cluster.cpu_seconds() - before) / (time.monotonic() - began) * 100


def loaded(turn: Turn) -> None:
    """Once all rows of throughput and latency are behind it, with nothing left of their topics."""
    until(turn.cluster.whole, 1, "three brokers that live")
    turn.figures["rss_mb"] = turn.cluster.rss_mb()


ROWS_BEFORE = (
    Row(
        "start",
        "start of three brokers",
        REST,
        (
            Measure("start_s", "launch → all know each other", "s", Better.LESS, goal=0.1),
            Measure("start_cpu_s", "CPU until then", "s", Better.LESS),
            Measure("rss_mb", "memory of the three afterwards (RSS)", "MB", Better.LESS, goal=0.12),
        ),
        start,
        stage=Stage.ALONE,
    ),
    Row("idle", "three idle brokers", REST, (Measure("idle_percent", "CPU of the three", "% of a core", Better.LESS),), idle),
)
ROWS_AFTER = (
    Row(
        "memory",
        "three brokers after the load",
        REST,
        (Measure("rss_mb", "memory of the three (RSS)", "MB", Better.LESS, goal=0.12),),
        loaded,
        most_rounds=1,
    ),
)
