"""Where the replicas of a new topic go: as `placing.py` places one that has none yet, each partition after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.planning.load import Load
from console.planning.model import Goal, Host, Standing
from console.planning.placing import place

PLACED_MOST = 200
"""Partitions that are placed here; those of a larger topic the controller places."""


def placed(hosts: Iterable[Host], topic: str, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
    """The replicas of each partition, the preferred leader first; `Unreachable` where there are not enough brokers."""
    load, found = Load(hosts), []
    goal = Goal(replication_factor=replication_factor)
    for number in range(partitions):
        now = Standing(topic=topic, partition=number, replicas=(), isr=(), leader=None, size_bytes=None)
        replicas = place(now, goal, load)
        load.shift((), replicas)
        found.append(replicas)
    return found


def written(rows: Iterable[Sequence[int]]) -> str:
    """As a form keeps it: `1,2,3 2,3,1`."""
    return " ".join(",".join(str(broker) for broker in row) for row in rows)


def read(text: str, partitions: int, replication_factor: int, online: Iterable[int]) -> list[list[int]]:
    """The same again; empty where it is not of so many partitions with so many different replicas each on brokers that are online."""
    words = text.split(" ")
    if not 1 <= len(words) <= PLACED_MOST or len(words) != partitions:
        return []
    rows = [[int(one) if one.isascii() and one.isdigit() and len(one) < 10 else -1 for one in word.split(",")] for word in words]
    known = set(online)
    fits = all(len(row) == len(set(row)) == replication_factor and known.issuperset(row) for row in rows)
    return rows if fits else []
