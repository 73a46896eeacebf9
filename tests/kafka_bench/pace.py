"""How long each part of the bench lasts: in earnest, and to see that it works."""

from __future__ import annotations

from msgspec import Struct


class Pace(Struct, frozen=True):
    rounds: int
    fewest_rounds: int
    seconds: float
    """That rows of several rounds may take together: a machine that takes longer goes through fewer rounds of each."""
    produce_seconds: float
    java_seconds: float
    most_records: int
    paced_seconds: float
    settle_seconds: float
    idle_seconds: float
    warm_seconds: float
    """Of one warming; there are several."""
    partitions: tuple[int, int]
    """Of the two rows that grow."""


EARNEST = Pace(
    rounds=5,
    fewest_rounds=3,
    seconds=900.0,
    produce_seconds=2.0,
    java_seconds=2.0,
    most_records=2_000_000,
    paced_seconds=4.0,
    settle_seconds=1.0,
    idle_seconds=4.0,
    warm_seconds=6.0,
    partitions=(1000, 10_000),
)
QUICK = Pace(
    rounds=1,
    fewest_rounds=1,
    seconds=900.0,
    produce_seconds=0.5,
    java_seconds=0.5,
    most_records=100_000,
    paced_seconds=1.5,
    settle_seconds=0.5,
    idle_seconds=1.0,
    warm_seconds=1.0,
    partitions=(50, 200),
)
