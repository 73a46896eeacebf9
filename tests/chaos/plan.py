"""Which faults befall the cluster, in which order, on whom: pure, so that a seed names a run.

Grave faults come one after the other, each healed before the next (three replicas and `min.insync.replicas=2` stand one of them);
hostile clients come beside them at any time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

BROKERS = (1, 2, 3)
PROGRAMS = ("console", "live", "worker", "beat", "redis", "zookeeper")
GRAVE = ("kill broker", "stop broker", "pause broker", "pause zookeeper", "kill program", "full disk", "failing disk", "many partitions")
HOSTILE = ("zstd bomb", "recompressed bomb", "nested wrappers", "poison", "rubbish", "pipeline", "old fetch")
PAUSE_SECONDS = (8.0, 15.0)
"""The brokers' session is 6 s."""


class Episode(NamedTuple):
    """One grave fault, the broker or program it befalls (the disk that fails is always the same broker's), how long it lasts, and who
    comes meanwhile."""

    fault: str
    victim: str
    seconds: float
    hostile: tuple[str, ...]


def episodes(seed: int) -> Iterator[Episode]:
    """Without end: each round has every grave fault once, in an order of its own."""
    rng = random.Random(seed)
    while True:
        for fault in rng.sample(GRAVE, len(GRAVE)):
            seconds = round(rng.uniform(*PAUSE_SECONDS), 1)
            yield Episode(fault, _victim(rng, fault), seconds, tuple(rng.sample(HOSTILE, rng.randint(1, 3))))


def _victim(rng: random.Random, fault: str) -> str:
    if fault.endswith("broker"):
        return f"broker-{rng.choice(BROKERS)}"
    return rng.choice(PROGRAMS) if fault == "kill program" else ""
