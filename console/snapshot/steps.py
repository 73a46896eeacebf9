"""How the workers' steps of jobs went: counted in Redis, since workers are many processes that end and start, and told by the console.

One hash for all: `outcome KIND NAME` and `bucket KIND NUMBER` are counts, `seconds KIND` is a sum. There are as many fields as kinds
of jobs have outcomes and buckets.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import redis

from console.rules.metrics.text import BOUNDS_S, Histogram, bucket_of
from console.snapshot.connect import sync_client

log = logging.getLogger(__name__)
KEY = "hw:steps"
OUTCOMES = ("unfinished", "waiting", "succeeded", "failed", "cancelled")


class Steps(NamedTuple):
    """Of one kind of job."""

    outcomes: dict[str, int]
    times: Histogram


def note_step(kind: str, outcome: str, seconds: float) -> None:
    """A Redis that is away loses the count and nothing else."""
    try:
        pipe = sync_client().pipeline(transaction=True)
        pipe.hincrby(KEY, f"outcome {kind} {outcome}", 1)
        pipe.hincrby(KEY, f"bucket {kind} {bucket_of(seconds)}", 1)
        pipe.hincrbyfloat(KEY, f"seconds {kind}", seconds)
        pipe.execute()
    except redis.RedisError as error:
        log.warning("a step of a job was not counted: %s", error)


def read_steps(kinds: Iterable[str]) -> dict[str, Steps]:
    """Of each of these kinds, zeros where no step was taken yet: a first failure is seen only by who has seen none before.
    Raises `redis.RedisError`."""
    found: Any = sync_client().hgetall(KEY)
    return {kind: _steps_of(kind, found) for kind in kinds}


def _steps_of(kind: str, found: Mapping[str, str]) -> Steps:
    outcomes = {name: int(found.get(f"outcome {kind} {name}", 0)) for name in OUTCOMES}
    counts = [int(found.get(f"bucket {kind} {number}", 0)) for number in range(len(BOUNDS_S) + 1)]
    return Steps(outcomes, Histogram(counts, float(found.get(f"seconds {kind}", 0))))
